// The scheduler's questions in the order in which it asks them, on fleets of a few nodes.
#include "extender/desk/desk.h"

#include <gtest/gtest.h>

#include "tests/unit/extender/scene.h"

namespace pinion::extender {
namespace {

using Kind = BindAnswer::Kind;
using Names = std::vector<std::string_view>;

Pod pod_of(const std::string& uid, int cpus, std::map<std::string, std::string> annotations = {}) {
  Pod pod;
  pod.uid = uid;
  pod.name_space = "default";
  pod.name = "pod-" + uid;
  pod.qos = engine::Qos::kGuaranteed;
  for (auto& [name, value] : annotations) pod.annotations["pinion.dev/" + name] = value;
  pod.containers = {{.name = "main", .milli_cpus = 1000 * cpus, .memory = kGiB}};
  return pod;
}

Pod member_of(const std::string& job, int number, int size, int cpus) {
  return pod_of(job + std::to_string(number), cpus,
                {{"job", job}, {"gang-size", std::to_string(size)}});
}

// Two nodes of one NUMA domain of 8 cores each, of which CPU 0 is reserved: 7 free.
class DeskTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b"}) {
      ASSERT_TRUE(desk_.report(report_of(name, machine_), 0));
    }
  }

  // The nodes that pass.
  std::string filtered(const Pod& pod, const Names& names = {"a", "b"}) {
    answer_ = desk_.filter(pod, names, now_);
    std::string passed;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (answer_.verdict[i] == 0) passed += names[i];
    }
    return passed;
  }
  std::string text_for(std::size_t node) {
    return answer_.verdict[node] == 0 ? "" : answer_.texts[answer_.verdict[node] - 1U].text;
  }
  BindAnswer bind(const Pod& pod, const std::string& node, Ticket ticket) {
    return desk_.bind(pod.uid, node, ticket, now_);
  }
  // What the agent on that node reports: these containers, each on CPUs of its own.
  void report(const std::string& node, const std::vector<std::pair<std::string, int>>& running) {
    NodeReport report = report_of(node, machine_);
    report.generation = ++generation_;
    int next = 1;
    for (const auto& [id, cpus] : running) {
      report.claims.push_back(
          claim_of(id, std::to_string(next) + "-" + std::to_string(next + cpus - 1)));
      next += cpus;
    }
    ASSERT_TRUE(desk_.report(std::move(report), now_));
  }

  const MachinePtr machine_ = machine_of({.cores_per_l3 = 8, .memory_per_node = 64 * kGiB});
  Desk desk_{engine::Defaults(), {.hold_ms = 1000, .keep_ms = 5000, .confirm_ms = 9000}};
  FilterAnswer answer_;
  std::int64_t now_ = 100;
  std::uint64_t generation_ = 1;
};

TEST_F(DeskTest, APodWithoutWholeCpusIsNotOurs) {
  Pod pod = pod_of("p", 1);
  pod.qos = engine::Qos::kBurstable;
  EXPECT_EQ(filtered(pod), "ab");
  EXPECT_FALSE(answer_.ours);
  EXPECT_EQ(bind(pod, "a", 1).kind, Kind::kUnknown);
}

TEST_F(DeskTest, ASinglePodIsPromisedItsCoresWhenItIsBound) {
  const Pod first = pod_of("first", 5);
  const Pod second = pod_of("second", 4);
  EXPECT_EQ(filtered(first), "ab");
  EXPECT_EQ(filtered(second), "ab") << "nothing is promised by a question";
  ASSERT_EQ(bind(first, "a", 1).kind, Kind::kGo);
  const auto refused = bind(second, "a", 2);
  EXPECT_EQ(refused.kind, Kind::kRefuse);
  EXPECT_EQ(refused.text, "needs 4 CPUs and 1 GiB on one node, taken meanwhile");
  EXPECT_EQ(filtered(second), "b");
  EXPECT_EQ(text_for(0), "needs 4 CPUs and 1 GiB on one node");
  EXPECT_FALSE(answer_.texts[answer_.verdict[0] - 1U].hopeless);

  desk_.bound("first", false, now_);
  EXPECT_EQ(filtered(second), "ab") << "the API server has refused the binding";
  ASSERT_EQ(bind(second, "a", 3).kind, Kind::kGo);
  desk_.bound("second", true, now_);
  EXPECT_EQ(bind(second, "a", 4).kind, Kind::kRefuse) << "it is bound";
  report("a", {{"second/main", 4}});
  EXPECT_EQ(desk_.fleet().promises(), 0U);
  desk_.gone("second");
  report("a", {});
  EXPECT_EQ(filtered(first), "ab");
}

