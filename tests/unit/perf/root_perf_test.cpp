// Counts of the real kernel against a child that does a known thing in a cgroup of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <ctime>
#include <memory>
#include <numeric>

#include "metrics/perf/container_counters.h"
#include "metrics/perf/probe.h"
#include "tests/unit/perf/real_kernel.h"

namespace pinion::metrics::perf {
namespace {

using test::Child;
using test::pin;
using topology::CpuId;
using topology::CpuSet;

std::uint64_t thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void burn(std::uint64_t ns) {
  const std::uint64_t end = thread_ns() + ns;
  while (thread_ns() < end) {
  }
}

std::uint64_t usage_ns(pid_t pid) {
  // Field one of schedstat: nanoseconds on a CPU, as the scheduler accounts them.
  return std::stoull(test::read_text("/proc/" + std::to_string(pid) + "/schedstat"));
}

// What the host took from these CPUs, and may still be about to say of its last ticks. perf's
// clocks go on meanwhile, the scheduler charges nobody.
std::uint64_t stolen_ns(const CpuSet& cpus) {
  std::uint64_t ticks = 0;
  for (const CpuId cpu : cpus) {
    const std::string text = test::read_text("/proc/stat");
    const std::string name = "cpu" + std::to_string(cpu) + " ";
    std::istringstream words(text.substr(text.find("\n" + name) + 1));
    std::string word;
    for (int i = 0; i <= 8; ++i) words >> word;  // the name, then steal is the eighth
    ticks += std::stoull(word);
  }
  return ticks * 1'000'000'000U / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
}

// How often a task clock is measured at most: one of them must be close. What the host takes is
// known in ticks, and some of it is said of nobody; a clock that is wrong is so each time.
constexpr int kClocks = 3;

// Task clock against what the scheduler accounts: it may lack the way out of the CPU at each
// switch, and may have what was stolen.
testing::AssertionResult close_to(std::uint64_t clock, std::uint64_t used, std::uint64_t switches,
                                  std::uint64_t stolen) {
  const std::uint64_t slack = used / 50 + 20'000'000 + switches * 20'000;
  if (clock + slack >= used && clock <= used + slack + stolen) return testing::AssertionSuccess();
  return testing::AssertionFailure() << clock << " ns, the scheduler says " << used << " in "
                                     << switches << " switches, stolen " << stolen;
}

class Root_Perf : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    group_ = std::make_unique<test::OwnCgroup>();
    if (!group_->trouble().empty()) GTEST_SKIP() << group_->trouble();
    root_ = Fd(open(group_->root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    cpus_ = test::own_cpus();
    probed_ = probe(kernel_, {.machine = read_perf_machine(""),
                              .target = Target::cgroup_directory(root_.get()),
                              .cpu = cpus_.first(),
                              .hardware = true});
    const EventAvailability& first = probed_.events.front();
    if (first.availability != Availability::kCounted) {
      GTEST_SKIP() << "no software events here: " << first.detail;
    }
  }

  void TearDown() override {
    counters_.reset();
    child_.reset();
    if (group_ && group_->trouble().empty()) {
      EXPECT_TRUE(group_->remove());
    }
  }

  [[nodiscard]] bool two_cpus() const { return cpus_.count() >= 2; }
  [[nodiscard]] CpuId cpu_a() const { return cpus_.first(); }
  [[nodiscard]] CpuId cpu_b() const { return cpus_.next(cpus_.first() + 1); }
  [[nodiscard]] bool counted(Event event) const {
    return probed_.events.at(static_cast<std::size_t>(event)).availability ==
           Availability::kCounted;
  }

  // The child waits in the cgroup, pinned to CPU a, and the counters are open on `cpus`.
  void begin(const std::vector<Child::Job>& jobs, const CpuSet& cpus) {
    child_ = std::make_unique<Child>(jobs);
    child_->settle();
    ASSERT_TRUE(pin(child_->pid(), cpu_a()));
    ASSERT_TRUE(group_->take(child_->pid()));
    counters_ = std::make_unique<ContainerCounters>(kernel_, probed_.set, group_->open());
    const Status status = counters_->set_cpus(cpus);
    ASSERT_TRUE(status) << status.error().text;
    child_->run(0);  // it has run on CPU a after this, whatever it was on before
  }

  std::uint64_t value(Event event) const {
    const Status status = counters_->read();
    EXPECT_TRUE(status) << status.error().text;
    return counters_->count(event).value_or(Count{}).value;
  }

  KernelPerf kernel_;
  Fd root_;
  CpuSet cpus_;
  Probed probed_;
  std::unique_ptr<test::OwnCgroup> group_;
  std::unique_ptr<Child> child_;
  std::unique_ptr<ContainerCounters> counters_;
};

void nothing() {}

TEST_F(Root_Perf, ForcedMigrationsAreCountedExactly) {
  if (!two_cpus()) GTEST_SKIP() << "needs two CPUs";
  constexpr int kMigrations = 1000;
  const CpuId a = cpu_a();
  const CpuId b = cpu_b();
  begin({nothing,
         [a, b] {
           for (int i = 0; i < kMigrations; ++i) pin(0, i % 2 == 0 ? b : a);
         }},
        cpus_);
  const std::uint64_t before = value(Event::kMigrations);
  child_->run(1);
  EXPECT_EQ(value(Event::kMigrations) - before, static_cast<std::uint64_t>(kMigrations));
}

TEST_F(Root_Perf, SwitchesAreThoseThatTheKernelHasInStatus) {
  constexpr int kNaps = 500;
  begin({nothing,
         [] {
           for (int i = 0; i < kNaps; ++i) {
             const timespec a_nap{0, 200'000};  // long enough to be asleep before it ends
             nanosleep(&a_nap, nullptr);
           }
         }},
        cpus_);
  const std::uint64_t before = value(Event::kContextSwitches);
  const std::uint64_t said_before = test::switches_of(child_->pid());
  child_->run(1);
  const std::uint64_t switches = value(Event::kContextSwitches) - before;
  const std::uint64_t said = test::switches_of(child_->pid()) - said_before;
  // A nap that is over before the child has gone to sleep is no switch: on a machine whose host
  // takes its CPUs away, that may be many of them.
  EXPECT_GE(switches, static_cast<std::uint64_t>(kNaps) / 10);
  EXPECT_EQ(switches, said);
}

TEST_F(Root_Perf, EachPageThatIsTouchedIsAFault) {
  constexpr std::size_t kPages = 2000;
  begin({nothing,
         [] {
           const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
           void* at = mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
           madvise(at, kPages * page, MADV_NOHUGEPAGE);
           for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(at)[i * page] = 1;
         }},
        cpus_);
  const auto faults = [this] {
    return std::stoull(test::stat_word(child_->pid(), 7)) +
           std::stoull(test::stat_word(child_->pid(), 9));
  };
  const std::uint64_t before = value(Event::kPageFaults);
  const std::uint64_t said_before = faults();
  child_->run(1);
  const std::uint64_t counted = value(Event::kPageFaults) - before;
  EXPECT_GE(counted, kPages);
  EXPECT_EQ(counted, faults() - said_before);
}

TEST_F(Root_Perf, TaskClockIsTheTimeOnThatCpu) {
  if (!two_cpus()) GTEST_SKIP() << "needs two CPUs";
  begin({nothing, [] { burn(200'000'000); }}, cpus_);
  testing::AssertionResult close = testing::AssertionFailure();
  for (int i = 0; i < kClocks && !close; ++i) {
    value(Event::kTaskClock);
    const std::uint64_t a_before = counters_->task_clock_ns(cpu_a()).value();
    const std::uint64_t b_before = counters_->task_clock_ns(cpu_b()).value();
    const std::uint64_t used_before = usage_ns(child_->pid());
    const std::uint64_t switches_before = test::switches_of(child_->pid());
    const std::uint64_t stolen_before = stolen_ns(cpus_);
    child_->run(1);
    value(Event::kTaskClock);
    const std::uint64_t used = usage_ns(child_->pid()) - used_before;
    const std::uint64_t on_a = counters_->task_clock_ns(cpu_a()).value() - a_before;
    EXPECT_GE(used, 200'000'000U);
    close = close_to(on_a, used, test::switches_of(child_->pid()) - switches_before,
                     stolen_ns(cpus_) - stolen_before);
    EXPECT_EQ(counters_->task_clock_ns(cpu_b()).value(), b_before);
  }
  EXPECT_TRUE(close);
}

TEST_F(Root_Perf, SoftwareEventsAreNeverScaled) {
  begin({nothing, [] { burn(5'000'000); }}, cpus_);
  child_->run(1);
  value(Event::kTaskClock);
  for (const Event event :
       {Event::kContextSwitches, Event::kMigrations, Event::kPageFaults, Event::kTaskClock}) {
    EXPECT_EQ(counters_->count(event)->running, 1.0);
  }
}

TEST_F(Root_Perf, AMoveToOtherCpusLosesNothing) {
  if (!two_cpus()) GTEST_SKIP() << "needs two CPUs";
  constexpr std::size_t kBurn = 1;
  constexpr std::size_t kNap = 2;
  begin({nothing, [] { burn(20'000'000); },
         [] {
           for (int i = 0; i < 100; ++i) {
             const timespec a_nap{0, 200'000};  // long enough to be asleep before it ends
             nanosleep(&a_nap, nullptr);
           }
         }},
        CpuSet{cpu_a()});
  const std::uint64_t start = value(Event::kContextSwitches);
  const std::uint64_t said_at_start = test::switches_of(child_->pid());
  std::uint64_t switches_before = start;
  // Of the burning alone: what a nap costs on its way in and out of the CPU is not in perf's clock,
  // and on a virtual machine it is much.
  std::uint64_t clock = 0;
  std::uint64_t used = 0;
  std::uint64_t burn_switches = 0;
  std::uint64_t stolen_at_start = stolen_ns(cpus_);
  testing::AssertionResult close = testing::AssertionFailure();
  int move = 0;
  while (move < 6 * kClocks && !close) {
    const CpuId to = move % 2 == 0 ? cpu_b() : cpu_a();
    child_->run(kNap);
    const std::uint64_t clock_before = value(Event::kTaskClock);
    const std::uint64_t used_before = usage_ns(child_->pid());
    const std::uint64_t said_before = test::switches_of(child_->pid());
    child_->run(kBurn);
    ASSERT_TRUE(counters_->set_cpus(CpuSet{to}));
    ASSERT_TRUE(pin(child_->pid(), to));
    child_->run(kBurn);
    clock += value(Event::kTaskClock) - clock_before;
    used += usage_ns(child_->pid()) - used_before;
    burn_switches += test::switches_of(child_->pid()) - said_before;
    child_->run(kNap);
    const std::uint64_t switches = value(Event::kContextSwitches);
    EXPECT_EQ(switches - start, test::switches_of(child_->pid()) - said_at_start) << move;
    EXPECT_GT(switches, switches_before + 20) << move;
    switches_before = switches;
    if (++move % 6 != 0) continue;
    EXPECT_GE(used, 12 * 20'000'000U);
    close = close_to(clock, used, burn_switches, stolen_ns(cpus_) - stolen_at_start);
    clock = used = burn_switches = 0;
    stolen_at_start = stolen_ns(cpus_);
  }
  EXPECT_TRUE(close);
  EXPECT_EQ(counters_->reopened(), static_cast<std::size_t>(move) * probed_.set.groups.size());
}

TEST_F(Root_Perf, WhatRunsElsewhereIsNotCounted) {
  if (!two_cpus()) GTEST_SKIP() << "needs two CPUs";
  begin({nothing, [] { burn(10'000'000); }}, CpuSet{cpu_b()});
  EXPECT_EQ(value(Event::kTaskClock), 0U);
  child_->run(1);
  EXPECT_EQ(value(Event::kTaskClock), 0U);
  EXPECT_EQ(counters_->descriptors(), probed_.set.events());
}

TEST_F(Root_Perf, AVanishedCgroupKeepsItsLastValues) {
  begin({nothing, [] { burn(5'000'000); }}, CpuSet{cpu_a()});
  child_->run(1);
  child_->end();
  ASSERT_TRUE(group_->remove());
  EXPECT_GE(value(Event::kTaskClock), 5'000'000U);
  if (two_cpus()) {
    const Status status = counters_->set_cpus(cpus_);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::kNotFound) << status.error().text;
  }
  EXPECT_GE(value(Event::kTaskClock), 5'000'000U);
  group_.reset();
}

TEST_F(Root_Perf, EveryEventSaysWhatItIs) {
  ASSERT_EQ(probed_.events.size(), kEvents);
  for (const EventAvailability& each : probed_.events) {
    EXPECT_FALSE(each.detail.empty()) << to_string(each.event);
  }
  EXPECT_EQ(probed_.set.position(Event::kCycles).has_value(), counted(Event::kCycles));
}

// Whether this kernel counts an event of the processor's, of PERF_TYPE_HARDWARE: asked without the
// product, which could else let the tests of its counters be skipped.
bool hardware_counts(std::uint64_t config) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.config = config;
  return Fd(static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0))).valid();
}

