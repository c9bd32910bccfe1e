// Random pods and gangs that come and go, checked against the agents' ledgers: nobody ever lands
// where his agent refuses him, no gang ever runs in part, and nothing is left in the end.
#include <gtest/gtest.h>

#include "tests/e2e/crowd.h"

namespace pinion::e2e {
namespace {

class Churn : public Crowd {
 protected:
  void play(const std::function<int()>& cpus) {
    start(6);
    come_and_go(number_from("PINION_E2E_PODS", 1000), number_from("PINION_E2E_CROWD", 30), cpus);
    if (HasFatalFailure()) return;
    EXPECT_GT(most_whole(), 3U);
    finish();
  }
};

TEST_F(Churn, OfEqualPodsNobodyBounces) {
  play([] { return 5; });
}

// In whatever order an agent sees them: each is told its CPUs with the binding.
TEST_F(Churn, OfDifferentPodsNobodyBounces) {
  play([this] { return 1 + roll(roll(3) == 0 ? 14 : 6); });
}

// Pods of many gangs exist in part, and now and then nobody knows them: the extender is killed,
// while gangs are bound, too.
class KilledChurn : public Crowd {
 protected:
  void disturb() override {
    if (roll(12) != 0) return;
    extender().kill();
    ASSERT_TRUE(ok(extender().restart(false)));
    ++kills_;
  }

  int kills_ = 0;
};

TEST_F(KilledChurn, UnderAQuotaNoGangRunsInPart) {
  start(6);
  ASSERT_NO_FATAL_FAILURE(limit(40));
  come_and_go(number_from("PINION_E2E_PODS", 250), number_from("PINION_E2E_CROWD", 30),
              [this] { return 1 + roll(roll(3) == 0 ? 14 : 6); });
  if (HasFatalFailure()) return;
  ASSERT_TRUE(extender().wait_ready());
  finish();
  EXPECT_GT(kills_, 1);
  EXPECT_GT(refused_by_quota(), 20);
}

}  // namespace
}  // namespace pinion::e2e