TEST_F(DeskTest, WhyANodeIsNotFit) {
  const Pod pod = pod_of("p", 8);
  EXPECT_EQ(filtered(pod, {"a", "unknown"}), "");
  EXPECT_EQ(text_for(0), "needs 8 CPUs and 1 GiB on one node, more than the node has");
  EXPECT_TRUE(answer_.texts[answer_.verdict[0] - 1U].hopeless);
  EXPECT_EQ(text_for(1), "no Pinion agent speaks for the node");
  desk_.heard("b", 50'000);
  EXPECT_EQ(desk_.age(50'000, 30'000), 1);
  EXPECT_EQ(filtered(pod_of("q", 1)), "b");
  EXPECT_EQ(text_for(0), "the node's Pinion agent is silent");
  EXPECT_EQ(filtered(pod_of("r", 1, {{"align", "moon"}})), "");
  EXPECT_NE(text_for(0).find("'moon'"), std::string::npos) << text_for(0);
}

TEST_F(DeskTest, TwoContainersOfOnePodNeedRoomBesideEachOther) {
  Pod pod = pod_of("p", 4);
  pod.containers.push_back({.name = "other", .milli_cpus = 4000, .memory = 0});
  EXPECT_EQ(filtered(pod), "");
  pod.containers[1].milli_cpus = 3000;
  pod.uid = "q";
  EXPECT_EQ(filtered(pod), "ab");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  EXPECT_EQ(filtered(pod_of("r", 1)), "b");
}

TEST_F(DeskTest, AGangGoesWhenItsLastMemberHasCome) {
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
  EXPECT_TRUE(desk_.take_effects().answered.empty());
  const Pod last = member_of("j", 3, 4, 3);
  EXPECT_EQ(bind(last, filtered(last), 4).kind, Kind::kGo);
  const auto effects = desk_.take_effects();
  const std::vector<Answered> all{{1, true, {}}, {2, true, {}}, {3, true, {}}};
  EXPECT_EQ(effects.answered, all);
  for (int i = 0; i < 4; ++i) desk_.bound("j" + std::to_string(i), true, now_);
  EXPECT_EQ(desk_.gang_counters().whole, 1U);
  EXPECT_EQ(filtered(member_of("j", 4, 4, 3)), "");
  EXPECT_EQ(text_for(0), "its gang has all of its 4 members");
}

TEST_F(DeskTest, AGangThatDoesNotComeIsRefusedAndItsPlacesAreFree) {
  const Pod first = member_of("j", 0, 4, 3);
  const std::string node = filtered(first);
  EXPECT_EQ(bind(first, node, 7).kind, Kind::kHold);
  EXPECT_EQ(filtered(pod_of("single", 2)), "");
  now_ += 999;
  desk_.tick(now_);
  EXPECT_TRUE(desk_.take_effects().answered.empty());
  now_ += 1;
  desk_.tick(now_);
  const auto effects = desk_.take_effects();
  const std::vector<Answered> refused{{7, false, "1 of 4 members of its gang came within 1 s"}};
  EXPECT_EQ(effects.answered, refused);
  ASSERT_EQ(effects.wake.size(), 1U) << "the single pod fits now";
  EXPECT_EQ(effects.wake[0].uid, "single");
  EXPECT_EQ(desk_.fleet().promises(), 0U);
  EXPECT_EQ(bind(first, node, 8).kind, Kind::kRefuse);
}

TEST_F(DeskTest, PlacesThatNobodyAsksForAreGivenBack) {
  EXPECT_NE(filtered(member_of("j", 0, 4, 3)), "");
  now_ += 5000;
  desk_.tick(now_);
  EXPECT_EQ(desk_.fleet().promises(), 0U);
  EXPECT_EQ(filtered(pod_of("single", 7)), "ab");
}

TEST_F(DeskTest, AGangWaitsAndIsWokenWholeWhenItFits) {
  const Pod single = pod_of("single", 5);
  filtered(single);
  ASSERT_EQ(bind(single, "a", 1).kind, Kind::kGo);
  desk_.bound("single", true, now_);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(filtered(member_of("j", i, 4, 3)), "");
  EXPECT_EQ(text_for(0),
            "needs 4 x 3 CPUs and 1 GiB in one NUMA node; 1 node has such a hole, room for 2, "
            "largest elsewhere 2");
  EXPECT_EQ(desk_.fleet().promises(), 1U) << "nothing is kept for a gang that waits";
  desk_.gone("single");
  now_ += 2000;
  desk_.tick(now_);
  EXPECT_EQ(desk_.take_effects().wake.size(), 4U);
  for (int i = 0; i < 4; ++i) EXPECT_NE(filtered(member_of("j", i, 4, 3)), "");
}

TEST_F(DeskTest, AMemberThatIsGoneEndsThePlan) {
  const Pod first = member_of("j", 0, 2, 3);
  const Pod second = member_of("j", 1, 2, 3);
  EXPECT_EQ(bind(first, filtered(first), 1).kind, Kind::kHold);
  EXPECT_NE(filtered(second), "");
  desk_.gone(second.uid);
  const auto effects = desk_.take_effects();
  ASSERT_EQ(effects.answered.size(), 1U);
  EXPECT_EQ(effects.answered[0].text, "a member of its gang is gone");
  EXPECT_EQ(desk_.fleet().promises(), 0U);
  // Its replacement, and the one whose call was refused.
  const Pod third = member_of("j", 2, 2, 3);
  EXPECT_EQ(bind(third, filtered(third), 2).kind, Kind::kHold);
  EXPECT_EQ(bind(first, filtered(first), 3).kind, Kind::kGo);
}

TEST_F(DeskTest, AMemberWhoseBindingFailedTriesAgainAlone) {
  const Pod first = member_of("j", 0, 2, 3);
  const Pod second = member_of("j", 1, 2, 3);
  bind(first, filtered(first), 1);
  ASSERT_EQ(bind(second, filtered(second), 2).kind, Kind::kGo);
  desk_.bound(first.uid, true, now_);
  desk_.bound(second.uid, false, now_);
  const std::string node = filtered(second);
  EXPECT_NE(node, "") << "its place is kept";
  EXPECT_EQ(bind(second, node, 3).kind, Kind::kGo);
}

TEST_F(DeskTest, APlanWhoseNodeIsGoneIsMadeAnew) {
  const Pod first = member_of("j", 0, 2, 3);
  const std::string node = filtered(first);
  ASSERT_NE(node, "");
  desk_.lost(node);
  const std::string other = node == "a" ? "b" : "a";
  EXPECT_EQ(bind(first, node, 1).kind, Kind::kRefuse);
  EXPECT_EQ(filtered(first), other);
}

TEST_F(DeskTest, ANodeThatWasNotOfferedIsNominated) {
  const Pod first = member_of("j", 0, 1, 3);
  const std::string node = filtered(first);
  const std::string other = node == "a" ? "b" : "a";
  EXPECT_EQ(filtered(first, {other}), "");
  EXPECT_EQ(text_for(0), "the plan of its gang has another node for it");
  const auto effects = desk_.take_effects();
  ASSERT_EQ(effects.nominations.size(), 1U);
  EXPECT_EQ(effects.nominations[0].node, node);
}

TEST_F(DeskTest, MembersOfTwoSizesKnownBeforeArePlannedTogether) {
  const Pod large = member_of("j", 0, 3, 5);
  desk_.seen(large);
  EXPECT_EQ(filtered(member_of("j", 1, 3, 4)), "") << "one more of 4 would not fit";
  desk_.seen(member_of("j", 2, 3, 2));
  std::string nodes;
  for (const Pod& pod : {member_of("j", 1, 3, 4), large, member_of("j", 2, 3, 2)}) {
    const std::string node = filtered(pod);
    EXPECT_NE(node, "") << pod.uid << ": " << text_for(0);
    nodes += node;
  }
  EXPECT_EQ(desk_.fleet().promises(), 3U);
}

TEST_F(DeskTest, AGangIsCutIntoTaskGroupsWhichItsMembersAreToldWithTheBinding) {
  std::vector<Pod> pods;
  for (int i = 0; i < 4; ++i) {
    pods.push_back(member_of("j", i, 4, 3));
    pods.back().annotations["pinion.dev/task-groups"] = "2";
  }
  std::map<std::string, std::set<std::string>> nodes_of_group;
  for (const Pod& pod : pods) {
    const std::string node = filtered(pod);
    nodes_of_group[desk_.told_with_binding(pod.uid)["pinion.dev/task-group"]].insert(node);
  }
  using Nodes = std::map<std::string, std::set<std::string>>;
  EXPECT_TRUE((nodes_of_group == Nodes{{"j-0", {"a"}}, {"j-1", {"b"}}} ||
               nodes_of_group == Nodes{{"j-0", {"b"}}, {"j-1", {"a"}}}));
  EXPECT_EQ(desk_.gang_counters().planned, 1U) << "members that come later fit the plan";

  pods[0].annotations["pinion.dev/task-groups"] = "5";
  EXPECT_EQ(filtered(pods[0]), "");
  EXPECT_EQ(text_for(0), "annotation pinion.dev/task-groups: not a number from 1 to 4");
}

TEST_F(DeskTest, ABindingTellsTheAgentWhichCpusArePromised) {
  const Pod first = pod_of("first", 3);
  Pod second = pod_of("second", 2);
  second.containers.push_back({.name = "side", .milli_cpus = 1000, .memory = kGiB});
  EXPECT_TRUE(desk_.told_with_binding("first").empty());
  for (const Pod& pod : {first, second}) {
    filtered(pod);
    EXPECT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  }
  using Told = std::map<std::string, std::string>;
  EXPECT_EQ(desk_.told_with_binding("first"), (Told{{"pinion.dev/planned", "main=1-3"}}));
  EXPECT_EQ(desk_.told_with_binding("second"), (Told{{"pinion.dev/planned", "main=4-5 side=6"}}));
  // An extender that begins anew promises the same, in whatever order it hears of them.
  Desk anew{engine::Defaults(), {}};
  ASSERT_TRUE(anew.report(report_of("a", machine_), now_));
  for (Pod pod : {second, first}) {
    pod.annotations.merge(desk_.told_with_binding(pod.uid));
    pod.node = "a";
    EXPECT_TRUE(anew.seen(pod));
    EXPECT_EQ(anew.told_with_binding(pod.uid), desk_.told_with_binding(pod.uid));
  }
}

TEST_F(DeskTest, AfterAStartWhatIsBoundIsPromisedAgain) {
  Pod bound = pod_of("bound", 5);
  bound.node = "a";
  EXPECT_TRUE(desk_.seen(bound));
  Pod member = member_of("j", 0, 2, 3);
  member.node = "b";
  EXPECT_TRUE(desk_.seen(member));
  EXPECT_EQ(filtered(pod_of("single", 4)), "b");
  const Pod second = member_of("j", 1, 2, 3);
  EXPECT_EQ(bind(second, filtered(second), 1).kind, Kind::kGo) << "the other one is bound";
  Pod too_large = pod_of("too-large", 5);
  too_large.node = "a";
  EXPECT_FALSE(desk_.seen(too_large));
  now_ += 9000;
  desk_.tick(now_);
  EXPECT_EQ(filtered(pod_of("late", 7)), "") << "bound is bound, however long its image is pulled";
  desk_.gone("bound");
  EXPECT_EQ(filtered(pod_of("late", 7)), "a");
}

// Else a pod that comes first would leave half a gang running for as long as it lives.
TEST_F(DeskTest, AfterAStartAGangThatIsBoundInPartComesFirst) {
  Pod first = member_of("j", 0, 3, 4);
  first.node = "a";
  ASSERT_TRUE(desk_.seen(first));
  ASSERT_TRUE(desk_.seen(member_of("j", 1, 3, 2)));
  Pod alone = member_of("over", 0, 2, 3);  // the other member has ended
  alone.node = "a";
  ASSERT_TRUE(desk_.seen(alone));
  ASSERT_TRUE(desk_.seen(member_of("waits", 0, 2, 1)));  // nobody of it is bound
  desk_.complete_gangs(now_);
  EXPECT_EQ(filtered(pod_of("single", 4)), "") << "b has 3 left beside two members of 2";
  EXPECT_EQ(filtered(pod_of("other", 3)), "b");
  EXPECT_EQ(filtered(member_of("j", 1, 3, 2)), "b");
  EXPECT_EQ(bind(member_of("j", 1, 3, 2), "b", 1).kind, Kind::kHold);
  EXPECT_EQ(filtered(member_of("j", 2, 3, 2)), "b");
  EXPECT_EQ(bind(member_of("j", 2, 3, 2), "b", 2).kind, Kind::kGo);
  desk_.complete_gangs(now_);
  EXPECT_EQ(desk_.gang_counters().planned, 1U);
}

TEST_F(DeskTest, WhatIsBoundWhereNoAgentSpeaksYetIsPromisedWithTheFirstReport) {
  for (const char* name : {"first", "second", "gone"}) {
    Pod pod = pod_of(name, 3);
    pod.node = "late";
    EXPECT_TRUE(desk_.seen(pod));
  }
  desk_.gone("gone");
  report("late", {{"first/main", 3}});
  EXPECT_EQ(desk_.fleet().promises(), 1U) << "one runs, one is gone";
  EXPECT_EQ(filtered(pod_of("large", 2), {"late"}), "");
  EXPECT_EQ(filtered(pod_of("small", 1), {"late"}), "late");
  desk_.lost("late");
  report("late", {{"first/main", 3}});
  EXPECT_EQ(desk_.fleet().promises(), 1U) << "the node was away";
}

TEST_F(DeskTest, ABindingThatFailsWhileItsNodeIsAwayLeavesNothingThere) {
  const Pod pod = pod_of("p", 3);
  EXPECT_EQ(filtered(pod), "ab");
  EXPECT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  desk_.lost("a");
  desk_.bound("p", false, now_);
  desk_.gone("p");
  report("a", {});
  EXPECT_EQ(desk_.fleet().promises(), 0U);
  EXPECT_EQ(filtered(pod_of("large", 7)), "ab");
}

TEST_F(DeskTest, APodThatIsBoundElsewhereThanPromisedIsAtHomeThereAlone) {
  Pod pod = pod_of("p", 3);
  EXPECT_EQ(filtered(pod), "ab");
  EXPECT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  desk_.lost("a");
  pod.node = "b";
  EXPECT_TRUE(desk_.seen(pod));
  report("a", {});
  EXPECT_EQ(desk_.fleet().promises(), 1U);
  EXPECT_EQ(filtered(pod_of("large", 7)), "a");
}

// Pods of the PodGroup default/g.
class GroupTest : public DeskTest {
 protected:
  void SetUp() override {
    DeskTest::SetUp();
    desk_.serve_groups(true);
  }
  static Pod grouped(const std::string& uid, int cpus) {
    Pod pod = pod_of(uid, cpus);
    pod.group = "g";
    return pod;
  }
  static Pod launcher() {
    Pod pod = grouped("launcher", 1);
    pod.qos = engine::Qos::kBurstable;
    return pod;
  }
  // Bound as the only one that was missing.
  void expect_goes(const Pod& pod) {
    const std::string node = filtered(pod);
    ASSERT_EQ(node.size(), 1U) << pod.uid;
    EXPECT_EQ(bind(pod, node, ++tickets_).kind, Kind::kGo) << pod.uid;
    desk_.bound(pod.uid, true, now_);
  }
  void expect_held(const Pod& pod) {
    const std::string node = filtered(pod);
    ASSERT_EQ(node.size(), 1U) << pod.uid << ": " << text_for(0);
    EXPECT_EQ(bind(pod, node, ++tickets_).kind, Kind::kHold) << pod.uid;
  }
  void tell_all_bound() {
    for (const auto& answered : desk_.take_effects().answered) EXPECT_TRUE(answered.go);
    for (const auto& [uid, member] : desk_.gangs().at("podgroup:default/g").members) {
      desk_.bound(uid, true, now_);
    }
  }
  std::vector<std::string> woken() {
    std::vector<std::string> uids;
    for (const auto& pod : desk_.take_effects().wake) uids.push_back(pod.uid);
    return uids;
  }
  Ticket tickets_ = 0;
};

TEST_F(GroupTest, ItsPodsStartTogether) {
  desk_.group("default/g", 2);
  expect_held(grouped("p", 3));
  expect_goes(grouped("q", 3));
}

TEST_F(GroupTest, ThoseAboveItsSizeStartByThemselvesWhenItHasStarted) {
  desk_.group("default/g", 2);
  expect_held(grouped("p", 3));
  EXPECT_EQ(filtered(grouped("q", 3)).size(), 1U);
  EXPECT_EQ(filtered(grouped("extra", 4)), "");
  EXPECT_EQ(text_for(0), "its gang has all of its 2 members that start first");
  expect_goes(grouped("q", 3));
  tell_all_bound();
  now_ += 1000;
  desk_.tick(now_);
  EXPECT_EQ(woken(), std::vector<std::string>{"extra"});
  expect_goes(grouped("extra", 4));
  EXPECT_EQ(filtered(grouped("one more", 5)), "") << "no room, whatever the group says";
  expect_goes(grouped("small", 1));
}

TEST_F(GroupTest, AMemberThatComesBackNeedNotWaitForTheOthers) {
  desk_.group("default/g", 2);
  expect_held(grouped("p", 3));
  expect_goes(grouped("q", 3));
  tell_all_bound();
  desk_.gone("q");
  expect_goes(grouped("q2", 3));
}

TEST_F(GroupTest, APodWaitsUntilItsGroupExistsAndIsWokenThen) {
  EXPECT_EQ(filtered(grouped("p", 3)), "");
  EXPECT_EQ(text_for(0), "waits for its PodGroup g, which does not exist");
  EXPECT_TRUE(answer_.texts[0].hopeless);
  EXPECT_TRUE(desk_.preempt(grouped("p", 3), {{.node = "a", .victims = {"x"}}}).empty());
  EXPECT_EQ(desk_.waiting().size(), 1U);
  desk_.group("default/g", 1);
  EXPECT_EQ(woken(), std::vector<std::string>{"p"});
  expect_goes(grouped("p", 3));
}

TEST_F(GroupTest, WhereNobodyServesGroupsTheirLabelMeansNothing) {
  desk_.serve_groups(false);
  EXPECT_EQ(filtered(grouped("p", 3)), "ab");
}

TEST_F(GroupTest, WhoSaysItselfHowManyItsGangHasIsBelieved) {
  Pod pod = member_of("j", 0, 1, 2);
  pod.group = "g";
  expect_goes(pod);
}

TEST_F(GroupTest, NobodyWaitsForAMemberWithoutCores) {
  desk_.group("default/g", 3);
  expect_held(grouped("p", 3));
  EXPECT_EQ(filtered(launcher()), "ab");
  EXPECT_FALSE(answer_.ours);
  const auto effects = desk_.take_effects();
  ASSERT_EQ(effects.answered.size(), 1U);
  EXPECT_EQ(effects.answered[0].text, "the size of its gang has changed");
  expect_held(grouped("p", 3));
  expect_goes(grouped("q", 3));
  tell_all_bound();
  desk_.gone("launcher");
  desk_.gone("q");
  expect_goes(grouped("q2", 3));
}

TEST_F(GroupTest, ASmallerSizeLetsThoseWaitingGo) {
  desk_.group("default/g", 5);
  EXPECT_EQ(filtered(grouped("p", 7)), "");
  desk_.group("default/g", 2);
  now_ += 1000;
  desk_.tick(now_);
  EXPECT_EQ(woken(), std::vector<std::string>{"p"});
  expect_held(grouped("p", 7));
  expect_goes(grouped("q", 7));
}

TEST_F(GroupTest, WhoWasBoundBeforeTheGroupWasKnownCounts) {
  Pod bound = grouped("bound", 3);
  bound.node = "a";
  EXPECT_TRUE(desk_.seen(bound));
  Pod gone = grouped("gone", 3);
  gone.node = "b";
  EXPECT_TRUE(desk_.seen(gone));
  EXPECT_EQ(desk_.fleet().promises(), 2U);
  desk_.gone("gone");
  desk_.group("default/g", 2);
  EXPECT_EQ(desk_.fleet().promises(), 1U);
  expect_goes(grouped("p", 4));
}

TEST_F(DeskTest, AGangThatItsPodLeavesForgetsIt) {
  const Pod before = member_of("j", 0, 2, 3);
  EXPECT_EQ(filtered(before).size(), 1U);
  EXPECT_EQ(desk_.fleet().promises(), 2U);
  EXPECT_EQ(filtered(pod_of("j0", 3)), "ab") << "it is by itself now";
  EXPECT_EQ(desk_.fleet().promises(), 0U);
  EXPECT_TRUE(desk_.gangs().empty());
}

// The scheduler has given the question up, and it arrives all the same.
TEST_F(DeskTest, AQuestionThatIsLateLeavesNothing) {
  Pod single = pod_of("single", 7);
  EXPECT_EQ(filtered(single), "ab");
  single.node = "a";
  EXPECT_TRUE(desk_.seen(single));
  EXPECT_EQ(filtered(single, {"a"}), "");
  EXPECT_EQ(text_for(0), "the pod is bound already");
  EXPECT_TRUE(desk_.waiting().empty()) << "nobody needs to be woken";

  const Pod member = member_of("j", 0, 2, 3);
  EXPECT_EQ(filtered(member), "b");
  desk_.gone(member.uid);
  EXPECT_EQ(filtered(member), "");
  EXPECT_EQ(text_for(1), "the pod is no more");
  EXPECT_TRUE(desk_.gangs().empty());
  EXPECT_TRUE(desk_.waiting().empty());
  EXPECT_EQ(desk_.pods(), 1U);
  EXPECT_EQ(desk_.fleet().promises(), 1U);
}

TEST_F(DeskTest, WhoIsNeverToldOfIsForgotten) {
  const Pod member = member_of("j", 0, 2, 1);
  const Pod told = pod_of("told", 2);
  const Pod bound = pod_of("bound", 2);
  const Pod refused = pod_of("refused", 9);
  for (const Pod& pod : {member, told, bound, refused}) filtered(pod);
  EXPECT_TRUE(desk_.seen(told));
  EXPECT_EQ(bind(bound, "a", 1).kind, Kind::kGo);
  desk_.bound("bound", true, now_);
  now_ += 8999;
  desk_.tick(now_);
  EXPECT_EQ(desk_.pods(), 4U);
  EXPECT_EQ(filtered(refused), "");
  now_ += 1;
  desk_.tick(now_);
  EXPECT_EQ(desk_.pods(), 3U) << "the scheduler knows that the refused one is there";
  now_ += 9000;
  desk_.tick(now_);
  EXPECT_EQ(desk_.pods(), 2U) << "its agent may start the bound one at any moment";
  EXPECT_TRUE(desk_.gangs().empty());
  EXPECT_TRUE(desk_.waiting().empty());
  EXPECT_NE(filtered(member), "") << "it exists after all";
}

TEST(Recent, ForgetsTheOldest) {
  Recent recent(2);
  for (const char* name : {"a", "b", "a", "c"}) recent.add(name);
  EXPECT_FALSE(recent.contains("a"));
  EXPECT_TRUE(recent.contains("b"));
  EXPECT_TRUE(recent.contains("c"));
}

TEST_F(DeskTest, EvictionHelpsOnlyWhereItFreesEnough) {
  for (const char* node : {"a", "b"}) {
    report(node, {{std::string("small-") + node + "/main", 2},
                  {std::string("large-") + node + "/main", 4}});
  }
  const std::vector<Eviction> proposals{{.node = "a", .victims = {"small-a"}},
                                        {.node = "b", .victims = {"large-b"}}};
  const auto kept = desk_.preempt(pod_of("p", 4), proposals);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].node, "b");
  Pod other = pod_of("q", 4);
  other.qos = engine::Qos::kBurstable;
  EXPECT_EQ(desk_.preempt(other, proposals).size(), 2U);
}

