// The scheduler's questions in the order in which it asks them, on fleets of a few nodes.
#include "cluster/extender/scheduling/pod_scheduler.h"

#include <random>

#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

TEST_F(PodSchedulerTest, APodWithoutWholeCpusIsNotOurs) {
  Pod pod = pod_of("p", 1);
  pod.qos = policy::Qos::kBurstable;
  EXPECT_EQ(filtered(pod), "ab");
  EXPECT_FALSE(answer_.ours);
  EXPECT_EQ(bind(pod, "a", 1).kind, Kind::kUnknown);
}

TEST_F(PodSchedulerTest, ASinglePodIsPromisedItsCoresWhenItIsBound) {
  const Pod first = pod_of("first", 5);
  const Pod second = pod_of("second", 4);
  EXPECT_EQ(filtered(first), "ab");
  EXPECT_EQ(filtered(second), "ab") << "nothing is promised by a question";
  ASSERT_EQ(bind(first, "a", 1).kind, Kind::kGo);
  const auto refused = bind(second, "a", 2);
  EXPECT_EQ(refused.kind, Kind::kRefuse);
  EXPECT_EQ(refused.text, "needs 4 CPUs on one node, taken meanwhile");
  EXPECT_EQ(filtered(second), "b");
  EXPECT_EQ(text_for(0), "needs 4 CPUs on one node; too few CPUs are free");
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

// The CPUs are there, and the memory is promised to another pod.
TEST_F(PodSchedulerTest, SaysWhetherCpusOrMemoryAreShort) {
  const auto large = [](const char* uid) {
    Pod pod = pod_of(uid, 3, {{"strength", "required"}});
    pod.containers.front().memory = 40 * kGiB;
    return pod;
  };
  ASSERT_EQ(filtered(large("first")), "ab");
  ASSERT_EQ(bind(large("first"), "a", 1).kind, Kind::kGo);
  EXPECT_EQ(filtered(large("second")), "b");
  EXPECT_EQ(text_for(0),
            "needs 3 CPUs and 40 GiB in one NUMA node; the CPUs are free, the memory is not");
}

TEST_F(PodSchedulerTest, WhyANodeIsNotFit) {
  const Pod pod = pod_of("p", 8);
  EXPECT_EQ(filtered(pod, {"a", "unknown"}), "");
  EXPECT_EQ(text_for(0), "needs 8 CPUs on one node, more than the node has");
  EXPECT_TRUE(answer_.texts[answer_.verdict[0] - 1U].hopeless);
  EXPECT_EQ(text_for(1), "no Pinion agent speaks for the node");
  pod_scheduler_.heard("b", 50'000);
  EXPECT_EQ(pod_scheduler_.age(50'000, 30'000), 1);
  EXPECT_EQ(filtered(pod_of("q", 1)), "b");
  EXPECT_EQ(text_for(0), "the node's Pinion agent is silent");
  EXPECT_EQ(filtered(pod_of("r", 1, {{"align", "moon"}})), "");
  EXPECT_NE(text_for(0).find("'moon'"), std::string::npos) << text_for(0);
}

TEST_F(PodSchedulerTest, TwoContainersOfOnePodNeedRoomBesideEachOther) {
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
TEST(PodSchedulerRandomTest, SeveralContainersPassWhereTheAllocatorGrantsAllOfThem) {
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

TEST_F(PodSchedulerTest, AGangGoesWhenItsLastMemberHasCome) {
  exist("j", 4, 3);
  // Two on each node: three would not fit.
  std::vector<std::string> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(filtered(member_of("j", i, 4, 3)));
  std::sort(nodes.begin(), nodes.end());
  EXPECT_EQ(nodes, (std::vector<std::string>{"a", "a", "b", "b"}));
  EXPECT_EQ(filtered(pod_of("single", 2)), "") << "what a gang was told is kept for it";

  for (int i = 0; i < 3; ++i) {
    const Pod member = member_of("j", i, 4, 3);
    EXPECT_EQ(bind(member, filtered(member), static_cast<Ticket>(i + 1)).kind, Kind::kHold);
  }
  EXPECT_TRUE(pod_scheduler_.take_effects().answered.empty());
  const Pod last = member_of("j", 3, 4, 3);
  EXPECT_EQ(bind(last, filtered(last), 4).kind, Kind::kGo);
  const auto effects = pod_scheduler_.take_effects();
  const std::vector<Answered> all{{1, true, {}}, {2, true, {}}, {3, true, {}}};
  EXPECT_EQ(effects.answered, all);
  for (int i = 0; i < 4; ++i) pod_scheduler_.bound("j" + std::to_string(i), true, now_);
  EXPECT_EQ(pod_scheduler_.gang_counters().whole, 1U);
}

// Else a gang whose others never come would keep them from those that could run.
TEST_F(PodSchedulerTest, AGangHoldsNothingUntilAllOfItExist) {
  Pod first = member_of("j", 0, 3, 3);
  EXPECT_EQ(filtered(first), "");
  EXPECT_EQ(text_for(0), "1 of 3 pods of its gang exist");
  EXPECT_TRUE(answer_.texts[0].hopeless) << "evicting others would not help";
  EXPECT_EQ(filtered(member_of("j", 1, 3, 3)), "");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(filtered(pod_of("single", 7)), "ab");
  EXPECT_EQ(filtered(member_of("huge", 0, 1000, 7)), "") << "one pod says that it is of many";
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  pod_scheduler_.take_effects();

  pod_scheduler_.seen(member_of("j", 2, 3, 3), now_);
  const auto effects = pod_scheduler_.take_effects();
  ASSERT_EQ(effects.wake.size(), 2U) << "those that were refused are asked about again";
  EXPECT_EQ(effects.wake[0].uid, "j0");
  for (int i = 0; i < 3; ++i) EXPECT_NE(filtered(member_of("j", i, 3, 3)), "");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 3U);
}

TEST_F(PodSchedulerTest, JobsOfOneNameAreTwoGangs) {
  const auto owned = [](int number, const std::string& owner, const std::string& name_space) {
    Pod pod = member_of("wind", number, 2, 3);
    pod.uid = owner + pod.uid;
    pod.owner = owner;
    pod.name_space = name_space;
    return pod;
  };
  std::map<std::string, std::string> nodes;
  for (const char* owner : {"first", "again"}) {
    for (int i = 0; i < 2; ++i) pod_scheduler_.seen(owned(i, owner, "default"), now_);
  }
  EXPECT_EQ(pod_scheduler_.gangs().size(), 2U);
  EXPECT_EQ(pod_scheduler_.gangs().front()->called(), "default/wind");
  for (const char* owner : {"first", "again"}) {
    for (int i = 0; i < 2; ++i) nodes[owner] += filtered(owned(i, owner, "default"));
  }
  // Each in the tightest hole that takes all of it; they do not attract each other.
  EXPECT_TRUE(nodes["first"] == "aa" || nodes["first"] == "bb") << nodes["first"];
  EXPECT_TRUE(nodes["again"] == "aa" || nodes["again"] == "bb") << nodes["again"];
  EXPECT_NE(nodes["first"], nodes["again"]);
}

TEST_F(PodSchedulerTest, AGangThatDoesNotComeIsRefusedAndItsPlacesAreFree) {
  exist("j", 4, 3);
  const Pod first = member_of("j", 0, 4, 3);
  const std::string node = filtered(first);
  EXPECT_EQ(bind(first, node, 7).kind, Kind::kHold);
  EXPECT_EQ(filtered(pod_of("single", 2)), "");
  now_ += 999;
  pod_scheduler_.tick(now_);
  EXPECT_TRUE(pod_scheduler_.take_effects().answered.empty());
  now_ += 1;
  pod_scheduler_.tick(now_);
  const auto effects = pod_scheduler_.take_effects();
  const std::vector<Answered> refused{{7, false, "1 of 4 members of its gang came within 1 s"}};
  EXPECT_EQ(effects.answered, refused);
  ASSERT_EQ(effects.wake.size(), 1U) << "the single pod fits now";
  EXPECT_EQ(effects.wake[0].uid, "single");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(bind(first, node, 8).kind, Kind::kRefuse);
}

TEST_F(PodSchedulerTest, PlacesThatNobodyAsksForAreGivenBack) {
  exist("j", 4, 3);
  EXPECT_NE(filtered(member_of("j", 0, 4, 3)), "");
  now_ += 5000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(filtered(pod_of("single", 7)), "ab");
}

TEST_F(PodSchedulerTest, AGangWaitsAndIsWokenWholeWhenItFits) {
  const Pod single = pod_of("single", 5);
  filtered(single);
  ASSERT_EQ(bind(single, "a", 1).kind, Kind::kGo);
  pod_scheduler_.bound("single", true, now_);
  exist("j", 4, 3);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(filtered(member_of("j", i, 4, 3)), "");
  EXPECT_EQ(text_for(0),
            "needs 4 x 3 CPUs and 1 GiB in one NUMA node; 1 node has such a hole, room for 2, "
            "largest elsewhere 2");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U) << "nothing is kept for a gang that waits";
  pod_scheduler_.gone("single", now_);
  now_ += 2000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.take_effects().wake.size(), 4U);
  for (int i = 0; i < 4; ++i) EXPECT_NE(filtered(member_of("j", i, 4, 3)), "");
}

TEST_F(PodSchedulerTest, AMemberThatIsGoneEndsThePlan) {
  exist("j", 2, 3);
  const Pod first = member_of("j", 0, 2, 3);
  const Pod second = member_of("j", 1, 2, 3);
  EXPECT_EQ(bind(first, filtered(first), 1).kind, Kind::kHold);
  EXPECT_NE(filtered(second), "");
  pod_scheduler_.gone(second.uid, now_);
  const auto effects = pod_scheduler_.take_effects();
  ASSERT_EQ(effects.answered.size(), 1U);
  EXPECT_EQ(effects.answered[0].text, "a member of the job is gone");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  // Its replacement, and the one whose call was refused.
  const Pod third = member_of("j", 2, 2, 3);
  EXPECT_EQ(filtered(first), "") << "it waits for that";
  EXPECT_EQ(bind(third, filtered(third), 2).kind, Kind::kHold);
  EXPECT_EQ(bind(first, filtered(first), 3).kind, Kind::kGo);
}

TEST_F(PodSchedulerTest, AMemberWhoseBindingFailedTriesAgainAlone) {
  exist("j", 2, 3);
  const Pod first = member_of("j", 0, 2, 3);
  const Pod second = member_of("j", 1, 2, 3);
  bind(first, filtered(first), 1);
  ASSERT_EQ(bind(second, filtered(second), 2).kind, Kind::kGo);
  pod_scheduler_.bound(first.uid, true, now_);
  pod_scheduler_.bound(second.uid, false, now_);
  const std::string node = filtered(second);
  EXPECT_NE(node, "") << "its place is kept";
  EXPECT_EQ(bind(second, node, 3).kind, Kind::kGo);
}

TEST_F(PodSchedulerTest, APlanWhoseNodeIsGoneIsMadeAnew) {
  exist("j", 2, 3);
  const Pod first = member_of("j", 0, 2, 3);
  const std::string node = filtered(first);
  ASSERT_NE(node, "");
  pod_scheduler_.lost(node, now_);
  const std::string other = node == "a" ? "b" : "a";
  EXPECT_EQ(bind(first, node, 1).kind, Kind::kRefuse);
  EXPECT_EQ(filtered(first), other);
}

TEST_F(PodSchedulerTest, MembersOfTwoSizesKnownBeforeArePlannedTogether) {
  const Pod large = member_of("j", 0, 3, 5);
  pod_scheduler_.seen(large, now_);
  EXPECT_EQ(filtered(member_of("j", 1, 3, 4)), "") << "one of them is missing";
  pod_scheduler_.seen(member_of("j", 2, 3, 2), now_);
  std::string nodes;
  for (const Pod& pod : {member_of("j", 1, 3, 4), large, member_of("j", 2, 3, 2)}) {
    const std::string node = filtered(pod);
    EXPECT_NE(node, "") << pod.uid << ": " << text_for(0);
    nodes += node;
  }
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 3U);
}

