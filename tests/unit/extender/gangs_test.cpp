// Gangs: planned when all of it exist, bound together, and given up.
#include <algorithm>
#include <set>

#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

using GangsTest = PodSchedulerTest;

TEST_F(GangsTest, AGangGoesWhenItsLastMemberHasCome) {
  exist("j", 4, 3);
  // Two on each node: three would not fit.
  std::vector<std::string> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(filtered(member_of("j", i, 4, 3)));
  std::sort(nodes.begin(), nodes.end());
  EXPECT_EQ(nodes, (std::vector<std::string>{"a", "a", "b", "b"}));
  EXPECT_EQ(filtered(pod_of("single", 2)), "") << "what a gang was told is kept for it";

  for (int i = 0; i < 3; ++i) {
    const Pod member = member_of("j", i, 4, 3);
    EXPECT_EQ(bind(member, filtered(member), static_cast<CallId>(i + 1)).kind, Kind::kHold);
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
TEST_F(GangsTest, AGangHoldsNothingUntilAllOfItExist) {
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

TEST_F(GangsTest, JobsOfOneNameAreTwoGangs) {
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

TEST_F(GangsTest, AGangThatDoesNotComeIsRefusedAndItsPlacesAreFree) {
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

TEST_F(GangsTest, PlacesThatNobodyAsksForAreGivenBack) {
  exist("j", 4, 3);
  EXPECT_NE(filtered(member_of("j", 0, 4, 3)), "");
  now_ += 5000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(filtered(pod_of("single", 7)), "ab");
}

TEST_F(GangsTest, AGangWaitsAndIsWokenWholeWhenItFits) {
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

TEST_F(GangsTest, AMemberThatIsGoneEndsThePlan) {
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

TEST_F(GangsTest, AGangThatItsPodLeavesForgetsIt) {
  exist("j", 2, 3);
  const Pod before = member_of("j", 0, 2, 3);
  EXPECT_EQ(filtered(before).size(), 1U);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 2U);
  EXPECT_EQ(filtered(pod_of("j0", 3)), "ab") << "it is by itself now";
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(pod_scheduler_.book().find("default/j")->members.size(), 1U);
}

TEST_F(GangsTest, AHeldCallOfAPodThatLeavesIsToldTheReason) {
  const auto of_other = [] {
    Pod pod = member_of("j", 0, 2, 3);
    pod.annotations["pinion.dev/job"] = "k";
    return pod;
  };
  Pod shared = member_of("j", 0, 2, 3);
  shared.containers.front().milli_cpus = 2500;
  Pod wrong = member_of("j", 0, 2, 3);
  wrong.annotations["pinion.dev/gang-size"] = "many";
  const std::string wrong_why = demand_of(wrong, {}).text;
  struct Leaving {
    Pod now;
    std::string why;
  };
  for (const auto& [now, why] :
       {Leaving{of_other(), "the pod is a member of the gang default/k now"},
        Leaving{pod_of("j0", 3), "the pod is no member of its gang any more"},
        Leaving{shared, "the pod asks for no CPUs of its own any more"},
        Leaving{wrong, wrong_why}}) {
    exist("j", 2, 3);
    const Pod before = member_of("j", 0, 2, 3);
    EXPECT_EQ(bind(before, filtered(before), 1).kind, Kind::kHold);
    pod_scheduler_.seen(now, now_);
    const std::vector<Answered> refused{{1, false, why}};
    EXPECT_EQ(pod_scheduler_.take_effects().answered, refused);
  }
  exist("j", 2, 3);
  const Pod pod = member_of("j", 0, 2, 3);
  EXPECT_EQ(bind(pod, filtered(pod), 1).kind, Kind::kHold);
  pod_scheduler_.gone("j0", now_);
  EXPECT_EQ(pod_scheduler_.take_effects().answered.at(0).text, "the pod is no more");
}

TEST_F(GangsTest, AMemberWhoseBindingFailedTriesAgainAlone) {
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

TEST_F(GangsTest, APlanWhoseNodeIsGoneIsMadeAnew) {
  exist("j", 2, 3);
  const Pod first = member_of("j", 0, 2, 3);
  const std::string node = filtered(first);
  ASSERT_NE(node, "");
  pod_scheduler_.lost(node, now_);
  const std::string other = node == "a" ? "b" : "a";
  EXPECT_EQ(bind(first, node, 1).kind, Kind::kRefuse);
  EXPECT_EQ(filtered(first), other);
}

TEST_F(GangsTest, MembersOfTwoSizesKnownBeforeArePlannedTogether) {
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

TEST_F(GangsTest, AGangHoldsItsCallsOnlyWhereThereIsRoomForAllOfThem) {
  PodScheduler scheduler(policy::Defaults(), {.held = 5});
  ASSERT_TRUE(scheduler.report(report_of("a", machine_), 0));
  for (int i = 0; i < 3; ++i) {
    for (const char* job : {"j", "k"}) scheduler.seen(member_of(job, i, 3, 1), now_);
  }
  const auto bound = [&](const Pod& pod, CallId call_id) {
    const auto answer = scheduler.filter(pod, {"a"}, now_);
    EXPECT_EQ(answer.verdict[0], 0) << answer.why;
    return scheduler.bind(pod.uid, "a", call_id, now_);
  };
  EXPECT_EQ(bound(member_of("j", 0, 3, 1), 1).kind, Kind::kHold);
  const auto refused = bound(member_of("k", 0, 3, 1), 2);
  EXPECT_EQ(refused.kind, Kind::kRefuse);
  EXPECT_EQ(refused.text, "too many gangs are about to start, it has to try again");
  EXPECT_EQ(bound(member_of("j", 1, 3, 1), 3).kind, Kind::kHold);
  EXPECT_EQ(bound(member_of("j", 2, 3, 1), 4).kind, Kind::kGo);
  EXPECT_EQ(bound(member_of("k", 0, 3, 1), 5).kind, Kind::kHold);
}

TEST_F(GangsTest, AGangThatWasGivenUpMakesRoomForTheCallsOfAnother) {
  PodScheduler scheduler(policy::Defaults(), {.hold_ms = 1000, .held = 5});
  ASSERT_TRUE(scheduler.report(report_of("a", machine_), 0));
  for (int i = 0; i < 3; ++i) {
    for (const char* job : {"j", "k"}) scheduler.seen(member_of(job, i, 3, 1), now_);
  }
  const auto bound = [&](const std::string& job, CallId call_id) {
    const Pod pod = member_of(job, 0, 3, 1);
    (void)scheduler.filter(pod, {"a"}, now_);
    return scheduler.bind(pod.uid, "a", call_id, now_).kind;
  };
  EXPECT_EQ(bound("j", 1), Kind::kHold);
  EXPECT_EQ(bound("k", 2), Kind::kRefuse);
  now_ += 1000;
  scheduler.tick(now_);
  EXPECT_EQ(bound("k", 3), Kind::kHold) << "the others of j have not come in time";
}

TEST_F(GangsTest, AGangIsCutIntoTaskGroupsWhichItsMembersAreToldWithTheBinding) {
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

// Else a pod that comes first would leave half a gang running for as long as it lives.
TEST_F(GangsTest, AfterAStartAGangThatIsBoundInPartComesFirst) {
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

TEST_F(GangsTest, AGangStaysOnAsManyNodesAsItMayUse) {
  const auto member = [](int number, int cpus) {
    Pod pod = member_of("j", number, 2, cpus);
    pod.annotations["pinion.dev/nodes"] = "1";
    return pod;
  };
  for (int i = 0; i < 2; ++i) pod_scheduler_.seen(member(i, 3), now_);
  const std::string node = filtered(member(0, 3));
  ASSERT_EQ(node.size(), 1U);
  EXPECT_EQ(filtered(member(1, 3)), node);
  bind(member(0, 3), node, 1);
  ASSERT_EQ(bind(member(1, 3), node, 2).kind, Kind::kGo);
  EXPECT_EQ(filtered(member(2, 2)), "") << "one that comes late";
  EXPECT_NE(answer_.why.find("on at most 1 node (1 has some already)"), std::string::npos)
      << answer_.why;
  EXPECT_EQ(filtered(member(3, 1)), node);
}

TEST_F(GangsTest, ALauncherBesideAGangDoesNotUseUpItsNodes) {
  const Pod launcher = pod_of("l", 5, {{"job", "j"}, {"role", "launcher"}});
  EXPECT_EQ(filtered(launcher), "ab");
  ASSERT_EQ(bind(launcher, "a", 1).kind, Kind::kGo);
  const auto worker = [](int number) {
    Pod pod = member_of("j", number, 2, 3);
    pod.annotations["pinion.dev/nodes"] = "1";
    pod.annotations["pinion.dev/role"] = "worker";
    return pod;
  };
  for (int i = 0; i < 2; ++i) pod_scheduler_.seen(worker(i), now_);
  EXPECT_EQ(filtered(worker(0)), "b") << "both go there";
}

// They are no gang: the scheduler chooses the node of each.
TEST_F(GangsTest, PodsByThemselvesOfOneJobStayOnAsManyNodesAsItMayUse) {
  const auto lone = [](const std::string& uid) {
    return pod_of(uid, 2, {{"job", "j"}, {"nodes", "1"}});
  };
  EXPECT_EQ(filtered(lone("first")), "ab");
  ASSERT_EQ(bind(lone("first"), "a", 1).kind, Kind::kGo);
  EXPECT_EQ(filtered(lone("second")), "a");
  EXPECT_EQ(text_for(1), "its job is on as many nodes as it may use");
  EXPECT_EQ(bind(lone("second"), "b", 2).kind, Kind::kRefuse);
  EXPECT_EQ(bind(lone("second"), "a", 3).kind, Kind::kGo);
  EXPECT_EQ(filtered(pod_of("other", 2, {{"job", "k"}, {"nodes", "1"}})), "ab");
}

TEST_F(GangsTest, NodesWithoutAnAgentAreNamedAsThatFromTheFirstQuestion) {
  for (const char* node : {"a", "b", "c"}) pod_scheduler_.node({.name = node}, now_);
  exist("j", 3, 4);
  EXPECT_EQ(filtered(member_of("j", 0, 3, 4), {"a", "b", "c"}), "");
  EXPECT_NE(answer_.why.find("; no agent speaks for 1 node; "), std::string::npos) << answer_.why;
  pod_scheduler_.unlinked("b", now_);
  filtered(member_of("j", 0, 3, 4), {"a", "b", "c"});
  EXPECT_NE(answer_.why.find("; the agent of 1 node is silent; "), std::string::npos)
      << answer_.why;
  ASSERT_TRUE(pod_scheduler_.report(report_of("c", machine_), now_));
  filtered(member_of("j", 0, 3, 4), {"a", "b", "c"});
  EXPECT_EQ(answer_.why.find("no agent"), std::string::npos) << answer_.why;
  PodScheduler before_all(policy::Defaults(), {});
  before_all.node({.name = "a"}, 0);
  for (int i = 0; i < 2; ++i) before_all.seen(member_of("j", i, 2, 4), 0);
  const auto answer = before_all.filter(member_of("j", 0, 2, 4), {"a"}, 0);
  EXPECT_NE(answer.why.find("no agent speaks for 1 node"), std::string::npos) << answer.why;
  EXPECT_FALSE(answer.texts.at(0).hopeless) << "it may come";
}

// The members fit one by one, and not together: both the event and the answer say so.
TEST_F(GangsTest, AGangThatNeverFitsAsAWholeIsToldSoOnce) {
  exist("j", 3, 4);
  EXPECT_EQ(filtered(member_of("j", 0, 3, 4)), "");
  EXPECT_TRUE(answer_.texts.at(0).hopeless) << "evicting others would not help";
  const Effects effects = pod_scheduler_.take_effects();
  ASSERT_EQ(effects.hopeless.size(), 1U);
  EXPECT_EQ(effects.hopeless[0].why, answer_.why);
  EXPECT_NE(answer_.why.find("even with nothing running there is room for 2"), std::string::npos);
  EXPECT_EQ(filtered(member_of("j", 1, 3, 4)), "");
  EXPECT_TRUE(pod_scheduler_.take_effects().hopeless.empty());
}

// Else each question would withdraw the plan of the one before, and plan the whole gang again.
TEST_F(GangsTest, AGangWhoseMembersContradictEachOtherIsNotPlanned) {
  struct Case {
    const char* name;
    std::map<std::string, std::string> one;  // annotations
    std::map<std::string, std::string> other;
    std::string why;
  };
  const std::string differ = "the pods of its gang differ in pinion.dev/";
  const std::vector<Case> cases{
      {"size", {{"gang-size", "2"}}, {{"gang-size", "3"}}, differ + "gang-size: 2 and 3"},
      {"nodes", {{"nodes", "1"}}, {{"nodes", "2"}}, differ + "nodes: 1 and 2"},
      {"nodes of one", {{"nodes", "2"}}, {}, differ + "nodes: none and 2"},
      {"groups", {{"task-groups", "1"}}, {{"task-groups", "2"}}, differ + "task-groups: 1 and 2"}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const auto member = [&](int number, const auto& annotations) {
      Pod pod = member_of(each.name, number, 2, 2);
      for (const auto& [name, value] : annotations) pod.annotations["pinion.dev/" + name] = value;
      return pod;
    };
    const Pod first = member(0, each.one);
    Pod second = member(1, each.one);
    for (const Pod& pod : {first, second}) pod_scheduler_.seen(pod, now_);
    const std::string node = filtered(first);
    ASSERT_NE(node, "") << answer_.why;
    EXPECT_EQ(bind(first, node, 1).kind, Kind::kHold);
    const auto planned = pod_scheduler_.gang_counters().planned;

    second = member(1, each.other);
    pod_scheduler_.seen(second, now_);
    const std::vector<Answered> refused{{1, false, each.why}};
    EXPECT_EQ(pod_scheduler_.take_effects().answered, refused);
    for (const Pod& pod : {first, second, first, second}) {
      EXPECT_EQ(filtered(pod), "");
      EXPECT_EQ(answer_.why, each.why);
    }
    EXPECT_EQ(pod_scheduler_.gang_counters().planned, planned);
    EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);

    second = member(1, each.one);
    pod_scheduler_.seen(second, now_);
    EXPECT_EQ(pod_scheduler_.take_effects().wake.size(), 2U) << "they were refused";
    EXPECT_NE(filtered(first), "") << answer_.why;
    EXPECT_NE(filtered(second), "") << answer_.why;
    for (const Pod& pod : {first, second}) pod_scheduler_.gone(pod.uid, now_);
  }
}

TEST_F(GangsTest, TheOthersGoOnWhenTheMemberThatContradictsThemIsGone) {
  for (int i = 0; i < 2; ++i) pod_scheduler_.seen(member_of("j", i, 2, 2), now_);
  pod_scheduler_.seen(member_of("j", 2, 3, 2), now_);
  EXPECT_EQ(filtered(member_of("j", 0, 2, 2)), "");
  pod_scheduler_.gone("j2", now_);
  EXPECT_NE(filtered(member_of("j", 0, 2, 2)), "") << answer_.why;
}

}  // namespace
}  // namespace pinion::cluster
