// Pods that come to a gang when it has started: they replace others, or the job has grown.
#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

class LateMembersTest : public PodSchedulerTest {
 protected:
  void expect_goes(const Pod& pod) {
    const std::string node = filtered(pod);
    ASSERT_EQ(node.size(), 1U) << pod.uid << ": " << text_for(0);
    EXPECT_EQ(bind(pod, node, ++call_ids_).kind, Kind::kGo) << pod.uid;
    pod_scheduler_.bound(pod.uid, true, now_);
  }
  // Three of one CPU have started.
  void start() {
    exist("j", 3, 1);
    for (int i = 0; i < 2; ++i) {
      const Pod pod = member_of("j", i, 3, 1);
      EXPECT_EQ(bind(pod, filtered(pod), ++call_ids_).kind, Kind::kHold);
    }
    expect_goes(member_of("j", 2, 3, 1));
    for (int i = 0; i < 2; ++i) pod_scheduler_.bound("j" + std::to_string(i), true, now_);
  }

  CallId call_ids_ = 0;
};

// An Indexed Job: index 0 has succeeded and has no pod any more, index 1 failed.
TEST_F(LateMembersTest, WhoReplacesOneThatFailedDoesNotWaitForOneThatHasEnded) {
  start();
  pod_scheduler_.gone("j0", now_);
  pod_scheduler_.gone("j1", now_);
  expect_goes(member_of("j", 3, 3, 1));
  EXPECT_EQ(pod_scheduler_.gang_counters().whole, 1U);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 2U) << "and none for one that never comes";
}

TEST_F(LateMembersTest, AJobThatGrowsGetsMore) {
  start();
  expect_goes(member_of("j", 3, 3, 1));
  expect_goes(member_of("j", 4, 5, 1));
}

TEST_F(LateMembersTest, AJobThatComesAgainStartsTogether) {
  start();
  for (int i = 0; i < 3; ++i) pod_scheduler_.gone("j" + std::to_string(i), now_);
  exist("j", 3, 1, 3);
  const Pod pod = member_of("j", 3, 3, 1);
  EXPECT_EQ(bind(pod, filtered(pod), ++call_ids_).kind, Kind::kHold);
}

struct RestartCase {
  const char* name;
  bool by_us;  // the bound member's annotations tell what was planned for it
  BindAnswer::Kind answer;
};

TEST_F(LateMembersTest, AfterAStartOfTheExtenderABoundMemberTellsThatItsGangHadStarted) {
  for (const auto& test : {RestartCase{"by us", true, Kind::kGo},
                           RestartCase{"by somebody else", false, Kind::kHold}}) {
    SCOPED_TRACE(test.name);
    PodScheduler scheduler(policy::Defaults(), {});
    for (const char* node : {"a", "b"}) ASSERT_TRUE(scheduler.report(report_of(node, machine_), 0));
    Pod bound = member_of("j", 0, 3, 1);
    bound.node = "a";
    if (test.by_us) bound.annotations["pinion.dev/planned"] = "main=1";
    EXPECT_TRUE(scheduler.seen(bound, now_));
    scheduler.seen(member_of("j", 4, 3, 1), now_);
    const Pod late = member_of("j", 3, 3, 1);
    const auto answer = scheduler.filter(late, {"a", "b"}, now_);
    const std::string node = answer.verdict.at(0) == 0 ? "a" : "b";
    EXPECT_EQ(scheduler.bind(late.uid, node, 1, now_).kind, test.answer);
  }
}

}  // namespace
}  // namespace pinion::cluster