TEST_F(PodSchedulerTest, AGangHoldsItsCallsOnlyWhereThereIsRoomForAllOfThem) {
  PodScheduler scheduler(policy::Defaults(), {.held = 5});
  ASSERT_TRUE(scheduler.report(report_of("a", machine_), 0));
  for (int i = 0; i < 3; ++i) {
    for (const char* job : {"j", "k"}) scheduler.seen(member_of(job, i, 3, 1), now_);
  }
  const auto bound = [&](const Pod& pod, Ticket ticket) {
    const auto answer = scheduler.filter(pod, {"a"}, now_);
    EXPECT_EQ(answer.verdict[0], 0) << answer.why;
    return scheduler.bind(pod.uid, "a", ticket, now_);
  };
  EXPECT_EQ(bound(member_of("j", 0, 3, 1), 1).kind, Kind::kHold);
  const auto refused = bound(member_of("k", 0, 3, 1), 2);
  EXPECT_EQ(refused.kind, Kind::kRefuse);
  EXPECT_EQ(refused.text, "too many gangs are about to start, it has to try again");
  EXPECT_EQ(bound(member_of("j", 1, 3, 1), 3).kind, Kind::kHold);
  EXPECT_EQ(bound(member_of("j", 2, 3, 1), 4).kind, Kind::kGo);
  EXPECT_EQ(bound(member_of("k", 0, 3, 1), 5).kind, Kind::kHold);
}

