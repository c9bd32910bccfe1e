// Pods whose gang a PodGroup says the size of.
#include "cluster/extender/scheduling/pod_groups.h"

#include <cstdint>
#include <limits>

#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

TEST(PodGroups, SizesAreFromOneOn) {
  struct Case {
    std::int64_t members;
    int size;         // without others
    int beside_five;  // with five pods that get no cores
  };
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  constexpr int most = 1'000'000;
  const Case cases[] = {
      {-huge, 1, 1}, {0, 1, 1}, {1, 1, 1},          {5, 5, 1},
      {6, 6, 1},     {7, 7, 2}, {5000, 5000, 4995}, {huge, most, most - 5},
  };
  for (const auto& test : cases) {
    PodGroups groups;
    EXPECT_EQ(groups.size("n/g"), std::nullopt);
    groups.set("n/g", test.members);
    EXPECT_EQ(groups.size("n/g"), test.size) << test.members;
    for (const char* uid : {"a", "b", "c", "d", "e"}) EXPECT_TRUE(groups.other("n/g", uid));
    EXPECT_EQ(groups.size("n/g"), test.beside_five) << test.members;
  }
}

TEST(PodGroups, OfTheTwoApisHaveNothingToDoWithEachOther) {
  const std::string sigs = group_key(PodGroupApi::kSigs, "n", "g");
  const std::string native = group_key(PodGroupApi::kNative, "n", "g");
  PodGroups groups;
  groups.serve(PodGroupApi::kNative, true);
  EXPECT_FALSE(groups.served(PodGroupApi::kSigs));
  EXPECT_TRUE(groups.served(PodGroupApi::kNative));
  groups.set(sigs, 2);
  EXPECT_EQ(groups.size(native), std::nullopt);
  groups.set(native, 3);
  groups.erase(sigs);
  EXPECT_EQ(groups.size(native), 3);
  groups.serve(PodGroupApi::kNative, false);
  EXPECT_FALSE(groups.served(PodGroupApi::kNative));
}

TEST(PodGroups, ThatAreNoGangHaveNoSize) {
  PodGroups groups;
  groups.set("n/g", std::nullopt);
  EXPECT_EQ(groups.size("n/g"), 0);
  EXPECT_TRUE(groups.other("n/g", "a"));
  EXPECT_EQ(groups.size("n/g"), 0);
}

// Pods of the PodGroup default/g.
class GroupTest : public PodSchedulerTest {
 protected:
  void SetUp() override {
    PodSchedulerTest::SetUp();
    pod_scheduler_.serve_groups(PodGroupApi::kSigs, true);
  }
  static Pod grouped(const std::string& uid, int cpus) {
    Pod pod = pod_of(uid, cpus);
    pod.group = "g";
    return pod;
  }
  static Pod launcher() {
    Pod pod = grouped("launcher", 1);
    pod.qos = policy::Qos::kBurstable;
    return pod;
  }
  void there(const std::vector<std::string>& uids, int cpus) {
    for (const auto& uid : uids) pod_scheduler_.seen(grouped(uid, cpus), now_);
  }
  // Bound as the only one that was missing.
  void expect_goes(const Pod& pod) {
    const std::string node = filtered(pod);
    ASSERT_EQ(node.size(), 1U) << pod.uid;
    EXPECT_EQ(bind(pod, node, ++call_ids_).kind, Kind::kGo) << pod.uid;
    pod_scheduler_.bound(pod.uid, true, now_);
  }
  void expect_held(const Pod& pod) {
    const std::string node = filtered(pod);
    ASSERT_EQ(node.size(), 1U) << pod.uid << ": " << text_for(0);
    EXPECT_EQ(bind(pod, node, ++call_ids_).kind, Kind::kHold) << pod.uid;
  }
  void tell_all_bound() {
    for (const auto& answered : pod_scheduler_.take_effects().answered) EXPECT_TRUE(answered.go);
    for (const auto& [uid, member] : pod_scheduler_.book().find("podgroup:default/g")->members) {
      pod_scheduler_.bound(uid, true, now_);
    }
  }
  std::vector<std::string> woken() {
    std::vector<std::string> uids;
    for (const auto& pod : pod_scheduler_.take_effects().wake) uids.push_back(pod.uid);
    return uids;
  }
  CallId call_ids_ = 0;
};

TEST_F(GroupTest, ItsPodsStartTogether) {
  pod_scheduler_.group("default/g", 2, now_);
  there({"p", "q"}, 3);
  expect_held(grouped("p", 3));
  expect_goes(grouped("q", 3));
}

