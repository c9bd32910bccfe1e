// The placement rules but the paper's (task_group_placement_test.cpp). Four nodes as in the paper:
// 2 sockets of 16 usable cores.
#include "cluster/core/placement.h"

#include <gtest/gtest.h>

#include <array>
#include <ctime>
#include <set>

#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

class PlacementTest : public testing::Test {
 protected:
  void SetUp() override { add_paper_nodes(fleet_); }

  void busy(const std::string& node, int cpus) {
    const auto outcome = fleet_.promise(
        fleet_.find(node), request_of("busy-" + node + std::to_string(++busy_), cpus), kNoExpiry);
    ASSERT_TRUE(outcome);
    ASSERT_TRUE(std::holds_alternative<topology::Decision>(*outcome));
  }

  // "node-0: job-0 job-4; ..."
  std::string placed(PlacementPolicy policy, const Gang& gang, std::uint64_t seed = 0) {
    outcome_ = place_gang(policy, fleet_, gang, {}, seed);
    const auto* plan = std::get_if<GangPlan>(&outcome_);
    if (plan == nullptr) return std::get<GangRefusal>(outcome_).text;
    EXPECT_TRUE(promise_gang(fleet_, gang, *plan, kNoExpiry));
    return nodes_text(fleet_, *plan);
  }

  Fleet fleet_;
  GangOutcome outcome_;
  int busy_ = 0;
};

struct Row {
  const char* name;
  PlacementPolicy policy;
  const char* nodes;
};

class OtherRules : public PlacementTest, public testing::WithParamInterface<Row> {};

// node-1 has most taken, node-2 nothing, the others a little.
TEST_P(OtherRules, ChooseNodeByNode) {
  busy("node-0", 4);
  busy("node-1", 12);
  busy("node-1", 12);
  busy("node-3", 4);
  EXPECT_EQ(placed(GetParam().policy, gang_of("j", {4, 4, 4}, 1)), GetParam().nodes);
}

INSTANTIATE_TEST_SUITE_P(
    All, OtherRules,
    testing::Values(Row{"FirstFit", PlacementPolicy::kFirstFit, "node-0: j-0 j-1 j-2"},
                    Row{"MostLoaded", PlacementPolicy::kMostLoaded, "node-0: j-2; node-1: j-0 j-1"},
                    Row{"Fill", PlacementPolicy::kFill, "node-0: j-2; node-1: j-0 j-1"},
                    Row{"LeastLoaded", PlacementPolicy::kLeastLoaded,
                        "node-0: j-1; node-2: j-0 j-2"}),
    [](const auto& row) { return std::string(row.param.name); });

constexpr std::array kAllPolicies = {
    PlacementPolicy::kHoles,    PlacementPolicy::kTaskGroup,   PlacementPolicy::kTaskGroupRandom,
    PlacementPolicy::kFirstFit, PlacementPolicy::kLeastLoaded, PlacementPolicy::kMostLoaded,
    PlacementPolicy::kFill,     PlacementPolicy::kRandom};

struct LimitRow {
  const char* name;
  std::vector<std::vector<int>> busy;  // of each node: containers of so many CPUs
  std::vector<int> there;              // of each node: members of the job that are there already
  std::vector<int> cpus;               // of the members
  int groups;
  int nodes;            // that the job may use
  const char* refusal;  // empty: there is a plan
};

class NodeLimit : public PlacementTest, public testing::WithParamInterface<LimitRow> {};