TEST_F(PodSchedulerTest, AGangThatWasGivenUpMakesRoomForTheCallsOfAnother) {
  PodScheduler scheduler(policy::Defaults(), {.hold_ms = 1000, .held = 5});
  ASSERT_TRUE(scheduler.report(report_of("a", machine_), 0));
  for (int i = 0; i < 3; ++i) {
    for (const char* job : {"j", "k"}) scheduler.seen(member_of(job, i, 3, 1), now_);
  }
  const auto bound = [&](const std::string& job, Ticket ticket) {
    const Pod pod = member_of(job, 0, 3, 1);
    (void)scheduler.filter(pod, {"a"}, now_);
    return scheduler.bind(pod.uid, "a", ticket, now_).kind;
  };
  EXPECT_EQ(bound("j", 1), Kind::kHold);
  EXPECT_EQ(bound("k", 2), Kind::kRefuse);
  now_ += 1000;
  scheduler.tick(now_);
  EXPECT_EQ(bound("k", 3), Kind::kHold) << "the others of j have not come in time";
}

TEST_F(PodSchedulerTest, AGangIsCutIntoTaskGroupsWhichItsMembersAreToldWithTheBinding) {
  std::vector<Pod> pods;
  for (int i = 0; i < 4; ++i) {
    pods.push_back(member_of("j", i, 4, 3));
    pods.back().annotations["pinion.dev/task-groups"] = "2";
    pod_scheduler_.seen(pods.back(), now_);
  }
  std::map<std::string, std::set<std::string>> nodes_of_group;
  for (const Pod& pod : pods) {
    const std::string node = filtered(pod);
    nodes_of_group[pod_scheduler_.told_with_binding(pod.uid)["pinion.dev/task-group"]].insert(node);
  }
  using Nodes = std::map<std::string, std::set<std::string>>;
  EXPECT_TRUE((nodes_of_group == Nodes{{"j-0", {"a"}}, {"j-1", {"b"}}} ||
               nodes_of_group == Nodes{{"j-0", {"b"}}, {"j-1", {"a"}}}));
  EXPECT_EQ(pod_scheduler_.gang_counters().planned, 1U) << "members that come later fit the plan";

  pods[0].annotations["pinion.dev/task-groups"] = "5";
  EXPECT_EQ(filtered(pods[0]), "");
  EXPECT_EQ(text_for(0), "annotation pinion.dev/task-groups: not a number from 1 to 4");
}