TEST_F(Root_Perf, HardwareInstructionsAreAtLeastThoseOfALoop) {
  if (!counted(Event::kInstructions) || !counted(Event::kCycles)) {
    EXPECT_FALSE(hardware_counts(PERF_COUNT_HW_INSTRUCTIONS) &&
                 hardware_counts(PERF_COUNT_HW_CPU_CYCLES));
    GTEST_SKIP() << probed_.events.at(static_cast<std::size_t>(Event::kInstructions)).detail;
  }
  constexpr std::uint64_t kRounds = 20'000'000;
  begin({nothing,
         [] {
           for (std::uint64_t i = 0; i < kRounds; ++i) asm volatile("" ::: "memory");
         }},
        cpus_);
  const std::uint64_t instructions = value(Event::kInstructions);
  const std::uint64_t cycles = counters_->count(Event::kCycles)->value;
  child_->run(1);
  const std::uint64_t more = value(Event::kInstructions) - instructions;
  const Count after = counters_->count(Event::kCycles).value();
  EXPECT_GE(more, kRounds);  // a counter, a comparison, a jump
  EXPECT_LE(more, kRounds * 10);
  EXPECT_GT(after.value, cycles);
  EXPECT_GT(after.running, 0);
  EXPECT_LE(after.running, 1);
}

