#include "cluster/core/fleet.h"

#include <gtest/gtest.h>

#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using topology::CpuSet;
using topology::Decision;
using topology::Refusal;

// Two NUMA nodes of four cores, no SMT; CPU 0 is reserved.
MachinePtr small() {
  return machine_of({.packages = 2, .cores_per_l3 = 4, .memory_per_node = 8 * kGiB});
}

class FleetTest : public testing::Test {
 protected:
  void node(const std::string& name, std::vector<topology::Claim> claims,
            std::uint64_t generation = 1) {
    NodeReport report = report_of(name, small());
    report.claims = std::move(claims);
    report.generation = generation;
    const auto lost = fleet_.report(std::move(report), 0);
    ASSERT_TRUE(lost) << lost.error().text;
  }
  std::string best(const topology::Request& request) const {
    const NodeIndex node = fleet_.best_node(request);
    return node < 0 ? "none" : fleet_.node(node).name;
  }
  bool holds(const Result<topology::Outcome>& outcome) const {
    return outcome && std::holds_alternative<Decision>(*outcome);
  }

  Fleet fleet_;
};

TEST_F(FleetTest, FindsTheTightestHole) {
  node("a", {});                        // 3 and 4 free
  node("b", {claim_of("x", "4-5")});    // 3 and 2
  node("c", {claim_of("y", "2-3,4")});  // 1 and 3
  EXPECT_EQ(best(request_of("p", 4)), "a");
  EXPECT_EQ(best(request_of("p", 3)), "a");  // of the three holes of 3, the first by name
  EXPECT_EQ(best(request_of("p", 2)), "b");
  EXPECT_EQ(best(request_of("p", 1)), "c");
  EXPECT_EQ(best(request_of("p", 5)), "none");
}

TEST_F(FleetTest, APreferredAlignmentClimbs) {
  node("a", {claim_of("x", "1")});
  topology::Request request = request_of("p", 5);
  EXPECT_EQ(best(request), "none");
  request.strength = topology::Strength::kPreferred;
  EXPECT_EQ(best(request), "a");
}

TEST_F(FleetTest, MemoryCounts) {
  node("a", {claim_of("x", "1-2")});  // holes of 1 and 4
  topology::Claim full = claim_of("y", "4-5");
  full.memory = {{.node = 1, .bytes = 7 * kGiB}};
  node("b", {full});  // holes of 3 and 2, 1 GiB beside the latter
  topology::Request request = request_of("p", 2);
  EXPECT_EQ(best(request), "b");
  request.memory = 2 * kGiB;
  EXPECT_EQ(best(request), "b");  // on the other NUMA node
  request.memory = 9 * kGiB;
  EXPECT_EQ(best(request), "none");
}

// As its agent does.
TEST_F(FleetTest, WhatSharedContainersRequestCounts) {
  NodeReport report = report_of("a", small());
  report.shared_memory = 4 * kGiB;
  ASSERT_TRUE(fleet_.report(std::move(report), 0));
  topology::Request request = request_of("p", 2);
  request.memory = 6 * kGiB;
  EXPECT_EQ(best(request), "a");
  request.memory += 1;
  EXPECT_EQ(best(request), "none");
}

// As its agent does, where its reserved CPUs are for the system alone.
TEST_F(FleetTest, LeavesACpuForSharedContainers) {
  for (const bool strict : {false, true}) {
    NodeReport report = report_of(strict ? "strict" : "plain", small());
    report.strict_reservation = strict;
    report.claims = {claim_of("x", "4-7")};
    ASSERT_TRUE(fleet_.report(std::move(report), 0));
  }
  EXPECT_TRUE(fleet_.fits(fleet_.find("plain"), request_of("p", 3)));
  EXPECT_FALSE(fleet_.fits(fleet_.find("strict"), request_of("p", 3)));
  EXPECT_TRUE(fleet_.fits(fleet_.find("strict"), request_of("p", 2)));
  EXPECT_EQ(best(request_of("p", 3)), "plain");
}

TEST_F(FleetTest, APromiseIsHeldUntilItIsReleased) {
  node("a", {});
  const NodeIndex a = fleet_.find("a");
  const topology::Ledger before = fleet_.node(a).ledger;
  EXPECT_TRUE(holds(fleet_.promise(a, request_of("p", 4), 100)));
  EXPECT_EQ(best(request_of("q", 4)), "none");
  EXPECT_TRUE(fleet_.release("p"));
  EXPECT_FALSE(fleet_.release("p"));
  EXPECT_EQ(best(request_of("q", 4)), "a");
  EXPECT_EQ(fleet_.node(a).ledger, before);
}