TEST_F(GroupTest, ThoseAboveItsSizeStartByThemselvesWhenItHasStarted) {
  pod_scheduler_.group("default/g", 2, now_);
  there({"p", "q"}, 3);
  expect_held(grouped("p", 3));
  EXPECT_EQ(filtered(grouped("q", 3)).size(), 1U);
  EXPECT_EQ(filtered(grouped("extra", 4)), "");
  EXPECT_EQ(text_for(0), "its job has all of the 2 that start together");
  expect_goes(grouped("q", 3));
  tell_all_bound();
  now_ += 1000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(woken(), std::vector<std::string>{"extra"});
  expect_goes(grouped("extra", 4));
  EXPECT_EQ(filtered(grouped("one more", 5)), "") << "no room, whatever the group says";
  expect_goes(grouped("small", 1));
}

TEST_F(GroupTest, AMemberThatComesBackNeedNotWaitForTheOthers) {
  pod_scheduler_.group("default/g", 2, now_);
  there({"p", "q"}, 3);
  expect_held(grouped("p", 3));
  expect_goes(grouped("q", 3));
  tell_all_bound();
  pod_scheduler_.gone("q", now_);
  expect_goes(grouped("q2", 3));
}

TEST_F(GroupTest, APodWaitsUntilItsGroupExistsAndIsWokenThen) {
  EXPECT_EQ(filtered(grouped("p", 3)), "");
  EXPECT_EQ(text_for(0), "waits for its PodGroup g, which does not exist");
  EXPECT_TRUE(answer_.texts[0].hopeless);
  EXPECT_TRUE(
      pod_scheduler_.preempt(grouped("p", 3), {{.node = "a", .victims = {"x"}}}, now_).empty());
  EXPECT_EQ(pod_scheduler_.waiting().size(), 1U);
  EXPECT_EQ(pod_scheduler_.pods(), 1U) << "who waits is one of them";
  pod_scheduler_.group("default/g", 1, now_);
  EXPECT_EQ(woken(), std::vector<std::string>{"p"});
  expect_goes(grouped("p", 3));
}

TEST_F(GroupTest, WhoWaitsForItAndIsNeverToldOfIsForgotten) {
  EXPECT_EQ(filtered(grouped("untold", 3)), "");
  EXPECT_TRUE(pod_scheduler_.seen(grouped("told", 3), now_));
  EXPECT_EQ(filtered(grouped("told", 3)), "");
  EXPECT_EQ(pod_scheduler_.pods(), 2U);
  EXPECT_EQ(pod_scheduler_.waiting().size(), 2U);
  now_ += 8999;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.waiting().size(), 2U);
  now_ += 1;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.pods(), 1U);
  pod_scheduler_.group("default/g", 1, now_);
  EXPECT_EQ(woken(), std::vector<std::string>{"told"});
  expect_goes(grouped("told", 3));
}

// Whatever asks for such a pod, though the scheduler should not.
TEST_F(GroupTest, WhoWaitsForItIsNotBound) {
  EXPECT_EQ(filtered(grouped("p", 3)), "");
  EXPECT_EQ(pod_scheduler_.scores(grouped("p", 3), {"a", "b"}), (std::vector<int>{0, 0}));
  EXPECT_EQ(bind(grouped("p", 3), "a", 1).text, "waits for its PodGroup g, which does not exist");
  report("a", {});  // something may fit
  now_ += 1000;
  pod_scheduler_.tick(now_);
  EXPECT_TRUE(woken().empty()) << "only its group helps it";
}

// A gang keeps its places while its PodGroup is replaced.
TEST_F(GroupTest, AGroupThatGoesAndComesLosesNobody) {
  pod_scheduler_.group("default/g", 2, now_);
  there({"p", "q"}, 3);
  expect_held(grouped("p", 3));
  pod_scheduler_.group_gone("default/g");
  EXPECT_EQ(filtered(grouped("q", 3)), "");
  EXPECT_TRUE(pod_scheduler_.seen(grouped("p", 3), now_));
  pod_scheduler_.group("default/g", 2, now_);
  expect_goes(grouped("q", 3));
  EXPECT_EQ(pod_scheduler_.take_effects().answered.size(), 1U);
}

TEST_F(GroupTest, WhereNobodyServesGroupsTheirLabelMeansNothing) {
  pod_scheduler_.serve_groups(PodGroupApi::kSigs, false);
  EXPECT_EQ(filtered(grouped("p", 3)), "ab");
}

TEST_F(GroupTest, OneThatIsTooLargeToStartTogetherIsRefused) {
  pod_scheduler_.group("default/g", 1001, now_);
  EXPECT_EQ(filtered(grouped("p", 3)), "");
  EXPECT_EQ(answer_.why, "its PodGroup g wants 1001 pods to start together, more than 1000");
}

TEST_F(GroupTest, WhoSaysItselfHowManyItsGangHasIsBelieved) {
  Pod pod = member_of("j", 0, 1, 2);
  pod.group = "g";
  expect_goes(pod);
}