// Whatever the rule: on as many nodes as the job may use, those included where it is; and whoever
// can be placed so is.
TEST_P(NodeLimit, HoldsWithEachPolicy) {
  const LimitRow& row = GetParam();
  std::set<NodeIndex> there;
  for (std::size_t node = 0; node < 4; ++node) {
    const std::string name = "node-" + std::to_string(node);
    if (node < row.busy.size()) {
      for (const int cpus : row.busy[node]) busy(name, cpus);
    }
    if (node >= row.there.size() || row.there[node] == 0) continue;
    topology::Request early = request_of("early-" + name, row.there[node]);
    early.job = "j";
    ASSERT_TRUE(fleet_.promise(fleet_.find(name), early, kNoExpiry));
    there.insert(fleet_.find(name));
  }
  for (const PlacementPolicy policy : kAllPolicies) {
    SCOPED_TRACE(to_string(policy));
    const Gang gang = gang_of("j", row.cpus, row.groups);
    outcome_ = place_gang(policy, fleet_, gang, {.nodes = row.nodes}, 7);
    if (const auto* refusal = std::get_if<GangRefusal>(&outcome_)) {
      EXPECT_EQ(refusal->text, row.refusal);
      EXPECT_EQ(refusal->reason, GangReason::kNodeLimit);
      continue;
    }
    EXPECT_STREQ(row.refusal, "");
    std::set<NodeIndex> nodes = there;
    for (const Placement& placement : std::get<GangPlan>(outcome_).placements) {
      nodes.insert(placement.node);
    }
    EXPECT_LE(static_cast<int>(nodes.size()), row.nodes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, NodeLimit,
    testing::Values(
        LimitRow{"one_node", {}, {}, {16, 16}, 2, 1, ""},
        LimitRow{"more_groups_than_nodes", {}, {}, {8, 8, 8, 8, 8, 8, 8, 8}, 4, 2, ""},
        LimitRow{"the_tightest_nodes_are_too_small",
                 {{16, 8}, {16, 8}},
                 {},
                 {8, 8, 8, 8, 8, 8, 8, 8},
                 8,
                 2,
                 ""},
        LimitRow{"nodes_that_complete_each_other",
                 {{16}, {8, 8}, {8, 8}, {16}},
                 {},
                 {16, 8, 8},
                 1,
                 2,
                 ""},
        LimitRow{"a_node_where_it_is_counts", {}, {0, 0, 1}, {15, 16}, 1, 1, ""},
        LimitRow{"no_room_where_it_is",
                 {{}, {}, {16, 12}},
                 {0, 0, 4},
                 {4},
                 1,
                 1,
                 "needs 1 x 4 CPUs in one NUMA node, on at most 1 node (1 has some already); 3 "
                 "nodes have such a hole, room for 3, of which 0 on so few nodes"},
        LimitRow{"room_on_more_nodes_only",
                 {{16}, {16}, {16}, {16}},
                 {},
                 {8, 8, 8, 8, 8, 8},
                 2,
                 2,
                 "needs 6 x 8 CPUs in one NUMA node, on at most 2 nodes; 4 nodes have such a hole, "
                 "room for 8, of which 4 on so few nodes"}),
    [](const auto& row) { return std::string(row.param.name); });

// At most one member of a job on a node, whatever would be best for it else.
TEST_F(PlacementTest, MembersThatWantToBeApartAreOnDifferentNodes) {
  const auto apart = [](const std::string& job, std::vector<int> cpus) {
    Gang gang = gang_of(job, cpus, 1);
    for (GangMember& member : gang) member.terms.apart = true;
    return gang;
  };
  busy("node-1", 12);
  for (const PlacementPolicy policy :
       {PlacementPolicy::kHoles, PlacementPolicy::kTaskGroup, PlacementPolicy::kTaskGroupRandom,
        PlacementPolicy::kFirstFit, PlacementPolicy::kLeastLoaded, PlacementPolicy::kMostLoaded,
        PlacementPolicy::kRandom}) {
    const Gang gang = apart("j", {4, 4, 4});
    outcome_ = place_gang(policy, fleet_, gang);
    const auto* plan = std::get_if<GangPlan>(&outcome_);
    ASSERT_NE(plan, nullptr) << to_string(policy);
    std::set<NodeIndex> nodes;
    for (const Placement& placement : plan->placements) nodes.insert(placement.node);
    EXPECT_EQ(nodes.size(), 3U) << to_string(policy);
    EXPECT_EQ(placed(policy, apart("k", {1, 1, 1, 1, 1})),
              "needs 5 x 1 CPU in one NUMA node, each on another node; 4 nodes have such a hole, "
              "room for 4, largest elsewhere 0")
        << to_string(policy);
  }
  // Nor where one of them is already.
  EXPECT_EQ(placed(PlacementPolicy::kFirstFit, apart("j", {4})), "node-0: j-0");
  Gang later = apart("j", {4, 4});
  for (std::size_t i = 0; i < later.size(); ++i) later[i].id = "late-" + std::to_string(i);
  EXPECT_EQ(placed(PlacementPolicy::kFirstFit, later), "node-1: late-0; node-2: late-1");
}

// A node is as loaded as what all pods there request, with CPUs of their own or without.
TEST_F(PlacementTest, LoadIsWhatIsTakenOrRequested) {
  busy("node-0", 8);
  const auto request = [&](const std::string& node, std::int64_t cpus) {
    fleet_.set_terms(fleet_.find(node),
                     {.capacity = {.milli_cpus = 32'000, .memory = kPlenty.memory, .members = 100},
                      .others = {.milli_cpus = 1000 * cpus}},
                     {});
  };
  request("node-1", 12);
  request("node-2", 4);
  request("node-3", 6);
  EXPECT_EQ(placed(PlacementPolicy::kMostLoaded, gang_of("most", {1}, 1)), "node-1: most-0");
  EXPECT_EQ(placed(PlacementPolicy::kLeastLoaded, gang_of("least", {1}, 1)), "node-2: least-0");
}

// What the first members are given changes what a node scores for those that come after them.
TEST_F(PlacementTest, FillScoresANodeAnewWhenAMemberIsPlacedThere) {
  busy("node-1", 10);
  busy("node-2", 12);
  EXPECT_EQ(placed(PlacementPolicy::kFill, gang_of("j", {4, 6, 4, 2, 4}, 1)),
            "node-1: j-0 j-3; node-2: j-1 j-2 j-4");
}

// A node is looked at once for all members of a kind, and once more for each that is placed there:
// not twice for each pair of nodes and each member, as long as the extender answers nobody else.
TEST(FillPlacement, CostsAboutAsMuchAsTheOtherRules) {
  Fleet fleet;
  const auto machine = machine_of({.packages = 2, .cores_per_l3 = 17});
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(fleet.report(report_of("n" + std::to_string(i), machine), 0));
  }
  const Gang gang = gang_of("j", std::vector<int>(60, 4), 1);
  const auto cost = [&](PlacementPolicy policy) {
    const std::clock_t before = std::clock();
    EXPECT_TRUE(std::holds_alternative<GangPlan>(place_gang(policy, fleet, gang)));
    return static_cast<double>(std::clock() - before);
  };
  const double other = cost(PlacementPolicy::kLeastLoaded);
  const double fill = cost(PlacementPolicy::kFill);
  EXPECT_LT(fill, 2 * other);
}

TEST_F(PlacementTest, RefusesAllOrNothingWithTheReason) {
  for (const PlacementPolicy policy :
       {PlacementPolicy::kFirstFit, PlacementPolicy::kTaskGroup, PlacementPolicy::kLeastLoaded}) {
    const auto text = placed(policy, gang_of("j", std::vector<int>(9, 16), 1));
    EXPECT_EQ(text,
              "needs 9 x 16 CPUs in one NUMA node; 4 nodes have such a hole, room for 8, "
              "largest elsewhere 0");
    EXPECT_EQ(fleet_.promises(), 0U);
  }
}

TEST(PlacementWords, AreReadAsTheyAreWritten) {
  for (const char* word : {"holes", "task-group", "task-group-random", "first-fit", "least-loaded",
                           "most-loaded", "fill"}) {
    const auto policy = placement_of(word);
    ASSERT_TRUE(policy) << word;
    EXPECT_EQ(to_string(*policy), word);
  }
  EXPECT_FALSE(placement_of("Holes"));
  EXPECT_FALSE(placement_of(""));
}

}  // namespace
}  // namespace pinion::cluster
