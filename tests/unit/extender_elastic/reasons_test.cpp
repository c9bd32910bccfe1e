// What users are told: why a step was taken, and why a job waits.
#include "cluster/extender/elastic/reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/extender_elastic/play_cluster.h"

namespace pinion::cluster::elastic {
namespace {

using test_support::JobShape;
using testing::HasSubstr;

std::map<std::string, std::string> needing(int least, int most, int priority = 0) {
  return {{annotation::kMinWorkers, std::to_string(least)},
          {annotation::kMaxWorkers, std::to_string(most)},
          {annotation::kPriority, std::to_string(priority)}};
}

// Low has 6 workers and may go down to 2, or has just been changed; 8 CPUs of 32 are free.
class Reasons : public testing::Test {
 protected:
  Reasons() {
    cluster_.add({.name = "low", .workers = 6, .annotations = needing(2, 6)});
    cluster_.settle("low");
  }
  void waits(int least, int priority) {
    cluster_.add(
        {.name = "next", .suspended = true, .annotations = needing(least, least, priority)});
  }
  std::string why() {
    cluster_.step();
    return cluster_.why("next");
  }

  Cluster cluster_{32};
};

TEST_F(Reasons, OfAStartAndAnExpandAreTheFreeCpusOrItsUsersWish) {
  waits(2, 0);
  EXPECT_EQ(cluster_.step().at(0).why, "from 0 to 2 workers, as 8 CPUs are free");
  EXPECT_EQ(cluster_.why("next"), "");
  cluster_.remove("next");
  cluster_.at("low")["metadata"]["annotations"][annotation::kMaxWorkers] = "8";
  cluster_.annotate("low", annotation::kRequestedWorkers, "7");
  EXPECT_EQ(cluster_.step().at(0).why,
            "from 6 to 7 workers, as its user wishes, and 8 CPUs are free");
}

TEST_F(Reasons, OfWaitingNameWhatIsFreeAndWhatOthersMayGive) {
  waits(7, 5);
  EXPECT_EQ(why(), "needs 28 CPUs, 8 CPUs are free; others may give 16 CPUs for it");
  cluster_.annotate("low", annotation::kRescaledAt, std::to_string(cluster_.now_ms()));
  EXPECT_EQ(why(),
            "needs 28 CPUs, 8 CPUs are free; others may give 0 CPUs for it, and 16 CPUs when they "
            "may change again");
  cluster_.annotate("low", annotation::kPriority, "9");
  EXPECT_EQ(why(), "needs 28 CPUs, 8 CPUs are free; no other job may shrink for it");
}

TEST_F(Reasons, OfWaitingForAShrinkIsTheShrink) {
  waits(4, 5);
  EXPECT_EQ(why(), "starts with 4 workers when its 16 CPUs are free, 8 CPUs are free");
}

TEST_F(Reasons, OfOneThatCouldNeverStart) {
  waits(9, 5);
  EXPECT_EQ(why(), "needs 36 CPUs, and only 32 CPUs are there");
}

TEST_F(Reasons, OfOneWhoseStartHasFailed) {
  waits(2, 5);
  cluster_.step();
  cluster_.make_pods("next");
  cluster_.wait(ControllerLimits().ready_ms);
  cluster_.step();
  cluster_.make_pods("next");
  EXPECT_THAT(why(), testing::MatchesRegex("not tried before 2026-11-24T15:05:00Z: its new workers "
                                           "were not ready in time, it goes back from 2 to 0 "
                                           "workers"));
}

TEST(ReasonsOfOurs, NameWhoGoesFirst) {
  ElasticWait wait{.job = 2, .why = ElasticWait::Why::kKeptForOther, .free = 4, .for_job = 1};
  EXPECT_EQ(why_it_waits(wait, 8, "old"),
            "4 CPUs are free and kept for old, which has waited for too long");
  wait.why = ElasticWait::Why::kNotWorthIt;
  EXPECT_EQ(why_it_waits(wait, 8, ""),
            "needs 8 CPUs, 4 CPUs are free; shrinking others would cost more than it gains");
  wait.wished = 1;
  EXPECT_THAT(why_it_waits(wait, 8, ""), testing::EndsWith("gains; 1 CPU is held by wishes"));
}

TEST(ReasonsOfCharm, SayThatAProgramMayStillAct) {
  Cluster cluster(32);
  auto annotations = needing(2, 8);
  annotations[annotation::kAcknowledge] = "ccs:1234";
  annotations[annotation::kRescaleSent] = "16 32 1 uid/0";
  cluster.add({.workers = 4, .annotations = annotations});
  cluster.settle("wave");
  cluster.step();
  EXPECT_EQ(cluster.why("wave"),
            "its application may still act on what it was sent, to run with 32 PEs");
  for (const auto& [name, number] :
       {std::pair{annotation::kWantedWorkers, "4"}, std::pair{annotation::kPreviousWorkers, "2"}}) {
    cluster.annotate("wave", name, number);
  }
  cluster.annotate("wave", annotation::kRescaledAt, std::to_string(cluster.now_ms()));
  cluster.step();
  EXPECT_EQ(cluster.why("wave"), "") << "its time is not up";
  cluster.wait(600'000);
  cluster.step();
  EXPECT_THAT(cluster.why("wave"), HasSubstr("; its new workers stay until then"));
}

}  // namespace
}  // namespace pinion::cluster::elastic
