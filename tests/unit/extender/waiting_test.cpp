#include "cluster/extender/scheduling/waiting.h"

#include <gtest/gtest.h>

#include <set>

namespace pinion::cluster {
namespace {

PodRef pod(int number) {
  const std::string name = "pod-" + std::to_string(number);
  return {.name_space = "default", .name = name, .uid = name};
}

// More than one call of look() goes through.
class ManyWaiting : public testing::Test {
 protected:
  static constexpr int kPods = 200;

  ManyWaiting() {
    for (int i = 0; i < kPods; ++i) waiting_.add(pod(i), "needs more", {}, 0);
  }

  // The uids that are woken in calls at this moment, as many as it wants.
  std::set<std::string> look_at_all(std::int64_t now_ms) {
    std::vector<PodRef> wake;
    const auto fits = [](const std::string&) { return WaitingPods::Look{.fits = true}; };
    for (int calls = 0; calls < kPods && more_ms_ <= now_ms; ++calls) {
      more_ms_ = waiting_.look(now_ms, fits, wake);
    }
    std::set<std::string> uids;
    for (const PodRef& woken : wake) {
      EXPECT_TRUE(uids.insert(woken.uid).second) << woken.uid << " is woken twice";
    }
    return uids;
  }

  WaitingPods waiting_;
  std::int64_t more_ms_ = 0;  // there is more to look at
};

TEST_F(ManyWaiting, EachIsWokenOnceUntilItsPauseIsOver) {
  EXPECT_EQ(look_at_all(0).size(), kPods);
  EXPECT_EQ(more_ms_, kNeverDue);
  more_ms_ = 0;
  EXPECT_TRUE(look_at_all(999).empty());
  EXPECT_EQ(more_ms_, 1000) << "they are to be looked at when their pause is over";
  EXPECT_EQ(look_at_all(1000).size(), kPods);
}

TEST_F(ManyWaiting, WhoHasToWaitIsNotForgottenForThoseBehind) {
  EXPECT_EQ(look_at_all(0).size(), kPods);
  for (int i = 1; i < kPods; ++i) {
    waiting_.add(pod(i), "waits for its PodGroup", "default/group", 0);
  }
  more_ms_ = 0;
  EXPECT_TRUE(look_at_all(500).empty());
  EXPECT_EQ(more_ms_, 1000);
}

TEST_F(ManyWaiting, WhoWaitsForAGroupIsWokenWithIt) {
  waiting_.add(pod(7), "waits for its PodGroup", "default/group", 0);
  EXPECT_EQ(look_at_all(0).count("pod-7"), 0U);
  ASSERT_EQ(waiting_.of_group("default/group").size(), 1U);
  EXPECT_EQ(waiting_.of_group("default/group").front().uid, "pod-7");
}

}  // namespace
}  // namespace pinion::cluster