TEST_F(PodSchedulerTest, ABindingTellsTheAgentWhichCpusArePromised) {
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

TEST_F(PodSchedulerTest, AfterAStartWhatIsBoundIsPromisedAgain) {
  Pod bound = pod_of("bound", 5);
  bound.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(bound, now_));
  Pod member = member_of("j", 0, 2, 3);
  member.node = "b";
  EXPECT_TRUE(pod_scheduler_.seen(member, now_));
  EXPECT_EQ(filtered(pod_of("single", 4)), "b");
  const Pod second = member_of("j", 1, 2, 3);
  EXPECT_EQ(bind(second, filtered(second), 1).kind, Kind::kGo) << "the other one is bound";
  Pod too_large = pod_of("too-large", 5);
  too_large.node = "a";
  EXPECT_FALSE(pod_scheduler_.seen(too_large, now_));
  now_ += 9000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(filtered(pod_of("late", 7)), "") << "bound is bound, however long its image is pulled";
  pod_scheduler_.gone("bound", now_);
  EXPECT_EQ(filtered(pod_of("late", 7)), "a");
}

// Else a pod that comes first would leave half a gang running for as long as it lives.
TEST_F(PodSchedulerTest, AfterAStartAGangThatIsBoundInPartComesFirst) {
  Pod first = member_of("j", 0, 3, 4);
  first.node = "a";
  ASSERT_TRUE(pod_scheduler_.seen(first, now_));
  for (int i = 1; i < 3; ++i) ASSERT_TRUE(pod_scheduler_.seen(member_of("j", i, 3, 2), now_));
  Pod alone = member_of("over", 0, 2, 3);  // the other member has ended
  alone.node = "a";
  ASSERT_TRUE(pod_scheduler_.seen(alone, now_));
  ASSERT_TRUE(pod_scheduler_.seen(member_of("waits", 0, 2, 1), now_));  // nobody of it is bound
  pod_scheduler_.complete_gangs(now_);
  EXPECT_EQ(filtered(pod_of("single", 4)), "") << "b has 3 left beside two members of 2";
  EXPECT_EQ(filtered(pod_of("other", 3)), "b");
  EXPECT_EQ(filtered(member_of("j", 1, 3, 2)), "b");
  EXPECT_EQ(bind(member_of("j", 1, 3, 2), "b", 1).kind, Kind::kHold);
  EXPECT_EQ(filtered(member_of("j", 2, 3, 2)), "b");
  EXPECT_EQ(bind(member_of("j", 2, 3, 2), "b", 2).kind, Kind::kGo);
  pod_scheduler_.complete_gangs(now_);
  EXPECT_EQ(pod_scheduler_.gang_counters().planned, 1U);
}

