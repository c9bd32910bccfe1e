#include "cluster/core/gang_plan.h"

#include <gtest/gtest.h>

#include "cluster/core/placement.h"

#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using topology::Align;
using topology::Bytes;
using topology::Profile;

std::string plan_text(const Fleet& fleet, const Gang& gang, int steps = 2000) {
  const GangOutcome outcome = plan_gang(fleet, gang, {.steps = steps});
  if (const auto* plan = std::get_if<GangPlan>(&outcome)) return nodes_text(fleet, *plan);
  return std::get<GangRefusal>(outcome).text;
}

GangPlan planned(const Fleet& fleet, const Gang& gang) {
  GangOutcome outcome = plan_gang(fleet, gang);
  if (!std::holds_alternative<GangPlan>(outcome)) {
    ADD_FAILURE() << std::get<GangRefusal>(outcome).text;
    return {};
  }
  return std::get<GangPlan>(std::move(outcome));
}

std::vector<int> times(int n, int cpus) {
  return std::vector<int>(static_cast<std::size_t>(n), cpus);
}

// A node of NUMA nodes with exactly these free CPUs, each NUMA node of 16 cores.
void add_node(Fleet& fleet, const std::string& name, const std::vector<int>& free) {
  const auto nodes = static_cast<int>(free.size());
  NodeReport report = report_of(
      name, machine_of({.packages = nodes, .cores_per_l3 = 16, .memory_per_node = 64 * kGiB}), {});
  for (int i = 0; i < nodes; ++i) {
    const int taken = 16 - free[static_cast<std::size_t>(i)];
    if (taken == 0) continue;
    topology::Claim claim;
    claim.id = name + "-busy-" + std::to_string(i);
    claim.cpus = topology::CpuSet::range(16 * i, 16 * i + taken - 1);
    report.claims.push_back(claim);
  }
  const auto lost = fleet.report(std::move(report), 0);
  ASSERT_TRUE(lost) << lost.error().text;
}

TEST(GangPlan, ThePapersFineGrainedJobHasAGroupOnEachNode) {
  Fleet fleet;
  add_paper_nodes(fleet);
  EXPECT_EQ(plan_text(fleet, gang_of("ep", times(16, 1), 4)),
            "node-0: ep-0 ep-4 ep-8 ep-12; node-1: ep-1 ep-5 ep-9 ep-13; "
            "node-2: ep-2 ep-6 ep-10 ep-14; node-3: ep-3 ep-7 ep-11 ep-15");
}

TEST(GangPlan, ThePapersScaledJobHasAWorkerOnEachNode) {
  Fleet fleet;
  add_paper_nodes(fleet);
  EXPECT_EQ(plan_text(fleet, gang_of("fe", times(4, 4), 4)),
            "node-0: fe-0; node-1: fe-1; node-2: fe-2; node-3: fe-3");
}

TEST(GangPlan, ANetworkBoundJobOfOneWorkerFillsASocket) {
  Fleet fleet;
  add_paper_nodes(fleet);
  const Gang gang = gang_of("rr", {16}, 1, Profile::kNetwork);
  const GangPlan plan = planned(fleet, gang);
  EXPECT_EQ(nodes_text(fleet, plan), "node-0: rr-0");
  EXPECT_EQ(plan.placements[0].decision.cpus.to_string(), "2-17");
}

// Four nodes take eight jobs of 16 processes, as in the paper's cluster.
TEST(GangPlan, EightJobsOfSixteenFillThePapersCluster) {
  Fleet fleet;
  add_paper_nodes(fleet);
  for (int job = 0; job < 8; ++job) {
    const Gang gang = gang_of("job" + std::to_string(job), times(16, 1), 4);
    ASSERT_TRUE(promise_gang(fleet, gang, planned(fleet, gang), 100)) << job;
  }
  EXPECT_EQ(plan_text(fleet, gang_of("last", times(1, 1), 1)),
            "needs 1 x 1 CPU in one NUMA node; no node has such a hole, largest 0");
}

