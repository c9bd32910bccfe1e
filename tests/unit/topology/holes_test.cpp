// How many equal containers a node takes, by its holes alone and by placing them one by one.
#include "topology/holes.h"

#include <limits>

#include "tests/unit/topology/scene.h"

namespace pinion::topology {
namespace {

using test_support::laptop;

struct Case {
  const char* name;
  const char* reserved;
  int cpus;  // of each
  int containers;
};

class HolesTable : public testing::TestWithParam<Case> {};

TEST_P(HolesTable, TakeAsManyAsAllocateGrants) {
  const Topology machine = laptop();
  Ledger ledger = ledger_of(GetParam().reserved, {});
  Request request = ask(GetParam().cpus);
  Holes holes = holes_of(machine, ledger);
  EXPECT_EQ(reserve_in(holes, request, std::numeric_limits<int>::max()), GetParam().containers);
  int granted = 0;
  for (;; ++granted) {
    request.id = "c" + std::to_string(granted);
    const Outcome outcome = allocate(machine, ledger, request);
    const auto* decision = std::get_if<Decision>(&outcome);
    if (decision == nullptr) break;
    ledger.commit(decision->claim);
  }
  EXPECT_EQ(granted, GetParam().containers);
}

// The laptop has eight CPUs. With none reserved, one is left to everybody else.
INSTANTIATE_TEST_SUITE_P(Laptop, HolesTable,
                         testing::Values(Case{"nothing_reserved_pairs", "", 2, 3},
                                         Case{"nothing_reserved_halves", "", 4, 1},
                                         Case{"nothing_reserved_the_whole", "", 8, 0},
                                         Case{"a_core_reserved_pairs", "0-1", 2, 3},
                                         Case{"a_core_reserved_the_rest", "0-1", 6, 1}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pinion::topology
