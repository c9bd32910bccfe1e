// Pods by themselves: which nodes fit, when cores are promised, and what the agent is told.
#include <algorithm>
#include <array>
#include <random>

#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

using SinglePodsTest = PodSchedulerTest;

TEST_F(SinglePodsTest, APodWithoutWholeCpusIsNotOurs) {
  Pod pod = pod_of("p", 1);
  pod.qos = policy::Qos::kBurstable;
  EXPECT_EQ(filtered(pod), "ab");
  EXPECT_FALSE(answer_.ours);
  EXPECT_EQ(bind(pod, "a", 1).kind, Kind::kUnknown);
}

TEST_F(SinglePodsTest, ASinglePodIsPromisedItsCoresWhenItIsBound) {
  const Pod first = pod_of("first", 5);
  const Pod second = pod_of("second", 4);
  EXPECT_EQ(filtered(first), "ab");
  EXPECT_EQ(filtered(second), "ab") << "nothing is promised by a question";
  ASSERT_EQ(bind(first, "a", 1).kind, Kind::kGo);
  const auto refused = bind(second, "a", 2);
  EXPECT_EQ(refused.kind, Kind::kRefuse);
  EXPECT_EQ(refused.text, "needs 4 CPUs on one node, taken meanwhile");
  EXPECT_EQ(filtered(second), "b");
  EXPECT_EQ(text_for(0),
            "needs 4 CPUs on one node; too few CPUs are free: at most 2 CPUs on one node");
  EXPECT_FALSE(answer_.texts[answer_.verdict[0] - 1U].hopeless);

  pod_scheduler_.bound("first", false, now_);
  EXPECT_EQ(filtered(second), "ab") << "the API server has refused the binding";
  ASSERT_EQ(bind(second, "a", 3).kind, Kind::kGo);
  pod_scheduler_.bound("second", true, now_);
  EXPECT_EQ(bind(second, "b", 4).kind, Kind::kRefuse) << "it is bound";
  EXPECT_EQ(bind(second, "a", 5).kind, Kind::kGo) << "as long as the API server does not say so";
  pod_scheduler_.bound("second", true, now_);
  report("a", {{"second/main", 4}});
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  pod_scheduler_.gone("second", now_);
  report("a", {});
  EXPECT_EQ(filtered(first), "ab");
}

// Its annotations are patched, or its CPUs resized, before it is bound.
TEST_F(SinglePodsTest, WhatItAsksForMayChangeWhileItWaits) {
  pod_scheduler_.seen(pod_of("p", 20), now_);
  EXPECT_EQ(filtered(pod_of("p", 20)), "");
  pod_scheduler_.seen(pod_of("p", 3), now_);
  EXPECT_EQ(filtered(pod_of("p", 3)), "ab");
  ASSERT_EQ(bind(pod_of("p", 3), "a", 1).kind, Kind::kGo) << "as it asks now";
  EXPECT_EQ(pod_scheduler_.told_with_binding("p")["pinion.dev/planned"], "main=1-3");

  pod_scheduler_.seen(pod_of("q", 2), now_);
  EXPECT_EQ(filtered(pod_of("q", 5)), "b") << "the question tells of it first";
  ASSERT_EQ(bind(pod_of("q", 5), "b", 2).kind, Kind::kGo);
  EXPECT_EQ(pod_scheduler_.told_with_binding("q")["pinion.dev/planned"], "main=1-5");
  EXPECT_EQ(filtered(pod_of("other", 3)), "a") << "all five are promised";
}

// As the workers of an elastic job come, one by one.
TEST_F(SinglePodsTest, APodPrefersTheNodeOfItsJob) {
  const Names both = {"a", "b"};
  const Pod stranger = pod_of("stranger", 4);
  filtered(stranger);
  ASSERT_EQ(bind(stranger, "b", 1).kind, Kind::kGo);
  const auto worker = [](const std::string& uid) { return pod_of(uid, 2, {{"job", "wind"}}); };
  filtered(worker("one"));
  const auto by_hole = pod_scheduler_.scores(worker("one"), both);
  EXPECT_LT(by_hole[0], by_hole[1]) << "the smaller hole";
  ASSERT_EQ(bind(worker("one"), "a", 2).kind, Kind::kGo);
  filtered(worker("two"));
  const auto beside = pod_scheduler_.scores(worker("two"), both);
  EXPECT_EQ(beside[0], 10);
  EXPECT_LT(beside[1], 10);
  filtered(pod_of("other", 2));
  EXPECT_EQ(pod_scheduler_.scores(pod_of("other", 2), both)[1], by_hole[1]);
}