// The example of docs/scheduling.md.
TEST(GangPlan, TheDrawnExample) {
  Fleet fleet;
  const MachinePtr machine = paper_machine();
  const std::map<std::string, std::string> busy = {
      {"node-a", "2-17,20-35"}, {"node-b", "2-9,28-35"}, {"node-c", ""}};
  for (const auto& [name, cpus] : busy) {
    NodeReport report = report_of(name, machine, kPaperReserved);
    if (!cpus.empty()) report.claims.push_back(claim_of(name + "-busy", cpus));
    ASSERT_TRUE(fleet.report(std::move(report), 0));
  }
  const GangPlan plan = planned(fleet, gang_of("j", times(8, 4), 2));
  EXPECT_EQ(nodes_text(fleet, plan), "node-b: j-0 j-2 j-4 j-6; node-c: j-1 j-3 j-5 j-7");
  topology::CpuSet of_b;
  for (const int member : {1, 3, 5, 7}) {
    of_b |= plan.placements[static_cast<std::size_t>(member)].decision.cpus;
  }
  EXPECT_EQ(of_b.to_string(), "2-17");
  EXPECT_EQ(plan_text(fleet, gang_of("j", times(8, 4), 1)).substr(0, 7), "node-c:");
}

TEST(GangPlan, GroupsAvoidEachOther) {
  Fleet fleet;
  add_node(fleet, "a", {16, 16});
  add_node(fleet, "b", {5, 5});
  // Both groups would fit on either node.
  EXPECT_EQ(plan_text(fleet, gang_of("j", times(2, 4), 2)), "a: j-1; b: j-0");
}

TEST(GangPlan, AGroupThatFitsNowhereWholeIsSplitOverAsFewNodesAsCanBe) {
  Fleet fleet;
  add_node(fleet, "a", {4, 1});
  add_node(fleet, "b", {8, 5});
  add_node(fleet, "c", {4, 1});
  EXPECT_EQ(plan_text(fleet, gang_of("j", times(4, 4), 1)), "a: j-3; b: j-0 j-1 j-2");
}

TEST(GangPlan, LargeHolesStayWhole) {
  Fleet fleet;
  add_node(fleet, "a", {16, 16});
  add_node(fleet, "b", {9, 16});
  add_node(fleet, "c", {8, 1});
  EXPECT_EQ(plan_text(fleet, gang_of("j", {8}, 1)), "c: j-0");
}

TEST(GangPlan, MemoryIntensiveGroupsGoWhereControllersAreIdle) {
  Fleet fleet;
  add_paper_nodes(fleet);
  const Gang first = gang_of("st", times(16, 1), 1, Profile::kMemory);
  ASSERT_TRUE(promise_gang(fleet, first, planned(fleet, first), 100));
  // Best fit would put both beside the first.
  EXPECT_EQ(plan_text(fleet, gang_of("cp", times(4, 1), 1)).substr(0, 6), "node-0");
  EXPECT_EQ(plan_text(fleet, gang_of("me", times(4, 1), 1, Profile::kMemory)).substr(0, 6),
            "node-1");
}

TEST(GangPlan, WhatIsMeasuredCountsMoreThanWhatIsSaid) {
  Fleet fleet;
  add_paper_nodes(fleet);
  const Gang first = gang_of("st", times(16, 1), 1, Profile::kMemory);
  ASSERT_TRUE(promise_gang(fleet, first, planned(fleet, first), 100));
  MissRates idle;
  for (const auto& request : first) idle[request.id] = 0;
  fleet.measured(fleet.find("node-0"), idle);
  EXPECT_EQ(plan_text(fleet, gang_of("me", times(4, 1), 1, Profile::kMemory)).substr(0, 6),
            "node-0");
}

TEST(GangPlan, ALateWorkerJoinsItsGroup) {
  Fleet fleet;
  add_paper_nodes(fleet);
  const Gang gang = gang_of("j", times(4, 2), 2);
  const GangPlan plan = planned(fleet, gang);
  ASSERT_TRUE(promise_gang(fleet, gang, plan, 100));
  ASSERT_TRUE(fleet.release("j-3"));
  const GangPlan again = planned(fleet, {gang[3]});
  EXPECT_EQ(again.placements[0].node, plan.placements[3].node);
}

// First fit by size puts 6 into the tightest hole, 8, and one of the four-CPU workers is left over.
TEST(GangPlan, TheSearchFindsWhatTheFirstOrderMissed) {
  Fleet fleet;
  add_node(fleet, "a", {10, 1});
  add_node(fleet, "b", {8, 1});
  const Gang gang = gang_of("j", {6, 4, 4, 4}, 4);
  EXPECT_EQ(plan_text(fleet, gang, 0),
            "needs 3 x 4 CPUs in one NUMA node; 2 nodes have such a hole, but not for all workers "
            "of this job together, largest elsewhere 0");
  EXPECT_EQ(plan_text(fleet, gang), "a: j-0 j-2; b: j-1 j-3");
}