TEST_F(PodSchedulerTest, WhatIsBoundWhereNoAgentSpeaksYetIsPromisedWithTheFirstReport) {
  for (const char* name : {"first", "second", "gone"}) {
    Pod pod = pod_of(name, 3);
    pod.node = "late";
    EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  }
  pod_scheduler_.gone("gone", now_);
  report("late", {{"first/main", 3}});
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U) << "one runs, one is gone";
  EXPECT_EQ(filtered(pod_of("large", 2), {"late"}), "");
  EXPECT_EQ(filtered(pod_of("small", 1), {"late"}), "late");
  pod_scheduler_.lost("late", now_);
  report("late", {{"first/main", 3}});
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U) << "the node was away";
}

TEST_F(PodSchedulerTest, ABindingThatFailsWhileItsNodeIsAwayLeavesNothingThere) {
  const Pod pod = pod_of("p", 3);
  EXPECT_EQ(filtered(pod), "ab");
  EXPECT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  pod_scheduler_.lost("a", now_);
  pod_scheduler_.bound("p", false, now_);
  pod_scheduler_.gone("p", now_);
  report("a", {});
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(filtered(pod_of("large", 7)), "ab");
}

TEST_F(PodSchedulerTest, APodThatIsBoundElsewhereThanPromisedIsAtHomeThereAlone) {
  Pod pod = pod_of("p", 3);
  EXPECT_EQ(filtered(pod), "ab");
  EXPECT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  pod_scheduler_.lost("a", now_);
  pod.node = "b";
  EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  report("a", {});
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U);
  EXPECT_EQ(filtered(pod_of("large", 7)), "a");
}

TEST_F(PodSchedulerTest, AGangThatItsPodLeavesForgetsIt) {
  exist("j", 2, 3);
  const Pod before = member_of("j", 0, 2, 3);
  EXPECT_EQ(filtered(before).size(), 1U);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 2U);
  EXPECT_EQ(filtered(pod_of("j0", 3)), "ab") << "it is by itself now";
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(pod_scheduler_.book().find("default/j")->members.size(), 1U);
}

// The scheduler has given the question up, and it arrives all the same.
TEST_F(PodSchedulerTest, AQuestionThatIsLateLeavesNothing) {
  Pod single = pod_of("single", 7);
  EXPECT_EQ(filtered(single), "ab");
  single.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(single, now_));
  EXPECT_EQ(filtered(single, {"a"}), "");
  EXPECT_EQ(text_for(0), "the pod is bound already");
  EXPECT_TRUE(pod_scheduler_.waiting().empty()) << "nobody needs to be woken";

  exist("j", 2, 3);
  const Pod member = member_of("j", 0, 2, 3);
  EXPECT_EQ(filtered(member), "b");
  for (const char* uid : {"j0", "j1"}) pod_scheduler_.gone(uid, now_);
  EXPECT_EQ(filtered(member), "");
  EXPECT_EQ(text_for(1), "the pod is no more");
  EXPECT_TRUE(pod_scheduler_.gangs().empty());
  EXPECT_TRUE(pod_scheduler_.waiting().empty());
  EXPECT_EQ(pod_scheduler_.pods(), 1U);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U);
}

