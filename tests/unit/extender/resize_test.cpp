// A gang whose owner wants another number of members than its pods' template said.
#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

class ResizeTest : public PodSchedulerTest {
 protected:
  static constexpr const char* kGang = "default/j";

  std::vector<std::string> woken() {
    std::vector<std::string> uids;
    for (const PodRef& pod : pod_scheduler_.take_effects().wake) uids.push_back(pod.uid);
    return uids;
  }
  // The pods that pass, in their order, of those that the template says are four.
  std::string pass(int pods) {
    std::string passed;
    for (int i = 0; i < pods; ++i) {
      if (!filtered(member_of("j", i, 4, 1)).empty()) passed += std::to_string(i);
    }
    return passed;
  }
};

// Suspended, patched and resumed: two pods come, with a template that says four.
TEST_F(ResizeTest, FewerThanTheirTemplateSaysStart) {
  for (int i = 0; i < 2; ++i) pod_scheduler_.seen(member_of("j", i, 4, 1), now_);
  EXPECT_EQ(pass(2), "");
  pod_scheduler_.resize(kGang, 2, now_);
  EXPECT_EQ(woken(), (std::vector<std::string>{"j0", "j1"}));
  EXPECT_EQ(pass(2), "01");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 2U);
}

TEST_F(ResizeTest, MoreThanTheirTemplateSaysWaitForTheLast) {
  for (int i = 0; i < 4; ++i) pod_scheduler_.seen(member_of("j", i, 4, 1), now_);
  pod_scheduler_.resize(kGang, 5, now_);
  EXPECT_EQ(pass(4), "");
  pod_scheduler_.seen(member_of("j", 4, 4, 1), now_);
  EXPECT_EQ(pass(5), "01234");
}

// What is held for those that do not come any more is held no longer.
TEST_F(ResizeTest, AWaitingPlanIsMadeAnew) {
  for (int i = 0; i < 4; ++i) pod_scheduler_.seen(member_of("j", i, 4, 1), now_);
  const Pod first = member_of("j", 0, 4, 1);
  EXPECT_EQ(bind(first, filtered(first), 7).kind, Kind::kHold);
  for (int i = 1; i < 4; ++i) pod_scheduler_.gone("j" + std::to_string(i), now_);
  pod_scheduler_.resize(kGang, 1, now_);
  const auto answered = pod_scheduler_.take_effects().answered;
  ASSERT_EQ(answered.size(), 1U);
  EXPECT_FALSE(answered.at(0).go);
  EXPECT_EQ(bind(first, filtered(first), 8).kind, Kind::kGo);
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U);
}

// Not its owner's number, but what one of its pods asks for.
TEST_F(ResizeTest, APlanIsMadeAnewForWhatAMemberAsksForNow) {
  for (int i = 0; i < 2; ++i) pod_scheduler_.seen(member_of("j", i, 2, 3), now_);
  const Pod first = member_of("j", 0, 2, 3);
  ASSERT_EQ(bind(first, filtered(first), 7).kind, Kind::kHold);
  const Pod larger = member_of("j", 1, 2, 7);
  pod_scheduler_.seen(larger, now_);
  const auto answered = pod_scheduler_.take_effects().answered;
  ASSERT_EQ(answered.size(), 1U);
  EXPECT_FALSE(answered.at(0).go) << "the two no longer fit where they were planned";
  const std::string one = filtered(first);
  const std::string other = filtered(larger);
  EXPECT_EQ(bind(first, one, 8).kind, Kind::kHold);
  EXPECT_EQ(bind(larger, other, 9).kind, Kind::kGo);
  EXPECT_NE(one, other);
  EXPECT_EQ(pod_scheduler_.told_with_binding("j1")["pinion.dev/planned"], "main=1-7");
}

TEST_F(ResizeTest, IsForgottenWithTheLastPod) {
  pod_scheduler_.seen(member_of("j", 0, 4, 1), now_);
  pod_scheduler_.resize(kGang, 1, now_);
  pod_scheduler_.gone("j0", now_);
  pod_scheduler_.seen(member_of("j", 1, 4, 1), now_);
  EXPECT_EQ(filtered(member_of("j", 1, 4, 1)), "");
}

struct Unheeded {
  const char* name;
  const char* gang;
  int members;
};

class UnheededResize : public ResizeTest, public testing::WithParamInterface<Unheeded> {};

TEST_P(UnheededResize, ChangesNothing) {
  for (int i = 0; i < 4; ++i) pod_scheduler_.seen(member_of("j", i, 4, 1), now_);
  pod_scheduler_.resize(GetParam().gang, GetParam().members, now_);
  EXPECT_EQ(pass(4), "0123");
}

INSTANTIATE_TEST_SUITE_P(All, UnheededResize,
                         testing::Values(Unheeded{"as_it_is", "default/j", 4},
                                         Unheeded{"none", "default/j", 0},
                                         Unheeded{"too_many", "default/j", kMaxGang + 1},
                                         Unheeded{"another_gang", "default/k", 9}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pinion::cluster