TEST(GangPlan, OnlyAllowedNodesAreUsed) {
  Fleet fleet;
  add_paper_nodes(fleet);
  const std::vector<NodeIndex> among{fleet.find("node-2"), fleet.find("node-3")};
  const GangOutcome outcome = plan_gang(fleet, gang_of("j", times(2, 4), 2), {.among = &among});
  EXPECT_EQ(nodes_text(fleet, std::get<GangPlan>(outcome)), "node-2: j-0; node-3: j-1");
}

TEST(GangPlan, APlanThatTheFleetHasOvertakenIsPromisedNotAtAll) {
  Fleet fleet;
  add_paper_nodes(fleet);
  const Gang gang = gang_of("j", times(8, 16), 4);
  const GangPlan plan = planned(fleet, gang);
  ASSERT_TRUE(fleet.promise(fleet.find("node-3"), request_of("other", 1), 100));
  EXPECT_FALSE(promise_gang(fleet, gang, plan, 100));
  EXPECT_EQ(fleet.promises(), 1U);
}

struct OrderRow {
  const char* name;
  std::vector<std::vector<int>> free;  // of each node, by NUMA node
  std::vector<int> cpus;               // of the members
  Bytes memory;
  Align align;
  GangReason reason;
  const char* text;
};

class GangRefused : public testing::TestWithParam<OrderRow> {};

TEST_P(GangRefused, SaysWhatIsMissingWithoutNames) {
  const OrderRow& row = GetParam();
  Fleet fleet;
  for (std::size_t i = 0; i < row.free.size(); ++i) {
    add_node(fleet, "n" + std::to_string(i), row.free[i]);
  }
  Gang gang = gang_of("j", row.cpus, 1);
  for (auto& request : gang) {
    request.memory = row.memory;
    request.align = row.align;
  }
  const GangOutcome outcome = plan_gang(fleet, gang);
  ASSERT_TRUE(std::holds_alternative<GangRefusal>(outcome));
  EXPECT_EQ(std::get<GangRefusal>(outcome).text, row.text);
  EXPECT_EQ(std::get<GangRefusal>(outcome).reason, row.reason);
}