TEST_F(SinglePodsTest, WhoIsOverInTimeGoesPastTheFirstThatWaits) {
  const auto limited = [](const std::string& uid, int cpus, std::int64_t run_ms) {
    Pod pod = pod_of(uid, cpus);
    pod.run_ms = run_ms;
    return pod;
  };
  now_ = 1'000'000;
  Pod first = limited("first", 5, 100'000);
  first.node = "a";
  first.started_ms = now_ - 60'000;  // found there at the extender's start
  pod_scheduler_.seen(first, now_);
  Pod second = limited("second", 5, 50'000);
  second.node = "b";
  pod_scheduler_.seen(second, now_);
  EXPECT_EQ(filtered(pod_of("large", 7)), "");
  EXPECT_EQ(filtered(pod_of("endless", 2)), "b") << "what is free on a is held for the large one";
  EXPECT_EQ(filtered(limited("a little longer", 2, 40'001)), "b");
  EXPECT_EQ(filtered(limited("in time", 2, 40'000)), "ab");
}

// The scheduler may ask about it only after small ones, for ever.
TEST_F(SinglePodsTest, RoomIsKeptForTheNextThatWaitsBeforeItIsAskedAboutAgain) {
  for (const auto& [uid, node] : {std::pair("one", "a"), std::pair("two", "b")}) {
    Pod pod = pod_of(uid, 5);
    pod.node = node;
    pod_scheduler_.seen(pod, ++now_);
  }
  EXPECT_EQ(filtered(pod_of("large", 7)), "");
  EXPECT_EQ(filtered(pod_of("next", 7)), "");
  pod_scheduler_.gone("one", ++now_);
  ASSERT_EQ(filtered(pod_of("large", 7)), "a");
  ASSERT_EQ(bind(pod_of("large", 7), "a", 1).kind, Kind::kGo);
  pod_scheduler_.bound("large", true, now_);
  pod_scheduler_.tick(++now_);
  EXPECT_EQ(filtered(pod_of("small", 2)), "") << "what is free on b is held for the next one";
  pod_scheduler_.gone("two", ++now_);
  pod_scheduler_.tick(++now_);
  EXPECT_EQ(filtered(pod_of("small", 2)), "");
  EXPECT_EQ(filtered(pod_of("next", 7)), "b");
}

TEST_F(SinglePodsTest, WhoSaysMoreThanADayHasNotSaidWhen) {
  for (const auto& [uid, node, run_ms] :
       {std::tuple("unsaid", "a", std::int64_t{0}), std::tuple("years", "b", 100'000'000'000)}) {
    Pod pod = pod_of(uid, 5);
    pod.node = node;
    pod.run_ms = run_ms;
    pod_scheduler_.seen(pod, ++now_);
  }
  EXPECT_EQ(filtered(pod_of("large", 7)), "");
  Pod month = pod_of("month", 2);
  month.run_ms = 80'000'000;
  EXPECT_EQ(filtered(month), "b") << "a is waited for, and nobody knows how long";
}

TEST_F(SinglePodsTest, TellsWhichCpusEachPodHas) {
  using Held = std::map<std::string, std::string>;
  const auto held = [this] {
    Held pods;
    pod_scheduler_.visit_held([](const PodRef& pod) { return pod.uid != "unwanted"; },
                              [&](const PodRef& pod, NodeIndex node, const topology::CpuSet& cpus) {
                                pods[pod.uid] = std::to_string(cpus.count()) + " on " +
                                                pod_scheduler_.fleet().node(node).name;
                              });
    return pods;
  };
  EXPECT_EQ(filtered(pod_of("waits", 3)), "ab");
  EXPECT_EQ(held(), Held{});
  ASSERT_EQ(bind(pod_of("waits", 3), "a", 1).kind, Kind::kGo);
  ASSERT_EQ(filtered(pod_of("unwanted", 1)), "ab");
  ASSERT_EQ(bind(pod_of("unwanted", 1), "b", 1).kind, Kind::kGo);
  ASSERT_EQ(filtered(pod_of("runs", 2)), "ab");
  ASSERT_EQ(bind(pod_of("runs", 2), "b", 2).kind, Kind::kGo);
  pod_scheduler_.bound("runs", true, now_);
  report("b", {{"runs/main", 2}});
  EXPECT_EQ(held(), (Held{{"runs", "2 on b"}, {"waits", "3 on a"}}));
  pod_scheduler_.gone("runs", now_);
  EXPECT_EQ(held(), (Held{{"waits", "3 on a"}}));
}

// The CPUs are there, and the memory is promised to another pod.
TEST_F(SinglePodsTest, SaysWhetherCpusOrMemoryAreShort) {
  const auto large = [](const char* uid) {
    Pod pod = pod_of(uid, 3, {{"strength", "required"}});
    pod.containers.front().memory = 40 * kGiB;
    return pod;
  };
  ASSERT_EQ(filtered(large("first")), "ab");
  ASSERT_EQ(bind(large("first"), "a", 1).kind, Kind::kGo);
  EXPECT_EQ(filtered(large("second")), "b");
  EXPECT_EQ(
      text_for(0),
      "needs 3 CPUs and 40 GiB in one NUMA node; the CPUs are free, the memory is not: at most "
      "24 GiB beside such CPUs in one NUMA node");
}

TEST_F(SinglePodsTest, WhyANodeIsNotFit) {
  const Pod pod = pod_of("p", 8);
  EXPECT_EQ(filtered(pod, {"a", "unknown"}), "");
  EXPECT_EQ(text_for(0),
            "needs 8 CPUs on one node, more than the node has: at most 7 CPUs on one node");
  EXPECT_TRUE(answer_.texts[answer_.verdict[0] - 1U].hopeless);
  EXPECT_EQ(text_for(1), "no Pinion agent speaks for the node");
  pod_scheduler_.heard("b", kSilent);
  pod_scheduler_.tick(kSilent);
  EXPECT_EQ(filtered(pod_of("q", 1)), "b");
  const char* silent = "the node's Pinion agent is silent or has lost its runtime";
  EXPECT_EQ(text_for(0), silent);
  pod_scheduler_.unlinked("b", kSilent);
  EXPECT_EQ(filtered(pod_of("q2", 1)), "");
  EXPECT_EQ(text_for(1), silent);
  pod_scheduler_.heard("b", kSilent);
  EXPECT_EQ(filtered(pod_of("r", 1, {{"align", "moon"}})), "");
  EXPECT_NE(text_for(0).find("'moon'"), std::string::npos) << text_for(0);
}

// It asks about no node that it would not take itself.
TEST_F(SinglePodsTest, WhomTheSchedulerAloneRefusesIsToldWhereNoIdleNodeWouldDo) {
  using Told = std::vector<std::string>;
  const auto told = [&] {
    Told all;
    now_ += 1000;
    pod_scheduler_.tick(now_);
    for (const Explanation& one : pod_scheduler_.take_effects().hopeless) {
      all.push_back(one.pod.uid + " " + one.why);
    }
    return all;
  };
  const auto refuse = [&](const std::string& uid, int cpus) {
    Pod pod = pod_of(uid, cpus);
    pod.unschedulable = true;
    pod_scheduler_.seen(pod, now_);
  };
  const std::string why =
      "needs 1 x 8 CPUs on one node; no node could give that even with nothing running, largest ";
  refuse("large", 8);
  EXPECT_EQ(told(), Told{}) << "not all that exists is known";
  pod_scheduler_.complete_gangs(now_);
  EXPECT_EQ(told(), Told{"large " + why + "7"});
  refuse("large", 8);
  refuse("fits", 7);
  EXPECT_EQ(told(), Told{});
  report("c", {});
  refuse("large", 8);
  EXPECT_EQ(told(), Told{}) << "for the same reason";
  ASSERT_TRUE(pod_scheduler_.report(
      report_of("d", machine_of({.cores_per_l3 = 8, .memory_per_node = 64 * kGiB}), {0, 1}), now_));
  for (const char* node : {"a", "b", "c"}) pod_scheduler_.lost(node, now_);
  refuse("large", 8);
  EXPECT_EQ(told(), Told{"large " + why + "6"});
  for (int i = 0; i < 50; ++i) refuse("many-" + std::to_string(i), 8);
  std::size_t all = 0;
  for (int second = 0; second < 3; ++second) {
    const std::size_t some = told().size();
    EXPECT_LE(some, 20U) << "events cost the API server time";
    all += some;
  }
  EXPECT_EQ(all, 50U);
  EXPECT_EQ(told(), Told{});
  EXPECT_EQ(filtered(pod_of("large", 6), {"d"}), "d") << "nothing is held by them";
}

struct FreeRow {
  const char* name;
  std::vector<std::pair<int, int>> containers;  // CPUs, and GiB of memory
  bool required = false;
  const char* text;
  bool reserves = true;  // a CPU of the node
};

class FreeTest : public testing::TestWithParam<FreeRow> {};

// Two NUMA nodes of 8 cores with 16 GiB each; six CPUs are held.
TEST_P(FreeTest, SaysWhatIsShortAndHowMuchIsThere) {
  const FreeRow& row = GetParam();
  PodScheduler scheduler{policy::Defaults(), PodSchedulerLimits()};
  NodeReport report =
      report_of("a", machine_of({.packages = 2, .cores_per_l3 = 8, .memory_per_node = 16 * kGiB}),
                row.reserves ? topology::CpuSet{0} : topology::CpuSet());
  report.claims.push_back(claim_of("held", "1-6"));
  ASSERT_TRUE(scheduler.report(std::move(report), 0));
  Pod pod = pod_of("p", 1);
  if (row.required) pod.annotations["pinion.dev/strength"] = "required";
  pod.containers.clear();
  for (const auto& [cpus, memory] : row.containers) {
    pod.containers.push_back({.name = std::to_string(pod.containers.size()),
                              .milli_cpus = 1000 * cpus,
                              .memory = kGiB * static_cast<topology::Bytes>(memory)});
  }
  EXPECT_EQ(scheduler.filter(pod, {"a"}, 1).why, row.text);
}

const std::vector<FreeRow> kFreeRows = {
    {"cpus",
     {{10, 1}},
     false,
     "needs 10 CPUs on one node; too few CPUs are free: at most 9 CPUs on one node"},
    {"never",
     {{9, 1}},
     true,
     "needs 9 CPUs and 1 GiB in one NUMA node, more than the node has: at most 8 CPUs in one NUMA "
     "node"},
    {"memory",
     {{1, 20}},
     true,
     "needs 1 CPU and 20 GiB in one NUMA node, more than the node has: at most 16 GiB beside such "
     "CPUs in one NUMA node"},
    {"several",
     {{8, 1}, {2, 1}},
     false,
     "needs 8 CPUs on one node and beside it 2 CPUs on one node; too few CPUs are free: at most 9 "
     "CPUs on one node"},
    {"all_but_the_last",
     {{10, 1}},
     false,
     "needs 10 CPUs on one node; too few CPUs are free: at most 9 CPUs on one node",
     false},
};

INSTANTIATE_TEST_SUITE_P(Table, FreeTest, testing::ValuesIn(kFreeRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(SinglePodsTest, TwoContainersOfOnePodNeedRoomBesideEachOther) {
  Pod pod = pod_of("p", 4);
  pod.containers.push_back({.name = "other", .milli_cpus = 4000, .memory = 0});
  EXPECT_EQ(filtered(pod), "");
  pod.containers[1].milli_cpus = 3000;
  pod.uid = "q";
  EXPECT_EQ(filtered(pod), "ab");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  EXPECT_EQ(filtered(pod_of("r", 1)), "b");
}

// The first look that spares most nodes the allocator never says yes where that says no.
TEST(SinglePodsRandomTest, SeveralContainersPassWhereTheAllocatorGrantsAllOfThem) {
  std::mt19937 random(1);
  const auto upto = [&](unsigned most) { return static_cast<int>(random() % (most + 1)); };
  const MachinePtr machine = machine_of({.packages = 2,
                                         .l3s_per_node = 2,
                                         .cores_per_l3 = 3,
                                         .threads_per_core = 2,
                                         .memory_per_node = 16 * kGiB,
                                         .siblings = test_support::Siblings::kAdjacent});
  policy::Defaults defaults;
  defaults.privileges = {policy::Privilege::kOnePerCore};
  int passed = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    PodScheduler scheduler{defaults, PodSchedulerLimits()};
    NodeReport report =
        report_of("a", machine, upto(3) == 0 ? topology::CpuSet{} : topology::CpuSet{0});
    for (int cpu = 1; cpu < 24; ++cpu) {
      if (upto(3) == 0) report.claims.push_back(claim_of(std::to_string(cpu), std::to_string(cpu)));
    }
    ASSERT_TRUE(scheduler.report(std::move(report), 0));
    constexpr std::array kAligns = {"l3", "numa", "socket", "none"};
    constexpr std::array kSmts = {"full-core", "one-per-core", "pack", "prefer-full"};
    Pod pod = pod_of("p", 1 + upto(7),
                     {{"align", kAligns.at(random() % 4)},
                      {"smt", kSmts.at(random() % 4)},
                      {"strength", random() % 2 == 0 ? "required" : "preferred"}});
    for (int more = upto(1); more >= 0; --more) {
      pod.containers.push_back({.name = "more-" + std::to_string(more),
                                .milli_cpus = 1000 * (1 + upto(7)),
                                .memory = kGiB * static_cast<topology::Bytes>(upto(12))});
    }
    const Demand demand = demand_of(pod, defaults);
    ASSERT_EQ(demand.kind, Demand::Kind::kSingle) << demand.text;
    const FleetNode& node = scheduler.fleet().node(scheduler.fleet().find("a"));
    const auto outcomes = topology::plan(node.topology(), node.ledger, demand.requests).outcomes;
    const bool granted = std::all_of(outcomes.begin(), outcomes.end(), [](const auto& outcome) {
      return std::holds_alternative<topology::Decision>(outcome);
    });
    ASSERT_EQ(scheduler.filter(pod, {"a"}, 1).verdict.at(0) == 0, granted) << "round " << round;
    passed += granted ? 1 : 0;
  }
  EXPECT_GT(passed, kRounds / 20);
  EXPECT_LT(passed, kRounds - kRounds / 20);
}

TEST_F(SinglePodsTest, ABindingTellsTheAgentWhichCpusArePromised) {
  const Pod first = pod_of("first", 3);
  Pod second = pod_of("second", 2);
  second.containers.push_back({.name = "side", .milli_cpus = 1000, .memory = kGiB});
  EXPECT_TRUE(pod_scheduler_.told_with_binding("first").empty());
  for (const Pod& pod : {first, second}) {
    filtered(pod);
    EXPECT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  }
  using Told = std::map<std::string, std::string>;
  EXPECT_EQ(pod_scheduler_.told_with_binding("first"), (Told{{"pinion.dev/planned", "main=1-3"}}));
  EXPECT_EQ(pod_scheduler_.told_with_binding("second"),
            (Told{{"pinion.dev/planned", "main=4-5 side=6"}}));
  // An extender that begins anew promises the same, in whatever order it hears of them.
  PodScheduler anew{policy::Defaults(), {}};
  ASSERT_TRUE(anew.report(report_of("a", machine_), now_));
  for (Pod pod : {second, first}) {
    pod.annotations.merge(pod_scheduler_.told_with_binding(pod.uid));
    pod.node = "a";
    EXPECT_TRUE(anew.seen(pod, now_));
    EXPECT_EQ(anew.told_with_binding(pod.uid), pod_scheduler_.told_with_binding(pod.uid));
  }
}

TEST_F(SinglePodsTest, ARefusedPodIsWokenMoreAndMoreSeldom) {
  // The scheduler refuses node b for a reason of its own.
  const Pod blocker = pod_of("blocker", 7);
  filtered(blocker);
  ASSERT_EQ(bind(blocker, "a", 1).kind, Kind::kGo);
  report("a", {{"blocker/main", 7}});
  const Pod pod = pod_of("p", 7);
  int woken = 0;
  for (int second = 0; second < 100; ++second) {
    EXPECT_EQ(filtered(pod, {"a"}), "");
    now_ += 1000;
    report("b", {});
    pod_scheduler_.tick(now_);
    woken += static_cast<int>(pod_scheduler_.take_effects().wake.size());
  }
  EXPECT_GE(woken, 4);
  EXPECT_LE(woken, 9);
}

}  // namespace
}  // namespace pinion::cluster
