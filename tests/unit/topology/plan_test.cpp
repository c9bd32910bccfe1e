// Several requests after one another, and the largest that fits.
#include "tests/unit/topology/scene.h"

namespace pinion::topology {
namespace {

using test_support::epyc_rome_256;
using test_support::laptop;
using test_support::single_cpu;
using test_support::xeon_snc2;

Request named(const std::string& id, Request request) {
  request.id = id;
  return request;
}

TEST(Plan, EachDecidesOnWhatIsLeft) {
  const Plan result = plan(laptop(), ledger_of("0", {}),
                           {named("a", ask(4)), named("b", ask(4)), named("c", ask(2))});
  ASSERT_EQ(result.outcomes.size(), 3U);
  EXPECT_EQ(std::get<Decision>(result.outcomes[0]).cpus.to_string(), "2-5");
  EXPECT_EQ(std::get<Refusal>(result.outcomes[1]).reason, Reason::kCpus);
  EXPECT_EQ(std::get<Decision>(result.outcomes[2]).cpus.to_string(), "6-7");
  EXPECT_EQ(result.ledger.exclusive().to_string(), "2-7");
}

TEST(Plan, TheSameIdTwiceIsAResize) {
  const Plan result = plan(laptop(), Ledger(), {named("a", ask(2)), named("a", ask(4))});
  EXPECT_EQ(result.ledger.claims().size(), 1U);
  EXPECT_EQ(result.ledger.exclusive().to_string(), "0-3");
}

TEST(Plan, ARankPerL3FillsTheMachine) {
  std::vector<Request> ranks;
  for (int i = 0; i < 32; ++i) ranks.push_back(named("r" + std::to_string(i), ask(8, Align::kL3)));
  const Plan result = plan(epyc_rome_256(), ledger_of("", {}), ranks);
  int placed = 0;
  for (const Outcome& outcome : result.outcomes) {
    placed += std::holds_alternative<Decision>(outcome) ? 1 : 0;
  }
  EXPECT_EQ(placed, 31);  // the last one would leave no shared CPU
  EXPECT_EQ(std::get<Refusal>(result.outcomes.back()).reason, Reason::kLastShared);
}

struct Most {
  const char* name;
  Topology machine;
  const char* reserved;
  std::vector<Placed> placed;
  Align align;
  Smt smt;
  int want;
};

TEST(Largest, AtEachAlignment) {
  const std::vector<Placed> some = {{"a", "0-5,48-53"}, {"b", "12-23,60-71"}, {"c", "24"}};
  const std::vector<Most> cases = {
      {"l3", xeon_snc2(), "47", some, Align::kL3, Smt::kPack, 23},
      {"numa", xeon_snc2(), "47", some, Align::kNuma, Smt::kPack, 23},
      {"numa in whole cores", xeon_snc2(), "47", some, Align::kNuma, Smt::kFullCore, 22},
      {"numa one per core", xeon_snc2(), "47", some, Align::kNuma, Smt::kOnePerCore, 11},
      {"socket", xeon_snc2(), "47", some, Align::kSocket, Smt::kPack, 46},
      {"machine", xeon_snc2(), "47", some, Align::kNone, Smt::kPack, 58},
      {"one CPU must be left", laptop(), "", {}, Align::kNuma, Smt::kPack, 7},
      {"so a whole core is", laptop(), "", {}, Align::kNuma, Smt::kFullCore, 6},
      {"unless a CPU is reserved", laptop(), "0", {}, Align::kNuma, Smt::kFullCore, 6},
      {"or is left over anyway", laptop(), "", {{"a", "0"}}, Align::kNuma, Smt::kFullCore, 6},
      {"nothing", single_cpu(), "", {}, Align::kNone, Smt::kPack, 0},
  };
  for (const Most& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(largest(c.machine, ledger_of(c.reserved, c.placed), c.align, c.smt), c.want);
  }
}

}  // namespace
}  // namespace pinion::topology
