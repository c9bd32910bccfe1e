// Random pods and gangs that come and go, checked against the agents' ledgers: nobody ever lands
// where his agent refuses him, no gang ever runs in part, and nothing is left in the end.
// $PINION_E2E_PODS: how many; $PINION_E2E_CROWD: jobs there at a time; $PINION_E2E_SEED.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "tests/e2e/scene.h"

namespace pinion::e2e {
namespace {

int number_from(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr ? std::atoi(value) : otherwise;
}

class Churn : public Scene {
 protected:
  int roll(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  // A pod alone is a gang of one. Six nodes without anybody else have room for each of these.
  Gang some_gang(int cpus) {
    const std::string job = "job-" + std::to_string(next_++);
    const int size = roll(2) == 0 ? 1 : 2 + roll(5);
    return {.job = job, .size = size, .cpus = cpus, .groups = 1 + roll(std::min(size, 3))};
  }
  void begin(const Gang& gang) {
    for (int i = 0; i < gang.size; ++i) {
      PodShape pod = member(gang, i);
      if (gang.size == 1) pod.annotations.erase("pinion.dev/gang-size");
      add(pod);
    }
    all_.push_back(gang);
    created_ += gang.size;
  }
  void end(std::size_t index) {
    remove(names(all_[index]));
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  enum class Standing { kNone, kPart, kWhole };
  Standing standing(const Gang& gang, const std::map<std::string, FakeNodes::Held>& held) {
    int some = 0;
    for (const std::string& name : names(gang)) some += held.contains(name) ? 1 : 0;
    if (some == 0) return Standing::kNone;
    return some == gang.size ? Standing::kWhole : Standing::kPart;
  }
  // Gangs that run in part get whole, without any more ado.
  testing::AssertionResult no_gang_in_part() {
    std::string part;
    const bool done = nodes().wait([&] {
      const auto held = nodes().held();
      for (const Gang& gang : all_) {
        part = gang.job;
        if (standing(gang, held) == Standing::kPart) return false;
      }
      return true;
    });
    if (done) return testing::AssertionSuccess();
    return testing::AssertionFailure() << part << " runs in part";
  }
  // How many run whole.
  std::size_t whole() {
    const auto held = nodes().held();
    return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [&](const Gang& gang) {
      return standing(gang, held) == Standing::kWhole;
    }));
  }

  // `cpus()`: of each member of the next gang.
  void play(const std::function<int()>& cpus) {
    start(6);
    const int wanted = number_from("PINION_E2E_PODS", 1000);
    const auto crowd = static_cast<std::size_t>(number_from("PINION_E2E_CROWD", 30));
    std::size_t ran = 0;
    while (created_ < wanted) {
      begin(some_gang(cpus()));
      if (all_.size() > crowd) {
        // Half of those that end may never have run.
        const bool patient = roll(2) == 0;
        ASSERT_TRUE(!patient || nodes().wait([&] { return whole() > 0; }));
        end(static_cast<std::size_t>(roll(static_cast<int>(all_.size()))));
      }
      ASSERT_TRUE(nodes().bounced().empty()) << nodes().bounced().front().text;
      ran = std::max(ran, whole());
    }
    EXPECT_GT(ran, 3U);
    finish();
    EXPECT_TRUE(nodes().wait([&] { return nodes().held().empty(); }));
  }

 private:
  // Those that run end, and those that wait come after them, until all have run.
  void finish() {
    while (!all_.empty()) {
      ASSERT_TRUE(nodes().wait([&] { return whole() > 0; })) << all_.size() << " wait";
      ASSERT_TRUE(no_gang_in_part());
      const auto held = nodes().held();
      for (std::size_t i = all_.size(); i-- > 0;) {
        if (standing(all_[i], held) == Standing::kWhole) end(i);
      }
    }
  }

  std::mt19937 random_{static_cast<unsigned>(number_from("PINION_E2E_SEED", 1))};
  int next_ = 0;
  int created_ = 0;
  std::vector<Gang> all_;  // that were begun and not ended
};

TEST_F(Churn, OfEqualPodsNobodyBounces) {
  play([] { return 5; });
}

// In whatever order an agent sees them: each is told its CPUs with the binding.
TEST_F(Churn, OfDifferentPodsNobodyBounces) {
  play([this] { return 1 + roll(roll(3) == 0 ? 14 : 6); });
}

}  // namespace
}  // namespace pinion::e2e
