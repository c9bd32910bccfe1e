#include "agent/noise_thread.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "tests/support/machine.h"
#include "tests/support/tree.h"

namespace pinion::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::hours kNever{1};

class NoiseThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(test_support::write_tree(R"(
sys/devices/system/cpu/online = 0-3
proc/irq/default_smp_affinity = f
proc/irq/24/smp_affinity_list = 0-3
)",
                                         dir_.path()));
  }
  [[nodiscard]] noise::KernelNoise noise() const {
    const std::string root = dir_.path().string();
    return noise::KernelNoise({.roots = {.proc = root + "/proc", .sys = root + "/sys"},
                               .saved_file = root + "/saved",
                               .kinds = {noise::Kind::kIrq}});
  }
  [[nodiscard]] std::string affinity() const {
    std::ifstream file(dir_.path() / "proc/irq/24/smp_affinity_list");
    std::string line;
    std::getline(file, line);
    return line;
  }
  void set_affinity(const char* list) const {
    std::ofstream(dir_.path() / "proc/irq/24/smp_affinity_list") << list;
  }
  // One rank on these CPUs, or none where they are empty.
  void show(const topology::CpuSet& rank, bool synchronized = true) {
    auto view = std::make_shared<NodeView>();
    view->synchronized = synchronized;
    view->topology =
        std::make_shared<const topology::Topology>(test_support::machine({.cores_per_l3 = 4}));
    topology::Claim claim;
    claim.id = "rank";
    claim.cpus = rank;
    if (!rank.empty()) view->ledger.commit(std::move(claim));
    views_.publish(std::move(view));
  }
  // The figures as soon as they are so; the caller's limit is ctest's.
  void wait_for(const std::function<bool(const noise::Figures&)>& holds) {
    std::promise<void> reached;
    bool done = false;
    const auto check = [&] {
      const auto now = figures_.get();
      if (!done && now && holds(*now)) {
        done = true;
        reached.set_value();
      }
    };
    std::mutex mutex;
    const auto subscription = figures_.subscribe([&] {
      const std::lock_guard lock(mutex);
      check();
    });
    {
      const std::lock_guard lock(mutex);
      check();
    }
    reached.get_future().wait();
  }
  void wait_for_moved(std::uint64_t irqs) {
    wait_for([irqs](const noise::Figures& now) { return now.irqs_moved == irqs; });
  }

  test_support::TempDir dir_;
  Log log_{"error", LogFormat::kText};
  Published<NodeView> views_;
  Published<noise::Figures> figures_;
};

TEST_F(NoiseThreadTest, FollowsTheViews) {
  auto noise = this->noise();
  const NoiseThread thread(noise, views_, figures_, log_, kNever);
  show({1});
  wait_for_moved(1);
  EXPECT_EQ(affinity(), "0,2-3");
  show({});
  wait_for_moved(0);
  EXPECT_EQ(affinity(), "0-3");
}

TEST_F(NoiseThreadTest, SaysHowManyInterruptsWereMovedAndHowManyTheKernelKeeps) {
  testing::internal::CaptureStderr();
  {
    Log log("info", LogFormat::kText);
    auto noise = this->noise();
    const NoiseThread thread(noise, views_, figures_, log, kNever);
    show({1});
    wait_for_moved(1);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("irqs_moved=1 irqs_kept_by_kernel=0 kept_irqs="), std::string::npos) << said;
}

TEST_F(NoiseThreadTest, ARankGoneAtTheLastMomentLeavesNothingBehind) {
  auto noise = this->noise();
  {
    const NoiseThread thread(noise, views_, figures_, log_, kNever);
    show({1});
    wait_for_moved(1);
    show({});
  }
  EXPECT_EQ(affinity(), "0-3");
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "saved"));
}

TEST_F(NoiseThreadTest, TheAgentsEndChangesNothingWhereARankRuns) {
  auto noise = this->noise();
  {
    const NoiseThread thread(noise, views_, figures_, log_, kNever);
    show({1});
    wait_for_moved(1);
  }
  EXPECT_EQ(affinity(), "0,2-3");
  EXPECT_TRUE(std::filesystem::exists(dir_.path() / "saved"));
}

TEST_F(NoiseThreadTest, BeforeAllContainersAreKnownNothingIsUndone) {
  auto before = noise();
  (void)before.apply({1});
  {
    auto noise = this->noise();
    const NoiseThread thread(noise, views_, figures_, log_, kNever);
    show({}, /*synchronized=*/false);
  }
  EXPECT_EQ(affinity(), "0,2-3");
}

TEST_F(NoiseThreadTest, LooksAfterItWhileCpusAreHeldAlsoWhenViewsComeAllTheTime) {
  auto noise = this->noise();
  const NoiseThread thread(noise, views_, figures_, log_, 1ms);
  show({1});
  wait_for_moved(1);
  set_affinity("1");
  for (int i = 0; i < 100; ++i) show({1});
  wait_for([](const noise::Figures& now) { return now.corrections == 1; });
  EXPECT_EQ(affinity(), "0,2-3");
}

}  // namespace
}  // namespace pinion::agent