TEST_F(DeskTest, ARefusedPodIsWokenMoreAndMoreSeldom) {
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
    desk_.tick(now_);
    woken += static_cast<int>(desk_.take_effects().wake.size());
  }
  EXPECT_GE(woken, 4);
  EXPECT_LE(woken, 9);
}

struct DemandCase {
  const char* name;
  Pod pod;
  Demand::Kind kind;
  const char* text;
};

TEST(Demand, OfAPod) {
  Pod burstable = pod_of("p", 2);
  burstable.qos = engine::Qos::kBurstable;
  Pod insists = burstable;
  insists.annotations["pinion.dev/cpus"] = "exclusive";
  Pod part = pod_of("p", 1);
  part.containers[0].milli_cpus = 1500;
  Pod no_limit = pod_of("p", 1);
  no_limit.containers[0].milli_cpus.reset();
  Pod two = member_of("j", 0, 2, 2);
  two.containers.push_back(two.containers[0]);
  two.containers[1].name = "other";
  Pod beside = member_of("j", 0, 2, 2);
  beside.containers.push_back({.name = "sidecar", .milli_cpus = 500, .memory = 0});
  const std::vector<DemandCase> cases{
      {"guaranteed, whole", pod_of("p", 2), Demand::Kind::kSingle, ""},
      {"burstable", burstable, Demand::Kind::kNone, ""},
      {"burstable, insists", insists, Demand::Kind::kRefused, "Guaranteed"},
      {"a part of a CPU", part, Demand::Kind::kNone, ""},
      {"no limit", no_limit, Demand::Kind::kNone, ""},
      {"opts out", pod_of("p", 2, {{"cpus", "shared"}}), Demand::Kind::kNone, ""},
      {"a job alone", pod_of("p", 2, {{"job", "j"}}), Demand::Kind::kSingle, ""},
      {"a member", member_of("j", 0, 2, 2), Demand::Kind::kMember, ""},
      {"a member with a sidecar", beside, Demand::Kind::kMember, ""},
      {"a member of two ranks", two, Demand::Kind::kRefused, "this one has 2"},
      {"a gang without a job", pod_of("p", 2, {{"gang-size", "2"}}), Demand::Kind::kRefused,
       "without pinion.dev/job"},
      {"no number", pod_of("p", 2, {{"job", "j"}, {"gang-size", "2x"}}), Demand::Kind::kRefused,
       "not a number from 1 to 10000"},
      {"none", member_of("j", 0, 0, 2), Demand::Kind::kRefused, "not a number"},
      {"negative", member_of("j", 0, -3, 2), Demand::Kind::kRefused, "not a number"},
      {"too many", member_of("j", 0, 10'001, 2), Demand::Kind::kRefused, "not a number"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const Demand demand = demand_of(test.pod, engine::Defaults());
    EXPECT_EQ(demand.kind, test.kind);
    EXPECT_NE(demand.text.find(test.text), std::string::npos) << demand.text;
    if (demand.kind == Demand::Kind::kMember) {
      EXPECT_EQ(demand.gang, "default/j");
      EXPECT_EQ(demand.size, 2);
    }
    if (demand.kind == Demand::Kind::kSingle) {
      EXPECT_EQ(demand.requests.at(0).id, "p/main");
      EXPECT_EQ(demand.requests[0].cpus, 2);
      EXPECT_EQ(demand.requests[0].memory, kGiB);
    }
  }
}

}  // namespace
}  // namespace pinion::extender