TEST_F(FleetTest, NothingIsPromisedTwice) {
  node("a", {claim_of("r", "1")});
  node("b", {});
  EXPECT_TRUE(holds(fleet_.promise(fleet_.find("a"), request_of("p", 1), 100)));
  EXPECT_EQ(fleet_.promise(fleet_.find("b"), request_of("p", 1), 100).error().text,
            "p has its CPUs already");
  EXPECT_EQ(fleet_.promise(fleet_.find("b"), request_of("r", 1), 100).error().text,
            "r has its CPUs already");
}

TEST_F(FleetTest, AReportConfirmsAPromise) {
  node("a", {});
  const NodeIndex a = fleet_.find("a");
  ASSERT_TRUE(holds(fleet_.promise(a, request_of("p", 2), 100)));
  node("a", {claim_of("p", "4-5")}, 2);
  EXPECT_EQ(fleet_.promises(), 0U);
  EXPECT_EQ(fleet_.expire(1000), std::vector<std::string>{});
  EXPECT_EQ(fleet_.node(a).ledger.exclusive().to_string(), "4-5");
  EXPECT_FALSE(fleet_.release("p"));
}

TEST_F(FleetTest, APromiseMovesWhenTheAgentGaveItsCpusToAnother) {
  node("a", {});
  const NodeIndex a = fleet_.find("a");
  const auto outcome = fleet_.promise(a, request_of("p", 3), 100);
  ASSERT_TRUE(holds(outcome));
  EXPECT_EQ(std::get<Decision>(*outcome).cpus.to_string(), "1-3");
  node("a", {claim_of("other", "2")}, 2);
  EXPECT_EQ(fleet_.promises(), 1U);
  EXPECT_EQ(fleet_.node(a).ledger.find("p")->cpus.to_string(), "4-6");
}

// A report that was on its way when its pod ended: the agent will give what it was told.
TEST_F(FleetTest, APromiseThatItsAgentWasToldComesBackToItsPlace) {
  node("a", {});
  const NodeIndex a = fleet_.find("a");
  ASSERT_TRUE(holds(fleet_.promise(a, request_of("p", 3), 100)));
  EXPECT_EQ(fleet_.pin("p").to_string(), "1-3");
  node("a", {claim_of("other", "2")}, 2);
  EXPECT_EQ(fleet_.node(a).ledger.find("p")->cpus.to_string(), "1,3-6") << "and keeps the rest";
  node("a", {}, 3);
  EXPECT_EQ(fleet_.node(a).ledger.find("p")->cpus.to_string(), "1-3");

  node("a", {claim_of("one", "3"), claim_of("two", "4-5")}, 4);
  EXPECT_EQ(fleet_.node(a).ledger.find("p")->cpus.to_string(), "1-2") << "also without room";
  EXPECT_TRUE(fleet_.promised("p"));
  node("a", {}, 5);
  EXPECT_EQ(fleet_.node(a).ledger.find("p")->cpus.to_string(), "1-3");
  EXPECT_TRUE(fleet_.release("p"));
  EXPECT_TRUE(fleet_.node(a).ledger.claims().empty());
}

TEST_F(FleetTest, WhatIsLeftOfATakenPlaceIsForNobodyElse) {
  node("a", {});
  const NodeIndex a = fleet_.find("a");
  ASSERT_TRUE(holds(fleet_.promise(a, request_of("first", 2), 100)));
  ASSERT_TRUE(holds(fleet_.promise(a, request_of("told", 3), 100)));
  EXPECT_EQ(fleet_.node(a).ledger.find("told")->cpus.to_string(), "4-6");
  EXPECT_EQ(fleet_.pin("told").to_string(), "4-6");
  node("a", {claim_of("other", "1,4")}, 2);
  EXPECT_EQ(fleet_.node(a).ledger.find("first")->cpus.to_string(), "2-3");
  EXPECT_TRUE((CpuSet{5, 6}).is_subset_of(fleet_.node(a).ledger.find("told")->cpus));
}

TEST_F(FleetTest, WhatIsLeftOfATakenPlaceIsNotForAnotherThatLostItsOwn) {
  node("a", {});
  const NodeIndex a = fleet_.find("a");
  for (const char* id : {"first", "second"}) {
    ASSERT_TRUE(holds(fleet_.promise(a, request_of(id, 3), 100)));
    fleet_.pin(id);
  }
  NodeReport report = report_of("a", nullptr);
  report.generation = 2;
  report.claims = {claim_of("other", "2,4")};
  const auto lost = fleet_.report(report, 0);
  ASSERT_TRUE(lost);
  ASSERT_EQ(lost->size(), 1U);
  EXPECT_EQ(lost->front().id, "first");
  EXPECT_EQ(fleet_.node(a).ledger.find("first")->cpus.to_string(), "1,3");
  EXPECT_EQ(fleet_.node(a).ledger.find("second")->cpus.to_string(), "5-7");
}

