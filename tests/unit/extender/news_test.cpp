// What the API server and the agents tell late, twice or never, and what is known after a start.
#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

class NewsTest : public PodSchedulerTest {
 protected:
  // The API server's answer to the binding is lost.
  void bind_without_answer(const Pod& pod, const std::string& node) {
    filtered(pod);
    EXPECT_EQ(bind(pod, node, 1).kind, Kind::kGo);
    pod_scheduler_.bound(pod.uid, true, now_);
  }
};

TEST_F(NewsTest, AfterAStartWhatIsBoundIsPromisedAgain) {
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

TEST_F(NewsTest, WhatIsBoundWhereNoAgentSpeaksYetIsPromisedWithTheFirstReport) {
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

TEST_F(NewsTest, ABindingThatFailsWhileItsNodeIsAwayLeavesNothingThere) {
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

TEST_F(NewsTest, APodThatIsBoundElsewhereThanPromisedIsAtHomeThereAlone) {
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

// The scheduler has given the question up, and it arrives all the same.
TEST_F(NewsTest, AQuestionThatIsLateLeavesNothing) {
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

TEST_F(NewsTest, WhoIsNeverToldOfIsForgotten) {
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

TEST_F(NewsTest, WhoIsBoundAndNeverToldOfIsForgottenWhenItsNodeComesBackWithoutIt) {
  bind_without_answer(pod_of("p", 3), "a");
  pod_scheduler_.lost("a", now_);
  report("a", {});
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U) << "its kubelet may start it yet";
  now_ += 9000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(pod_scheduler_.pods(), 0U);
}

TEST_F(NewsTest, WhoMayHaveBeenBoundToANodeThatIsLostIsPlacedAnewWhenItWasNot) {
  const Pod pod = pod_of("p", 3);
  pod_scheduler_.seen(pod, now_);
  bind_without_answer(pod, "a");
  pod_scheduler_.lost("a", now_);
  EXPECT_EQ(bind(pod, "b", 2).kind, Kind::kRefuse) << "it may be told of yet";
  now_ += 9000;
  pod_scheduler_.tick(now_);
  filtered(pod);
  EXPECT_EQ(bind(pod, "b", 3).kind, Kind::kGo);
}

TEST_F(NewsTest, ABindingThatIsMadeAgainAndRefusedMayHaveBeenMadeBefore) {
  const Pod pod = pod_of("p", 3);
  pod_scheduler_.seen(pod, now_);
  bind_without_answer(pod, "a");
  EXPECT_EQ(bind(pod, "a", 2).kind, Kind::kGo);
  pod_scheduler_.bound("p", false, now_);
  pod_scheduler_.lost("a", now_);
  report("a", {});
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U) << "its kubelet may start it yet";
  now_ += 9000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
}

// It ran while the watch was away, and is made anew under the same name.
TEST_F(NewsTest, AGangThatIsNeverToldOfLeavesItsName) {
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

TEST_F(NewsTest, AContainerThatIsStartedAgainKeepsItsRoom) {
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

TEST_F(NewsTest, APodThatIsAskedToEndKeepsItsCpusUntilItsAgentNamesIt) {
  Pod pod = pod_of("p", 5);
  ASSERT_EQ(bind(pod, filtered(pod).substr(0, 1), 1).kind, Kind::kGo);
  pod_scheduler_.bound("p", true, now_);
  pod.node = "a";
  pod.deleting = true;
  EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  EXPECT_EQ(filtered(pod_of("waits", 3)), "b") << "its kubelet may be about to start it";
  report("a", {});
  EXPECT_EQ(filtered(pod_of("waits", 3)), "b") << "that report may be older than the binding";
  report("a", {{"p/main", 5}});
  EXPECT_EQ(pod_scheduler_.pods(), 1U) << "who waits: its agent tells of the other one's end";
  EXPECT_EQ(filtered(pod_of("waits", 3)), "b");
  report("a", {});
  EXPECT_EQ(filtered(pod_of("waits", 3)), "ab");
}

TEST_F(NewsTest, APodWithoutRoomIsPromisedItWhenItIsFree) {
  report("a", {{"x/main", 5}});
  Pod pod = pod_of("p", 4);
  pod.node = "a";
  EXPECT_FALSE(pod_scheduler_.seen(pod, now_))
      << "its agent will refuse it, and the kubelet will try again";
  EXPECT_EQ(filtered(pod_of("q", 2)), "ab");
  report("a", {});
  EXPECT_EQ(filtered(pod_of("waits", 4)), "b");
}

TEST(Recent, ForgetsTheOldest) {
  Recent recent(2);
  for (const char* name : {"a", "b", "a", "c"}) recent.add(name);
  EXPECT_FALSE(recent.contains("a"));
  EXPECT_TRUE(recent.contains("b"));
  EXPECT_TRUE(recent.contains("c"));
}

}  // namespace
}  // namespace pinion::cluster
