// Random pods and gangs that come and go on real agents: nobody ever lands where his agent refuses
// him, everybody has the cores planned for him, no gang ever runs in part, and nothing is left in
// the end.
#include <gtest/gtest.h>

#include <iostream>
#include <optional>

#include "tests/e2e/crowd.h"
#include "tests/e2e/ok.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

constexpr int kNodes = 6;
constexpr int kFitsOnePerCore = 6000;  // in one NUMA node, of 8 cores

class Churn : public Crowd {
 protected:
  void play(int pods, const std::function<int()>& cpus) {
    // As NodeAgent tells the agents.
    const std::string config = cluster().folder() + "/agents.yaml";
    ASSERT_TRUE(ok(lab::write_file(config, "allowedPrivileges: one-per-core\n")));
    start(kNodes, {}, {"--agent-config", config});
    if (HasFatalFailure()) return;
    go_on(pods, cpus);
    EXPECT_GT(most_whole(), 3U);
  }
  void go_on(int pods, const std::function<int()>& cpus) {
    come_and_go(number_from("PINION_E2E_PODS", pods), number_from("PINION_E2E_CROWD", 30), cpus);
    if (!HasFatalFailure()) restore();
    EXPECT_EQ(agents().difference(), "");  // with all that runs now, also on shared CPUs
    if (!HasFatalFailure()) finish();
    EXPECT_GT(agents().compared(), 30);  // finish() alone runs as many
    std::cout << "seed " << seed() << ": " << begun() << " pods, " << kills_ << " kills, "
              << agents().compared() << " answers compared, " << agents().wrong().size()
              << " otherwise than planned\n";
  }

  // After what disturb() has done.
  virtual void restore() {}

  int some_cpus() { return 1 + roll(roll(3) == 0 ? 14 : 6); }

  // For disturb(): whether it is time, `most` gangs after it was the last time at the latest, so
  // that no seed plays without any kill.
  bool is_time(int most) {
    if (left_ == 0) left_ = 1 + roll(most);
    return --left_ == 0;
  }

  int kills_ = 0;

 private:
  int left_ = 0;  // gangs until it is time; 0: to be drawn
};

TEST_F(Churn, OfEqualPodsNobodyBounces) {
  play(1000, [] { return 5; });
}

// In whatever order an agent sees them: each is told its CPUs with the binding.
class MixedChurn : public Churn {
 protected:
  // Some insist on one NUMA node or want cores without their siblings; some have containers before
  // and beside the main one, with cores of their own and without.
  void dress(PodShape& pod) override {
    if (pod.milli_cpus <= kFitsOnePerCore) {
      if (roll(6) == 0) pod.annotations["pinion.dev/strength"] = "required";
      if (roll(8) == 0) {
        pod.annotations["pinion.dev/smt"] = "one-per-core";
        return;
      }
    }
    switch (roll(12)) {
      case 0:
        pod.sides = {1000 * (1 + roll(3))};
        break;
      case 1:
        pod.sides = {500};
        break;
      case 2:
        pod.sides = {1000, 500, 1000};
        break;
      case 3:
        pod.sides = {500, 500};
        break;
      case 4:
        pod.inits = {1000 * (1 + roll(8)), 500};
        break;
      case 5:
        pod.inits = {1000 * (1 + roll(8))};
        pod.sides = {1000 * (1 + roll(3)), 500};
        break;
      case 6:
        pod.sidecars = {1000};
        pod.inits = {1000 * (1 + roll(3))};
        break;
      case 7:
        pod.sidecars = {500};
        break;
      default:
        break;
    }
  }
};

TEST_F(MixedChurn, OfDifferentPodsNobodyBounces) {
  play(1000, [this] { return some_cpus(); });
}

// Pods of many gangs exist in part, and now and then nobody knows them: the extender is killed,
// while gangs are bound, too.
class KilledChurn : public Churn {
 protected:
  void disturb() override {
    if (!is_time(16)) return;
    extender().kill();
    ASSERT_TRUE(ok(extender().restart(false)));
    ++kills_;
  }
  void restore() override { ASSERT_TRUE(extender().wait_ready()); }
  // The quota counts those that are about to end.
  void take_away(const std::vector<std::string>& names) override { remove(names); }
};

TEST_F(KilledChurn, UnderAQuotaNoGangRunsInPart) {
  start(kNodes);
  if (HasFatalFailure()) return;
  ASSERT_NO_FATAL_FAILURE(limit(40));
  go_on(250, [this] { return some_cpus(); });
  EXPECT_GT(kills_, 1);
  EXPECT_GT(refused_by_quota(), 20);
}

// One agent after the other is killed, and pods come and go while there is none on their node.
class AgentsKilledChurn : public MixedChurn {
 protected:
  void disturb() override {
    if (!is_time(down_ ? 5 : 11)) return;
    if (down_) {
      restore();
      return;
    }
    down_ = "node-" + std::to_string(roll(kNodes));
    agents().kill_agent(*down_);
    ++kills_;
  }
  void restore() override {
    if (!down_) return;
    ASSERT_TRUE(ok(agents().restart_agent(*down_)));
    down_.reset();
  }

  std::optional<std::string> down_;
};

TEST_F(AgentsKilledChurn, EverybodyIsWherePlannedInTheEnd) {
  play(300, [this] { return some_cpus(); });
  EXPECT_GT(kills_, 1);
}

}  // namespace
}  // namespace pinion::e2e
