// How many equal containers a node takes, by its holes alone and by placing them one by one.
#include "topology/holes.h"

#include <limits>

#include "tests/unit/topology/scene.h"

namespace pinion::topology {
namespace {

using test_support::kGiB;
using test_support::laptop;
using test_support::machine;

struct HolesCase {
  const char* name;
  Topology machine;
  const char* reserved;
  Request request;
  int containers;
};

class HolesTable : public testing::TestWithParam<HolesCase> {};

TEST_P(HolesTable, TakeAsManyAsAllocateGrants) {
  const auto& [name, machine, reserved, request, containers] = GetParam();
  Ledger ledger = ledger_of(reserved, {});
  Holes holes = holes_of(machine, ledger);
  EXPECT_EQ(reserve_in(holes, request, std::numeric_limits<int>::max()), containers);
  Request one = request;
  int granted = 0;
  for (;; ++granted) {
    one.id = "c" + std::to_string(granted);
    const Outcome outcome = allocate(machine, ledger, one);
    const auto* decision = std::get_if<Decision>(&outcome);
    if (decision == nullptr) break;
    ledger.commit(decision->claim);
  }
  EXPECT_EQ(granted, containers);
}

// The laptop has eight CPUs. With none reserved, one is left to everybody else.
INSTANTIATE_TEST_SUITE_P(
    Cpus, HolesTable,
    testing::Values(HolesCase{"nothing_reserved_pairs", laptop(), "", ask(2), 3},
                    HolesCase{"nothing_reserved_halves", laptop(), "", ask(4), 1},
                    HolesCase{"nothing_reserved_the_whole", laptop(), "", ask(8), 0},
                    HolesCase{"a_core_reserved_pairs", laptop(), "0-1", ask(2), 3},
                    HolesCase{"a_core_reserved_the_rest", laptop(), "0-1", ask(6), 1}),
    [](const auto& one) { return std::string(one.param.name); });

// Both L3s draw on the 16 GiB of their node.
INSTANTIATE_TEST_SUITE_P(Memory, HolesTable,
                         testing::Values(HolesCase{
                             "shared_by_two_l3", machine({.l3s_per_node = 2, .cores_per_l3 = 4}),
                             "0", with_memory(ask(2, Align::kL3), 6 * kGiB), 2}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pinion::topology