TEST_F(GroupTest, NobodyWaitsForAMemberWithoutCores) {
  pod_scheduler_.group("default/g", 3, now_);
  there({"p", "q", "r"}, 3);
  expect_held(grouped("p", 3));
  EXPECT_EQ(filtered(launcher()), "ab");
  EXPECT_FALSE(answer_.ours);
  EXPECT_TRUE(pod_scheduler_.seen(launcher(), now_));
  const auto effects = pod_scheduler_.take_effects();
  ASSERT_EQ(effects.answered.size(), 1U);
  EXPECT_EQ(effects.answered[0].text, "the job has changed");
  expect_held(grouped("p", 3));
  expect_goes(grouped("q", 3));
  tell_all_bound();
  pod_scheduler_.gone("r", now_);
  pod_scheduler_.gone("launcher", now_);
  pod_scheduler_.gone("q", now_);
  expect_goes(grouped("q2", 3));
}

// It came and went while the watch was away, and the group is made anew under the same name.
TEST_F(GroupTest, AMemberWithoutCoresThatIsNeverToldOfCountsForNobody) {
  pod_scheduler_.group("default/g", 2, now_);
  EXPECT_EQ(filtered(launcher()), "ab");
  pod_scheduler_.group_gone("default/g");
  pod_scheduler_.group("default/g", 2, now_);
  there({"p", "q"}, 3);
  expect_held(grouped("p", 3));
  expect_goes(grouped("q", 3));
}

TEST_F(GroupTest, ASmallerSizeLetsThoseWaitingGo) {
  pod_scheduler_.group("default/g", 5, now_);
  there({"p", "q"}, 7);
  EXPECT_EQ(filtered(grouped("p", 7)), "");
  pod_scheduler_.group("default/g", 2, now_);
  now_ += 1000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(woken(), std::vector<std::string>{"p"});
  expect_held(grouped("p", 7));
  expect_goes(grouped("q", 7));
}

TEST_F(GroupTest, WhoWasBoundBeforeTheGroupWasKnownCounts) {
  Pod bound = grouped("bound", 3);
  bound.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(bound, now_));
  Pod gone = grouped("gone", 3);
  gone.node = "b";
  EXPECT_TRUE(pod_scheduler_.seen(gone, now_));
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 2U);
  pod_scheduler_.gone("gone", now_);
  pod_scheduler_.group("default/g", 2, now_);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U);
  expect_goes(grouped("p", 4));
}

TEST_F(GroupTest, WhoIsBoundAndThenOfAnotherGroupIsOfThatOneAlone) {
  Pod bound = grouped("bound", 3);
  bound.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(bound, now_));
  bound.group = "h";
  EXPECT_TRUE(pod_scheduler_.seen(bound, now_));
  pod_scheduler_.group("default/g", 2, now_);
  EXPECT_EQ(pod_scheduler_.book().find("podgroup:default/g"), nullptr);
  pod_scheduler_.group("default/h", 2, now_);
  ASSERT_NE(pod_scheduler_.book().find("podgroup:default/h"), nullptr);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U);
}

TEST_F(GroupTest, WhoWasBoundAndThenOfAnotherGroupIsForgottenWithIt) {
  Pod bound = grouped("bound", 3);
  bound.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(bound, now_));
  bound.group = "h";
  EXPECT_TRUE(pod_scheduler_.seen(bound, now_));
  pod_scheduler_.gone("bound", now_);
  for (const char* key : {"default/g", "default/h"}) pod_scheduler_.group(key, 1, now_);
  EXPECT_TRUE(pod_scheduler_.gangs().empty());
}

// Its group has fewer pods now than the task groups that they are to be cut into.
TEST_F(GroupTest, WhoseGroupDoesNotSuitItAnyMoreIsNoMember) {
  pod_scheduler_.group("default/g", 3, now_);
  Pod pod = grouped("p", 3);
  pod.annotations["pinion.dev/task-groups"] = "2";
  pod.gang_gate = true;
  EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  EXPECT_EQ(pod_scheduler_.gangs().size(), 1U);
  pod_scheduler_.group("default/g", 1, now_);
  EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  EXPECT_TRUE(pod_scheduler_.gangs().empty());
  EXPECT_EQ(pod_scheduler_.pods(), 0U);
}

// Looked at together with others that wait.
TEST_F(GroupTest, AnAbsurdSizeIsOneThatIsTooLarge) {
  EXPECT_EQ(filtered(pod_of("large", 9)), "");
  pod_scheduler_.group("default/g", 2, now_);
  EXPECT_EQ(filtered(grouped("p", 3)), "");
  pod_scheduler_.group("default/g", std::numeric_limits<int>::max(), now_);
  woken();
  now_ += 1000;
  pod_scheduler_.tick(now_);
  EXPECT_TRUE(woken().empty());
  EXPECT_EQ(filtered(grouped("p", 3)), "");
  EXPECT_EQ(answer_.why, "its PodGroup g wants 1000000 pods to start together, more than 1000");
}

}  // namespace
}  // namespace pinion::cluster