// A walk through memory in an order that no prefetcher sees.
void chase(const std::vector<std::uint32_t>& next, std::size_t steps) {
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < steps; ++i) at = next[static_cast<std::size_t>(at) * 16];
  volatile std::uint32_t sink = at;
  (void)sink;
}

// One cycle through all `lines` lines of 64 bytes.
std::vector<std::uint32_t> ring(std::size_t lines) {
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0U);
  std::uint64_t seed = 88172645463325252U;
  for (std::size_t i = lines - 1; i > 0; --i) {
    seed ^= seed << 13U;
    seed ^= seed >> 7U;
    seed ^= seed << 17U;
    std::swap(order[i], order[seed % i]);
  }
  std::vector<std::uint32_t> next(lines * 16);
  for (std::size_t i = 0; i < lines; ++i) {
    next[static_cast<std::size_t>(order[i]) * 16] = order[(i + 1) % lines];
  }
  return next;
}

TEST_F(Root_Perf, HardwareL3MissesComeFromALargeWalkOnly) {
  if (!counted(Event::kL3Misses)) {
    // Of AMD's processors the generic event is one of L2, and not all tell of L3 by CPU.
    EXPECT_FALSE(read_perf_machine("").cpu.vendor == Vendor::kIntel &&
                 hardware_counts(PERF_COUNT_HW_CACHE_MISSES));
    GTEST_SKIP() << probed_.events.at(static_cast<std::size_t>(Event::kL3Misses)).detail;
  }
  constexpr std::size_t kSteps = 4'000'000;
  const auto small = ring(std::size_t{1} << 12U);  // 256 KiB
  const auto large = ring(std::size_t{1} << 23U);  // 512 MiB: more than any L3
  begin({nothing, [&small] { chase(small, kSteps); }, [&large] { chase(large, kSteps); }}, cpus_);
  const std::uint64_t start = value(Event::kL3Misses);
  child_->run(1);
  const std::uint64_t after_small = value(Event::kL3Misses);
  child_->run(2);
  const std::uint64_t after_large = value(Event::kL3Misses);
  EXPECT_LE(after_small - start, kSteps / 20);
  EXPECT_GE(after_large - after_small, kSteps / 4);
}

}  // namespace
}  // namespace pinion::metrics::perf