topology::Request planned(const std::string& id, int cpus, const CpuSet& on) {
  topology::Request request = request_of(id, cpus);
  request.planned = true;
  request.preferred = on;
  return request;
}

// By an extender before this one.
TEST_F(FleetTest, APlannedPlaceThatIsTakenIsHeldAsFarAsItIsFree) {
  node("a", {claim_of("other", "2")});
  const NodeIndex a = fleet_.find("a");
  ASSERT_TRUE(holds(fleet_.promise(a, planned("p", 3, {1, 2, 3}), 100)));
  EXPECT_EQ(fleet_.node(a).ledger.find("p")->cpus.to_string(), "1,3-6");
  ASSERT_TRUE(holds(fleet_.promise(a, request_of("x", 1), 100)));
  EXPECT_EQ(fleet_.node(a).ledger.find("x")->cpus.to_string(), "7");
  fleet_.drop_claim(a, "other");
  fleet_.bring_back(a);
  EXPECT_EQ(fleet_.node(a).ledger.find("p")->cpus.to_string(), "1-3") << "at once";
}

TEST_F(FleetTest, APlannedPromiseWithoutRoomStandsAndIsLostOnce) {
  node("a", {claim_of("one", "2"), claim_of("two", "4-7")});
  const NodeIndex a = fleet_.find("a");
  EXPECT_FALSE(holds(fleet_.promise(a, planned("p", 3, {1, 2, 3}), 100)));
  EXPECT_TRUE(fleet_.promised("p"));
  EXPECT_EQ(fleet_.node(a).ledger.find("p")->cpus.to_string(), "1,3");
  const auto losses = [&](std::vector<topology::Claim> claims, std::uint64_t generation) {
    NodeReport report = report_of("a", nullptr);
    report.claims = std::move(claims);
    report.generation = generation;
    return fleet_.report(report, 0)->size();
  };
  EXPECT_EQ(losses({claim_of("one", "1-3"), claim_of("two", "4-7")}, 2), 0U);
  EXPECT_EQ(fleet_.node(a).ledger.find("p"), nullptr);
  EXPECT_EQ(losses({}, 3), 0U);
  EXPECT_EQ(losses({claim_of("two", "2,4-7")}, 4), 1U);
  EXPECT_EQ(losses({claim_of("two", "2,4-7")}, 5), 0U);
  EXPECT_TRUE(fleet_.release("p"));
  EXPECT_EQ(fleet_.promises(), 0U);
}

// Whatever a pod says of itself, or its agent keeps back since.
TEST_F(FleetTest, NoPlaceIsHeldThatNobodyMayHave) {
  node("a", {});
  const NodeIndex a = fleet_.find("a");
  const auto held = [&] { return fleet_.node(a).ledger.find("p")->cpus.to_string(); };
  for (const CpuSet& on :
       {CpuSet{0, 1}, CpuSet{3, 4}, CpuSet{1, 2, 3}, CpuSet{1, 1000}, CpuSet{1}}) {
    ASSERT_TRUE(holds(fleet_.promise(a, planned("p", 2, on), 100)));
    EXPECT_EQ(held(), "1-2") << on.to_string();
    EXPECT_EQ(fleet_.pin("p").to_string(), "1-2");
    EXPECT_TRUE(fleet_.release("p"));
  }
  ASSERT_TRUE(holds(fleet_.promise(a, planned("p", 2, {1, 2}), 100)));
  NodeReport report = report_of("a", small());
  report.reserved = CpuSet{0, 1};
  report.generation = 2;
  ASSERT_TRUE(fleet_.report(report, 0));
  EXPECT_EQ(held(), "2-3");
}

TEST_F(FleetTest, APromiseWhoseAgentWasNotToldAfterAllMayMove) {
  node("a", {});
  const NodeIndex a = fleet_.find("a");
  ASSERT_TRUE(holds(fleet_.promise(a, request_of("p", 2), 100)));
  fleet_.pin("p");
  EXPECT_TRUE(fleet_.unpin("p"));
  fleet_.pin("p");
  node("a", {claim_of("other", "2")}, 2);
  EXPECT_FALSE(fleet_.unpin("p"));
  node("a", {claim_of("other", "2")}, 3);
  EXPECT_EQ(fleet_.node(a).ledger.find("p")->cpus.count(), 2);
}