TEST_F(PodSchedulerTest, WhoIsNeverToldOfIsForgotten) {
  const Pod member = member_of("j", 0, 1, 1);
  const Pod told = pod_of("told", 2);
  const Pod bound = pod_of("bound", 2);
  const Pod refused = pod_of("refused", 9);
  for (const Pod& pod : {member, told, bound, refused}) filtered(pod);
  EXPECT_TRUE(pod_scheduler_.seen(told, now_));
  EXPECT_EQ(bind(bound, "a", 1).kind, Kind::kGo);
  pod_scheduler_.bound("bound", true, now_);
  now_ += 8999;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.pods(), 4U);
  report("a", {{"bound/main", 2}});
  EXPECT_EQ(filtered(refused), "");
  now_ += 1;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.pods(), 3U) << "the scheduler knows that the refused one is there";
  now_ += 9000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.pods(), 2U) << "the bound one runs";
  EXPECT_TRUE(pod_scheduler_.gangs().empty());
  EXPECT_TRUE(pod_scheduler_.waiting().empty());
  EXPECT_NE(filtered(member), "") << "it exists after all";
  report("a", {});
  now_ += 9000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.pods(), 1U) << "of the bound one nobody has told that it ended";
}

TEST_F(PodSchedulerTest, WhoIsBoundAndNeverToldOfIsForgottenWhenItsNodeComesBackWithoutIt) {
  filtered(pod_of("p", 3));
  EXPECT_EQ(bind(pod_of("p", 3), "a", 1).kind, Kind::kGo);
  pod_scheduler_.bound("p", true, now_);
  pod_scheduler_.lost("a", now_);
  report("a", {});
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U) << "its kubelet may start it yet";
  now_ += 9000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(pod_scheduler_.pods(), 0U);
}

// It ran while the watch was away, and is made anew under the same name.
TEST_F(PodSchedulerTest, AGangThatIsNeverToldOfLeavesItsName) {
  for (const char* run : {"first-", "second-"}) {
    std::vector<Pod> members;
    for (int i = 0; i < 2; ++i) {
      members.push_back(member_of("j", i, 2, 3));
      members.back().uid = run + members.back().uid;
    }
    for (const Pod& pod : members) filtered(pod);
    std::map<std::string, std::vector<std::pair<std::string, int>>> running;
    for (const Pod& pod : members) {
      const std::string node = filtered(pod);
      ASSERT_EQ(node.size(), 1U) << pod.uid << ": " << text_for(0);
      EXPECT_NE(bind(pod, node, 1).kind, Kind::kRefuse);
      running[node].emplace_back(pod.uid + "/main", 3);
    }
    for (const Pod& pod : members) pod_scheduler_.bound(pod.uid, true, now_);
    for (const auto& [node, pods] : running) report(node, pods);
    now_ += 20'000;
    pod_scheduler_.tick(now_);
    EXPECT_EQ(pod_scheduler_.pods(), 2U) << "they run for longer than anybody asks about them";
    for (const char* node : {"a", "b"}) report(node, {});
    now_ += 9000;
    pod_scheduler_.tick(now_);
    EXPECT_EQ(pod_scheduler_.pods(), 0U);
    EXPECT_TRUE(pod_scheduler_.gangs().empty());
  }
}

TEST(Recent, ForgetsTheOldest) {
  Recent recent(2);
  for (const char* name : {"a", "b", "a", "c"}) recent.add(name);
  EXPECT_FALSE(recent.contains("a"));
  EXPECT_TRUE(recent.contains("b"));
  EXPECT_TRUE(recent.contains("c"));
}

TEST_F(PodSchedulerTest, AContainerThatIsStartedAgainKeepsItsRoom) {
  Pod pod = pod_of("p", 5);
  ASSERT_NE(filtered(pod), "");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  pod_scheduler_.bound("p", true, now_);
  pod.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  report("a", {{"p/main", 5}});
  EXPECT_EQ(filtered(pod_of("waits", 3)), "b");
  report("a", {});
  EXPECT_EQ(filtered(pod_of("waits", 3)), "b") << "it has stopped, its pod has not";
  report("a", {{"p/main", 5}});
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  pod_scheduler_.gone("p", now_);
  report("a", {});
  EXPECT_EQ(filtered(pod_of("waits", 3)), "ab");
}

TEST_F(PodSchedulerTest, APodWithoutRoomIsPromisedItWhenItIsFree) {
  report("a", {{"x/main", 5}});
  Pod pod = pod_of("p", 4);
  pod.node = "a";
  EXPECT_FALSE(pod_scheduler_.seen(pod, now_))
      << "its agent will refuse it, and the kubelet will try again";
  EXPECT_EQ(filtered(pod_of("q", 2)), "ab");
  report("a", {});
  EXPECT_EQ(filtered(pod_of("waits", 4)), "b");
}

TEST_F(PodSchedulerTest, ARefusedPodIsWokenMoreAndMoreSeldom) {
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