INSTANTIATE_TEST_SUITE_P(
    Table, GangRefused,
    testing::Values(
        OrderRow{"too_few",
                 {{8, 3}, {9, 1}, {6, 6}, {12, 2}},
                 {8, 8, 8, 8},
                 0,
                 Align::kNuma,
                 GangReason::kTooFew,
                 "needs 4 x 8 CPUs in one NUMA node; 3 nodes have such a hole, room for 3, largest "
                 "elsewhere 6"},
        OrderRow{"no_hole",
                 {{7, 7}, {6, 5}},
                 {8, 8},
                 0,
                 Align::kNuma,
                 GangReason::kNoHole,
                 "needs 2 x 8 CPUs in one NUMA node; no node has such a hole, largest 7"},
        OrderRow{"larger_than_any_machine",
                 {{16, 16}},
                 {17},
                 0,
                 Align::kNuma,
                 GangReason::kNever,
                 "needs 1 x 17 CPUs in one NUMA node; no node could give that even with nothing "
                 "running, largest 16"},
        OrderRow{"socket",
                 {{7, 7}},
                 {8},
                 0,
                 Align::kSocket,
                 GangReason::kNoHole,
                 "needs 1 x 8 CPUs on one socket; no node has such a hole, largest 7"},
        OrderRow{
            "memory",
            {{16, 16}, {16, 16}},
            {3, 3, 3, 3, 3},
            33 * kGiB,
            Align::kNuma,
            GangReason::kTooFew,
            "needs 5 x 3 CPUs and 33 GiB in one NUMA node; 2 nodes have such a hole, room for 4, "
            "largest elsewhere 0"},
        OrderRow{"memory_never",
                 {{16, 16}},
                 {3},
                 65 * kGiB,
                 Align::kNuma,
                 GangReason::kNever,
                 "needs 1 x 3 CPUs and 65 GiB in one NUMA node; no node could give that even with "
                 "nothing running, at most 64 GiB beside such CPUs"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(GangPlan, AGangWithoutWorkersIsRefused) {
  const Fleet fleet;
  EXPECT_EQ(plan_text(fleet, {}), "a gang without workers");
}

TEST(GangPlan, AWorkerThatHasCpusAlreadyIsNotPlacedAgain) {
  Fleet fleet;
  add_paper_nodes(fleet);
  const char* const text = "two workers of the gang have the same id, or one has its CPUs already";
  Gang gang = gang_of("j", times(2, 1), 1);
  ASSERT_TRUE(fleet.promise(0, gang[0], 100));
  EXPECT_EQ(plan_text(fleet, gang), text);
  gang[0].id = gang[1].id;
  EXPECT_EQ(plan_text(fleet, gang), text);
}

// Terms beside CPUs: which nodes, and what is requested of them.

MemberTerms only(const Fleet& fleet, const std::vector<const char*>& names) {
  auto nodes = std::make_shared<NodeSet>();
  for (const char* name : names) nodes->set(fleet.find(name), true);
  return {.requests = {}, .nodes = std::move(nodes)};
}

TEST(GangPlan, ClosedNodesAreForThoseThatNameThem) {
  Fleet fleet;
  add_paper_nodes(fleet);
  for (const char* name : {"node-0", "node-2"}) {
    fleet.set_terms(fleet.find(name), {.open = false}, {});
  }
  Gang gang = gang_of("j", times(4, 8), 2);
  EXPECT_EQ(plan_text(fleet, gang), "node-1: j-0 j-2; node-3: j-1 j-3");
  const MemberTerms closed = only(fleet, {"node-0", "node-2"});
  for (GangMember& member : gang) member.terms = closed;
  EXPECT_EQ(plan_text(fleet, gang), "node-0: j-0 j-2; node-2: j-1 j-3");
  gang[0].terms = {};
  EXPECT_NE(plan_text(fleet, gang).find("node-1: j-0"), std::string::npos)
      << "members of one gang may have different nodes";
  const MemberTerms none = only(fleet, {});
  for (GangMember& member : gang) member.terms = none;
  EXPECT_EQ(plan_text(fleet, gang),
            "needs 4 x 8 CPUs in one NUMA node; 4 nodes are closed to it; no node could give that "
            "even with nothing running, largest 0");
}

TEST(GangPlan, WhatOthersTakeBesideTheirCpusIsNotPlannedOver) {
  Fleet fleet;
  add_paper_nodes(fleet);
  Gang gang = gang_of("j", times(8, 8), 1);
  for (GangMember& member : gang)
    member.terms.requests = {.milli_cpus = 8000, .memory = 10, .members = 1};
  const ResourceList all{.milli_cpus = 32'000, .memory = 35, .members = 4};
  // Two on the first for their CPUs, three on the second for their memory, one on the third for its
  // places, and two of four on the last.
  const std::vector<ResourceList> others{{.milli_cpus = 10'000, .memory = 0, .members = 0},
                                         {.milli_cpus = 0, .memory = 1, .members = 0},
                                         {.milli_cpus = 0, .memory = 0, .members = 3}};
  for (std::size_t i = 0; i < others.size(); ++i) {
    fleet.set_terms(static_cast<NodeIndex>(i), {.capacity = all, .others = others[i]}, {});
  }
  fleet.set_terms(3, {.capacity = all}, {.milli_cpus = 8000, .memory = 15, .members = 1});
  for (const auto policy : {PlacementPolicy::kHoles, PlacementPolicy::kFirstFit,
                            PlacementPolicy::kTaskGroup, PlacementPolicy::kLeastLoaded}) {
    SCOPED_TRACE(to_string(policy));
    const GangOutcome outcome = place_gang(policy, fleet, gang);
    ASSERT_TRUE(std::holds_alternative<GangPlan>(outcome)) << std::get<GangRefusal>(outcome).text;
    std::vector<int> there(4);
    for (const Placement& placement : std::get<GangPlan>(outcome).placements) {
      ++there[static_cast<std::size_t>(placement.node)];
    }
    EXPECT_EQ(there, (std::vector<int>{2, 3, 1, 2}));
  }
  gang.push_back(gang.back());
  gang.back().id = "j-8";
  EXPECT_EQ(plan_text(fleet, gang),
            "needs 9 x 8 CPUs in one NUMA node; 4 nodes have such a hole, room for 8, largest "
            "elsewhere 0");
  for (GangMember& member : gang) member.terms.requests.memory = 36;
  EXPECT_EQ(plan_text(fleet, gang),
            "needs 9 x 8 CPUs in one NUMA node; no node could give that even with nothing running, "
            "for requests at most 0 MiB");
  for (GangMember& member : gang) member.terms.requests.memory = 35;
  EXPECT_EQ(
      plan_text(fleet, gang),
      "needs 9 x 8 CPUs in one NUMA node; 2 nodes have such a hole, room for 2, on others too "
      "much is requested beside the free CPUs, for requests at most 0 MiB");
}

struct RequestsRow {
  const char* name;
  ResourceList asked;   // by each of two members
  ResourceList others;  // of 32 CPUs, 64 GiB and 2 members on each of two nodes
  const char* text;     // after what is needed
  int cpus = 8;         // of each member
};

class GangRefusedForRequests : public testing::TestWithParam<RequestsRow> {};

TEST_P(GangRefusedForRequests, SaysWhatIsShortAndHowMuchIsLeft) {
  const RequestsRow& row = GetParam();
  const auto gib = static_cast<std::int64_t>(kGiB);
  Fleet fleet;
  Gang gang = gang_of("j", times(2, row.cpus), 1);
  for (GangMember& member : gang) member.terms.requests = row.asked;
  for (NodeIndex node = 0; node < 2; ++node) {
    add_node(fleet, "n" + std::to_string(node), {16, 16});
    const ResourceList all{.milli_cpus = 32'000, .memory = 64 * gib, .members = 2};
    fleet.set_terms(node, {.capacity = all, .others = row.others}, {});
  }
  EXPECT_EQ(plan_text(fleet, gang),
            "needs 2 x " + std::to_string(row.cpus) + " CPUs in one NUMA node; " + row.text);
}

constexpr std::int64_t kGi = std::int64_t{1} << 30;

INSTANTIATE_TEST_SUITE_P(
    Table, GangRefusedForRequests,
    testing::Values(RequestsRow{"cpus",
                                {.milli_cpus = 8000, .members = 1},
                                {.milli_cpus = 28'450},
                                "no node has such a hole, where the CPUs are free too much else is "
                                "requested, for requests at most 3.5 CPUs"},
                    RequestsRow{"memory",
                                {.milli_cpus = 8000, .memory = 2 * kGi, .members = 1},
                                {.memory = 63 * kGi + kGi / 2},
                                "no node has such a hole, where the CPUs are free too much else is "
                                "requested, for requests at most 512 MiB"},
                    RequestsRow{"members",
                                {.milli_cpus = 8000, .members = 1},
                                {.members = 2},
                                "no node has such a hole, where the CPUs are free too much else is "
                                "requested, for requests no place for one more"},
                    RequestsRow{"never",
                                {.milli_cpus = 8000, .memory = 65 * kGi, .members = 1},
                                {},
                                "no node could give that even with nothing running, for requests "
                                "at most 64 GiB"},
                    RequestsRow{"never_for_their_cpus",
                                {.milli_cpus = 17'000, .memory = kGi, .members = 1},
                                {},
                                "no node could give that even with nothing running, largest 16",
                                17}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(GangPlan, ContainersOfOneMemberGoOntoOneNode) {
  Fleet fleet;
  add_node(fleet, "a", {10, 4});
  add_node(fleet, "b", {9, 4});  // nothing is reserved: one CPU stays for the others
  Gang gang;
  for (int i = 0; i < 2; ++i) {
    const std::string id = "j-" + std::to_string(i);
    gang.emplace_back(
        std::vector<topology::Request>{request_of(id + "/large", 9), request_of(id + "/small", 3)},
        MemberTerms());
  }
  for (const auto policy : {PlacementPolicy::kHoles, PlacementPolicy::kFirstFit}) {
    Fleet same;
    add_node(same, "a", {10, 4});
    add_node(same, "b", {9, 4});
    const GangOutcome outcome = place_gang(policy, same, gang);
    ASSERT_TRUE(std::holds_alternative<GangPlan>(outcome)) << std::get<GangRefusal>(outcome).text;
    const GangPlan& plan = std::get<GangPlan>(outcome);
    EXPECT_EQ(plan.placements[0].beside.size(), 1U);
    EXPECT_NE(plan.placements[0].node, plan.placements[1].node);
    EXPECT_TRUE(promise_gang(same, gang, plan, kNoExpiry));
    EXPECT_EQ(same.promises(), 4U);
  }
  gang.push_back(gang.back());
  gang.back().id = "j-2/large";
  gang.back().beside[0].id = "j-2/small";
  EXPECT_EQ(plan_text(fleet, gang),
            "needs 3 x 9 CPUs in one NUMA node and CPUs of 1 more beside it; 2 nodes have such a "
            "hole, room for 2, largest elsewhere 0");
  gang.resize(1);
  gang[0].beside[0].cpus = 5;
  EXPECT_NE(plan_text(fleet, gang).find("no node has such a hole"), std::string::npos)
      << "each fits on both nodes, and not both of them";
  gang[0].beside[0].cpus = 17;
  EXPECT_NE(plan_text(fleet, gang).find("even with nothing running"), std::string::npos);
}

}  // namespace
}  // namespace pinion::cluster
