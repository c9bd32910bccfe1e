// The kernel's own work leaves a rank's cores and comes back, on a real kernel: the serial port of
// the console is the noise, its interrupt is bound to the rank's core before.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>

#include "tests/guest/guest_node.h"
#include "tests/guest/kernel_settings.h"
#include "tests/integration/pinionctl.h"
#include "tests/integration/scrape.h"

namespace pinion::guest {
namespace {

constexpr Milliseconds kSoon{5000};
constexpr Milliseconds kLook{10'000};  // longer than the agent takes between two looks
constexpr std::chrono::seconds kMeasured{5};

// Writes to the console, so that its port interrupts a CPU all the time.
class ConsoleWriter {
 public:
  ConsoleWriter() : thread_([this] { run(); }) {}
  ConsoleWriter(const ConsoleWriter&) = delete;
  ConsoleWriter& operator=(const ConsoleWriter&) = delete;
  ~ConsoleWriter() {
    stop_ = true;
    thread_.join();
  }

 private:
  void run() {
    const Fd console(open("/dev/ttyS0", O_WRONLY | O_NOCTTY | O_CLOEXEC));
    const std::string line = std::string(255, '.') + "\n";
    while (!stop_ && ::write(console.get(), line.data(), line.size()) > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

class Guest_Noise : public GuestTest {
 protected:
  void SetUp() override {
    GuestTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    console_irq_ = console_irq();
    ASSERT_GT(console_irq_, 0) << "no serial port";
    boot_ = kernel_settings();
    boot_threads_ = rcu_threads();
    const auto options = lab::read_file("/proc/cmdline");
    ASSERT_TRUE(ok(options));
    ASSERT_EQ(boot_threads_.empty(), options->find("rcu_nocbs") == std::string::npos);
    fixed_ = fixed_irqs();
    ASSERT_FALSE(fixed_.contains(std::to_string(console_irq_)));
  }
  void TearDown() override {
    if (console_irq_ > 0) {  // the next case begins as this one did, however it went
      const Status back = set_affinity_list(console_irq_, boot_console());
      EXPECT_TRUE(ok(back));
    }
    GuestTest::TearDown();
  }

  Status start_noise_agent() {
    return start_agent(
        {.more = {"--kernel-noise", "irq,workqueue,rcu", "--metrics-listen", "127.0.0.1:0"}});
  }
  // A rank that an agent without the option pins; then its core is where the console interrupts.
  void start_disturbed_rank() {
    ASSERT_TRUE(ok(start_agent()));
    auto rank = start_rank("rank", 1, {{"job", "job"}});
    ASSERT_TRUE(ok(rank));
    rank_.emplace(std::move(*rank));
    own_ = file(rank_->running);
    ASSERT_FALSE(own_.empty());
    EXPECT_EQ(kernel_settings(), boot_) << "without the option nothing is touched";
    ASSERT_TRUE(ok(set_affinity_list(console_irq_, std::to_string(own_.first()))));
    before_ = kernel_settings();
    ASSERT_TRUE(ok(agent().stop()));
  }
  // As soon as nothing that can be moved may run on the rank's CPUs.
  testing::AssertionResult becomes_quiet() const {
    std::string there;
    const bool quiet = lab::eventually(kSoon, [&] {
      there = movable_irqs_on(own_, fixed_);
      for (const auto& [name, cpus] : rcu_threads()) {
        if (cpus.intersects(own_)) there += name;
      }
      return there.empty();
    });
    return quiet ? testing::AssertionSuccess() : testing::AssertionFailure() << there;
  }
  testing::AssertionResult becomes_as_before() const {
    std::string different;
    const bool same = lab::eventually(kSoon, [&] {
      different.clear();
      const auto now = kernel_settings();
      for (const auto& [path, text] : before_) {
        const auto found = now.find(path);
        if (found == now.end() || found->second != text) different += path + " was " + text;
      }
      for (const auto& [name, cpus] : rcu_threads()) {
        if (cpus != boot_threads_.at(name)) different += name + "has " + cpus.to_string() + "\n";
      }
      return different.empty();
    });
    return same ? testing::AssertionSuccess() : testing::AssertionFailure() << different;
  }
  // In a second, on the rank's first CPU, while the console is written to.
  [[nodiscard]] Interrupts interrupts() const {
    const ConsoleWriter writer;
    const auto first = interrupts_on(own_.first());
    const auto begin = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(kMeasured);
    const auto last = interrupts_on(own_.first());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const auto rate = [&](long count) {
      return std::lround(static_cast<double>(count) / took.count());
    };
    return {.all = rate(last.all - first.all), .devices = rate(last.devices - first.devices)};
  }
  [[nodiscard]] double metric(const std::string& name) {
    const auto addresses = integration::read_addresses(agent().ready_file());
    if (!addresses) return -1;
    const auto series = integration::scrape(addresses->at("metrics"));
    const auto found = series ? series->find(name) : integration::Series::const_iterator();
    return series && found != series->end() ? found->second : -1;
  }
  [[nodiscard]] std::string boot_console() const {
    const auto path = "/proc/irq/" + std::to_string(console_irq_) + "/smp_affinity_list";
    const auto found = boot_.find(path);
    return found == boot_.end() ? "0" : found->second;
  }

  int console_irq_ = 0;
  std::set<std::string> fixed_;
  std::map<std::string, std::string> boot_;  // as the machine came up
  std::map<std::string, CpuSet> boot_threads_;
  std::map<std::string, std::string> before_;  // when the agent with the option came
  std::optional<Rank> rank_;
  CpuSet own_;
};

TEST_P(Guest_Noise, LeavesTheRanksCoreAndComesBack) {
  ASSERT_NO_FATAL_FAILURE(start_disturbed_rank());
  const Interrupts with_noise = interrupts();
  ASSERT_TRUE(ok(start_noise_agent()));
  EXPECT_TRUE(becomes_quiet());
  const Interrupts without = interrupts();
  std::printf("interrupts a second on CPU %d: %ld before, %ld with it; of devices %ld and %ld\n",
              own_.first(), with_noise.all, without.all, with_noise.devices, without.devices);
  EXPECT_GT(with_noise.devices, 20) << "no noise: this test shows nothing";
  EXPECT_LE(without.devices, with_noise.devices / 10);
  EXPECT_GE(metric("pinion_kernel_noise_irqs{state=\"moved\"}"), 1);
  EXPECT_EQ(metric("pinion_kernel_noise_errors_total"), 0);
  EXPECT_EQ(metric("pinion_kernel_noise_corrections_total"), 0);
  const auto now = kernel_settings();
  EXPECT_NE(now.at("/sys/devices/virtual/workqueue/cpumask"),
            before_.at("/sys/devices/virtual/workqueue/cpumask"));
  std::printf("kept by the kernel: %.0f, moved: %.0f\n",
              metric("pinion_kernel_noise_irqs{state=\"kept_by_kernel\"}"),
              metric("pinion_kernel_noise_irqs{state=\"moved\"}"));

  // As irqbalance would.
  ASSERT_TRUE(ok(set_affinity_list(console_irq_, std::to_string(own_.first()))));
  EXPECT_TRUE(
      lab::eventually(kLook, [&] { return metric("pinion_kernel_noise_corrections_total") == 1; }));
  EXPECT_TRUE(becomes_quiet());

  ASSERT_TRUE(ok(remove(rank_->running)));
  EXPECT_TRUE(becomes_as_before());
  EXPECT_TRUE(lab::eventually(
      kLook, [&] { return metric("pinion_kernel_noise_irqs{state=\"moved\"}") == 0; }));
}

TEST_P(Guest_Noise, IsUndoneAfterAKill) {
  ASSERT_NO_FATAL_FAILURE(start_disturbed_rank());
  ASSERT_TRUE(ok(start_noise_agent()));
  ASSERT_TRUE(becomes_quiet());
  agent().kill();
  EXPECT_TRUE(becomes_quiet()) << "the rank still runs";

  // The next one goes on, and knows what was before the first.
  ASSERT_TRUE(ok(start_noise_agent()));
  EXPECT_TRUE(becomes_quiet());
  agent().kill();
  ASSERT_TRUE(ok(remove(rank_->running)));
  ASSERT_TRUE(ok(start_noise_agent()));
  EXPECT_TRUE(becomes_as_before());
  ASSERT_TRUE(ok(agent().stop()));
  EXPECT_TRUE(becomes_as_before());
}

TEST_P(Guest_Noise, IsUndoneByRelease) {
  ASSERT_NO_FATAL_FAILURE(start_disturbed_rank());
  ASSERT_TRUE(ok(start_noise_agent()));
  ASSERT_TRUE(becomes_quiet());
  agent().kill();
  const std::string state = std::filesystem::path(agent().api_socket()).parent_path();
  const auto released = integration::pinionctl(node(), {"release", "--state-dir", state});
  ASSERT_TRUE(ok(released));
  EXPECT_NE(released->find("irq " + std::to_string(console_irq_)), std::string::npos) << *released;
  EXPECT_TRUE(becomes_as_before());
}

INSTANTIATE_TEST_SUITE_P(Each, Guest_Noise, testing::ValuesIn(containerds()),
                         [](const auto& param) { return param.param == "1.7" ? "v17" : "v21"; });

}  // namespace
}  // namespace pinion::guest