TEST_F(FleetTest, APromiseThatNoLongerFitsIsLostAndSaid) {
  node("a", {});
  ASSERT_TRUE(holds(fleet_.promise(fleet_.find("a"), request_of("p", 4), 100)));
  NodeReport report = report_of("a", nullptr);
  report.generation = 2;
  report.claims = {claim_of("other", "4")};
  const auto lost = fleet_.report(report, 0);
  ASSERT_TRUE(lost);
  ASSERT_EQ(lost->size(), 1U);
  EXPECT_EQ(lost->front().id, "p");
  EXPECT_EQ(lost->front().node, "a");
  EXPECT_EQ(lost->front().refusal.reason, topology::Reason::kCpus);
  EXPECT_EQ(fleet_.promises(), 0U);
}

TEST_F(FleetTest, APromiseStaysWhereSharedContainersRequestMoreSince) {
  node("a", {});
  topology::Request request = request_of("p", 2);
  request.memory = 8 * kGiB;
  ASSERT_TRUE(holds(fleet_.promise(fleet_.find("a"), request, 100)));
  NodeReport report = report_of("a", nullptr);
  report.generation = 2;
  report.shared_memory = kGiB;
  const auto lost = fleet_.report(report, 0);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->empty());
  EXPECT_EQ(fleet_.node(fleet_.find("a")).ledger.shared_memory(), kGiB);
}

TEST_F(FleetTest, AnAgentThatRunsAPodPromisedElsewhereFreesThePromise) {
  node("a", {});
  node("b", {});
  const NodeIndex a = fleet_.find("a");
  ASSERT_TRUE(holds(fleet_.promise(a, request_of("p", 4), 100)));
  node("b", {claim_of("p", "4-7")}, 2);
  EXPECT_TRUE(fleet_.node(a).ledger.claims().empty());
  EXPECT_EQ(best(request_of("q", 4)), "a");
}

TEST_F(FleetTest, PromisesExpire) {
  node("a", {});
  const NodeIndex a = fleet_.find("a");
  ASSERT_TRUE(holds(fleet_.promise(a, request_of("p", 1), 100)));
  ASSERT_TRUE(holds(fleet_.promise(a, request_of("q", 1), 200)));
  EXPECT_EQ(fleet_.expire(99), std::vector<std::string>{});
  EXPECT_EQ(fleet_.expire(100), std::vector<std::string>{"p"});
  EXPECT_EQ(fleet_.node(a).ledger.claims().size(), 1U);
}

TEST_F(FleetTest, ASilentNodeIsLeftOutUntilItSpeaks) {
  node("a", {});
  EXPECT_EQ(fleet_.age(999, 1000), 0);
  EXPECT_EQ(fleet_.age(1000, 1000), 1);
  EXPECT_EQ(best(request_of("p", 1)), "none");
  EXPECT_FALSE(fleet_.fits(fleet_.find("a"), request_of("p", 1)));
  fleet_.heard(fleet_.find("a"), 1001);
  EXPECT_EQ(best(request_of("p", 1)), "a");
}

TEST_F(FleetTest, ANodeWhoseAgentHasLostItsRuntimeIsLeftOutUntilItIsBack) {
  node("a", {});
  fleet_.unlinked(fleet_.find("a"));
  EXPECT_EQ(best(request_of("p", 1)), "none");
  EXPECT_EQ(fleet_.age(1, 1000), 0);
  EXPECT_EQ(best(request_of("p", 1)), "none") << "however lately it was heard";
  node("a", {}, 2);
  EXPECT_EQ(best(request_of("p", 1)), "a");
  EXPECT_EQ(fleet_.age(2, 1000), 0);
}

TEST_F(FleetTest, AnOlderReportChangesNothing) {
  node("a", {claim_of("x", "1")}, 5);
  node("a", {}, 4);
  EXPECT_EQ(fleet_.node(fleet_.find("a")).ledger.claims().size(), 1U);
  NodeReport restarted = report_of("a", small());
  restarted.instance = "another";
  restarted.generation = 1;
  ASSERT_TRUE(fleet_.report(restarted, 0));
  EXPECT_TRUE(fleet_.node(fleet_.find("a")).ledger.claims().empty());
}

TEST_F(FleetTest, ANodeThatGoesTakesItsPromisesAlong) {
  node("a", {});
  node("b", {});
  ASSERT_TRUE(holds(fleet_.promise(fleet_.find("a"), request_of("p", 1), 100)));
  fleet_.remove("a");
  EXPECT_EQ(fleet_.find("a"), -1);
  EXPECT_EQ(fleet_.promises(), 0U);
  EXPECT_EQ(best(request_of("q", 4)), "b");
  EXPECT_TRUE(holds(fleet_.promise(fleet_.find("b"), request_of("p", 1), 100)));
  node("c", {});  // takes the free index
  EXPECT_EQ(fleet_.size(), 2);
  EXPECT_EQ(best(request_of("q", 4)), "b");
}

TEST_F(FleetTest, RefusesReportsThatContradictThemselves) {
  const auto fault = [&](std::vector<topology::Claim> claims) {
    NodeReport report = report_of("a", small());
    report.claims = std::move(claims);
    const auto lost = fleet_.report(report, 0);
    return lost ? std::string() : lost.error().text;
  };
  EXPECT_EQ(fault({claim_of("x", "1"), claim_of("y", "1-2")}),
            "node a: container y has CPUs that another container has");
  EXPECT_EQ(fault({claim_of("x", "1"), claim_of("x", "2")}),
            "node a: container x is reported twice");
  EXPECT_EQ(fault({claim_of("x", "0")}), "node a: container x has reserved CPUs");
  EXPECT_EQ(fault({claim_of("x", "")}), "node a: container x has no CPUs");
  topology::Claim claim = claim_of("x", "1");
  claim.memory = {{.node = 2, .bytes = 1}};
  EXPECT_EQ(fault({claim}),
            "node a: container x has memory of a NUMA node that the machine has not");
  EXPECT_EQ(fleet_.find("a"), -1);
  EXPECT_EQ(fleet_.report(report_of("b", nullptr), 0).error().text,
            "node b: first report without a machine");
  EXPECT_EQ(fleet_.report(report_of("", small()), 0).error().text,
            "a report without a node's name");
}

TEST_F(FleetTest, EqualMachinesAreKeptOnce) {
  node("a", {});
  node("b", {});
  EXPECT_EQ(fleet_.node(fleet_.find("a")).kind, fleet_.node(fleet_.find("b")).kind);
}

TEST_F(FleetTest, KnowsWhereAJobIs) {
  topology::Claim claim = claim_of("x", "1");
  claim.job = "wind";
  node("a", {claim});
  node("b", {});
  topology::Request request = request_of("p", 1);
  request.job = "wind";
  const NodeIndex a = fleet_.find("a");
  const NodeIndex b = fleet_.find("b");
  ASSERT_TRUE(holds(fleet_.promise(b, request, 100)));
  EXPECT_EQ(fleet_.nodes_of_job("wind"), (std::set<NodeIndex>{a, b}));
  fleet_.release("p");
  EXPECT_EQ(fleet_.nodes_of_job("wind"), (std::set<NodeIndex>{a}));
  node("a", {}, 2);
  EXPECT_TRUE(fleet_.nodes_of_job("wind").empty());
}

TEST_F(FleetTest, ScoresTheBestHole) {
  node("a", {});
  node("b", {claim_of("x", "4-5")});
  EXPECT_EQ(fleet_.hole_score(fleet_.find("a"), request_of("p", 4)), 10);
  EXPECT_EQ(fleet_.hole_score(fleet_.find("b"), request_of("p", 2)), 10);
  EXPECT_EQ(fleet_.hole_score(fleet_.find("a"), request_of("p", 1)), 5);  // of 3
  EXPECT_EQ(fleet_.hole_score(fleet_.find("a"), request_of("p", 5)), 0);
}

TEST(MemoryPressure, CountsProfilesAndWhatIsMeasured) {
  const MachinePtr machine = small();
  topology::Ledger ledger;
  topology::Claim said = claim_of("said", "0-1");
  said.profile = topology::Profile::kMemory;
  ledger.commit(said);
  ledger.commit(claim_of("measured", "2,4"));
  topology::Claim idle = claim_of("idle", "5");
  idle.profile = topology::Profile::kMemory;
  ledger.commit(idle);
  const MissRates rates{{"measured", kMissesOfBoundCpu}, {"idle", 0}};
  EXPECT_EQ(memory_pressure(*machine, ledger, rates), (std::vector<double>{2.5, 0.5}));
  EXPECT_EQ(pressure_level(*machine, {2.5, 0.5}), 3);
}

TEST(MemoryPressure, ARateCountsAtMostAllCpusOfTheContainer) {
  const MachinePtr machine = small();
  topology::Ledger ledger;
  ledger.commit(claim_of("hot", "4-7"));
  EXPECT_EQ(memory_pressure(*machine, ledger, {{"hot", 1e12}}), (std::vector<double>{0, 4}));
}

}  // namespace
}  // namespace pinion::cluster
