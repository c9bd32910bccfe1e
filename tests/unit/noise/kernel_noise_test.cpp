// The edge in trees of plain files: a machine of 8 CPUs with three interrupts.
#include "agent/noise/kernel_noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/tree.h"

namespace pinion::noise {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const std::set<Kind> kIrqs = {Kind::kIrq};
const CpuSet kRank = {2, 3};

class KernelNoiseTest : public testing::Test {
 protected:
  void SetUp() override {
    write(R"(
sys/devices/system/cpu/online = 0-7
sys/devices/virtual/workqueue/cpumask = ff
sys/bus/workqueue/devices/writeback/cpumask = 00ff
proc/sys/kernel/random/boot_id = 0f3c-8a52
proc/irq/default_smp_affinity = 00000000,000000ff
proc/irq/9/smp_affinity_list = 0-7
proc/irq/9/effective_affinity_list = 2
proc/irq/24/smp_affinity_list = 2
proc/irq/24/effective_affinity_list = 2
proc/irq/25/smp_affinity_list = 0-1
proc/2/comm = kthreadd
proc/2/task/2/children = 3 14 15
proc/3/comm = kworker/0:0
proc/14/comm = rcuog/0
proc/14/status =
proc/14/status = Cpus_allowed_list: 0-7
proc/15/comm = rcuop/2
proc/15/status =
proc/15/status = Cpus_allowed_list: 0-7
proc/77/comm = rcuop/3
)");
  }
  void write(const char* text) {
    const auto written = test_support::write_tree(text, dir_.path());
    ASSERT_TRUE(written) << written.error().text;
  }
  // As a process of its own would do it: what another object knew is forgotten.
  [[nodiscard]] KernelNoise noise(const std::set<Kind>& kinds) {
    return {Options{.roots = roots(), .saved_file = saved(), .kinds = kinds},
            {.file = [this](const std::string& path,
                            const std::string& text) { return write_file(path, text); },
             .thread = [this](int pid, const CpuSet& cpus) -> Status {
               bound_[pid] = cpus.to_string();
               return {};
             }}};
  }
  [[nodiscard]] Roots roots() const {
    return {.proc = (dir_.path() / "proc").string(), .sys = (dir_.path() / "sys").string()};
  }
  [[nodiscard]] std::string saved() const { return (dir_.path() / kSavedName).string(); }
  [[nodiscard]] bool is_saved() const { return std::filesystem::exists(saved()); }
  [[nodiscard]] std::string text(const std::string& path) const {
    std::ifstream file(dir_.path() / path);
    std::string line;
    std::getline(file, line);
    return line;
  }
  [[nodiscard]] std::string irq(int number) const {
    return text("proc/irq/" + std::to_string(number) + "/smp_affinity_list");
  }
  void expect_as_before() const {
    EXPECT_EQ(irq(9), "0-7");
    EXPECT_EQ(irq(24), "2");
    EXPECT_EQ(irq(25), "0-1");
    EXPECT_THAT(text("proc/irq/default_smp_affinity"), testing::AnyOf("ff", "00000000,000000ff"));
    EXPECT_FALSE(is_saved());
  }
  [[nodiscard]] std::filesystem::path under(const std::string& path) const {
    return dir_.path() / path;
  }

  // Of files that cannot be written, by a part of their path.
  std::map<std::string, int> refuse_;
  int writes_left_ = 1000;  // after these every write fails, as with a process that is gone
  std::map<int, std::string> bound_;

 private:
  Status write_file(const std::string& path, const std::string& text) {
    EXPECT_TRUE(is_saved()) << "written before the original was saved: " << path;
    for (const auto& [part, error] : refuse_) {
      if (path.find(part) != std::string::npos) return sys_failure("write " + path, error);
    }
    if (writes_left_-- <= 0) return sys_failure("write " + path, ENOSPC);
    std::ofstream(path) << text;
    return {};
  }

  test_support::TempDir dir_;
};

TEST_F(KernelNoiseTest, InterruptsLeaveTheRanksCpusAndComeBack) {
  auto one = noise(kIrqs);
  const Pass held = one.apply(kRank);
  EXPECT_EQ(irq(9), "0-1,4-7");
  EXPECT_EQ(irq(24), "0-1,4-7") << "it had this CPU alone";
  EXPECT_EQ(irq(25), "0-1");
  EXPECT_EQ(text("proc/irq/default_smp_affinity"), "f3");
  EXPECT_EQ(text("sys/devices/virtual/workqueue/cpumask"), "ff") << "was not asked for";
  EXPECT_THAT(held.written, UnorderedElementsAre("irq 9", "irq 24", "irq default"));
  EXPECT_THAT(held.failed, IsEmpty());
  EXPECT_EQ(held.figures, (Figures{.irqs_moved = 2}));
  EXPECT_TRUE(one.holds());

  EXPECT_THAT(one.apply(kRank).written, IsEmpty()) << "a second time there is nothing to do";

  const Pass back = one.apply({});
  EXPECT_EQ(back.figures, Figures());
  EXPECT_FALSE(one.holds());
  expect_as_before();
  EXPECT_THAT(one.apply({}).written, IsEmpty());
}

TEST_F(KernelNoiseTest, WithoutARankNothingIsTouched) {
  auto one = noise({Kind::kIrq, Kind::kWorkqueue, Kind::kRcu});
  EXPECT_THAT(one.apply({}).written, IsEmpty());
  expect_as_before();
  EXPECT_THAT(bound_, IsEmpty());
}

TEST_F(KernelNoiseTest, WorkqueuesAndRcuThreadsAreMovedWhereAskedFor) {
  auto one = noise({Kind::kWorkqueue, Kind::kRcu});
  const Pass held = one.apply(kRank);
  EXPECT_EQ(text("sys/devices/virtual/workqueue/cpumask"), "f3");
  EXPECT_EQ(text("sys/bus/workqueue/devices/writeback/cpumask"), "f3");
  // 77 has such a name and is no kernel thread.
  EXPECT_THAT(bound_, ElementsAre(testing::Pair(14, "0-1,4-7"), testing::Pair(15, "0-1,4-7")));
  EXPECT_EQ(irq(9), "0-7");
  EXPECT_EQ(held.figures, Figures());

  std::ofstream(under("proc/14/status")) << "Name:\nCpus_allowed_list:\t0-1,4-7\n";
  std::ofstream(under("proc/15/status")) << "Name:\nCpus_allowed_list:\t0-1,4-7\n";
  one.apply({});
  EXPECT_THAT(bound_, ElementsAre(testing::Pair(14, "0-7"), testing::Pair(15, "0-7")));
  EXPECT_EQ(text("sys/devices/virtual/workqueue/cpumask"), "ff");
  EXPECT_EQ(text("sys/bus/workqueue/devices/writeback/cpumask"), "ff");
  EXPECT_FALSE(is_saved());
}

// Its file says what is left after the isolated partitions' CPUs: their own must not be lost.
TEST_F(KernelNoiseTest, TheRequestedMaskOfWorkqueuesIsTheOriginal) {
  write(R"(
sys/devices/virtual/workqueue/cpumask_requested = ff
)");
  std::ofstream(under("sys/devices/virtual/workqueue/cpumask")) << "0f\n";
  auto one = noise({Kind::kWorkqueue});
  one.apply(kRank);
  EXPECT_EQ(text("sys/devices/virtual/workqueue/cpumask"), "f3");
  std::ofstream(under("sys/devices/virtual/workqueue/cpumask_requested")) << "f3\n";
  one.apply({});
  EXPECT_EQ(text("sys/devices/virtual/workqueue/cpumask"), "ff");
}

TEST_F(KernelNoiseTest, WhatTheKernelKeepsIsNoError) {
  for (const int error : {EIO, EPERM}) {
    refuse_ = {{"/irq/24/", error}};
    auto one = noise(kIrqs);
    const Pass held = one.apply(kRank);
    EXPECT_THAT(held.failed, IsEmpty());
    EXPECT_THAT(held.kept, ElementsAre("24"));
    EXPECT_EQ(held.figures, (Figures{.irqs_moved = 1, .irqs_kept = 1}));
    // It is not asked again and again.
    refuse_.clear();
    EXPECT_EQ(one.apply(kRank).figures.irqs_kept, 1U);
    EXPECT_EQ(irq(24), "2");
    one.apply({});
    expect_as_before();
  }
}

TEST_F(KernelNoiseTest, WhatTheKernelKeepsElsewhereDisturbsNobody) {
  refuse_ = {{"/irq/24/", EIO}};
  for (const char* effective : {"6\n", "\n"}) {  // elsewhere; not in use
    std::ofstream(under("proc/irq/24/effective_affinity_list")) << effective;
    EXPECT_EQ(noise(kIrqs).apply(kRank).figures.irqs_kept, 0U);
  }
}

// In a container with process numbers of its own, 2 is anybody.
TEST_F(KernelNoiseTest, ThreadsAreTakenFromTheKernelsOwnParentAlone) {
  std::ofstream(under("proc/2/comm")) << "bash\n";
  EXPECT_THAT(noise({Kind::kRcu}).apply(kRank).written, IsEmpty());
  EXPECT_THAT(bound_, IsEmpty());
}

// The real writers ask once more, at the last moment.
TEST(KernelWriters, RefuseThreadsOfAnotherNamespacesNumbers) {
  const test_support::TempDir dir;
  const auto thread = kernel_writers({.proc = dir.path().string(), .sys = "/sys"}).thread;
  EXPECT_EQ(thread(getpid(), CpuSet{0}).error().code, Errc::kUnavailable);
  std::filesystem::create_symlink("1234567", dir.path() / "self");
  EXPECT_EQ(thread(getpid(), CpuSet{0}).error().code, Errc::kUnavailable);
}

// A cpuset partition takes the CPUs from the kernel's threads and gives them back itself.
TEST_F(KernelNoiseTest, ThreadsThatAPartitionHasMovedAreLeftAlone) {
  std::ofstream(under("proc/14/status")) << "Name:\nCpus_allowed_list:\t0-1,4-7\n";
  noise({Kind::kRcu}).apply(kRank);
  EXPECT_THAT(bound_, ElementsAre(testing::Pair(15, "0-1,4-7")));
  bound_.clear();
  std::ofstream(under("proc/14/status")) << "Name:\nCpus_allowed_list:\t0-7\n";
  std::ofstream(under("proc/15/status")) << "Name:\nCpus_allowed_list:\t0-1,4-7\n";
  noise({Kind::kRcu}).apply({});
  EXPECT_THAT(bound_, ElementsAre(testing::Pair(15, "0-7")));
}

TEST_F(KernelNoiseTest, AFailureHalfWayIsCountedAndTriedAgain) {
  writes_left_ = 1;
  auto one = noise(kIrqs);
  const Pass half = one.apply(kRank);
  EXPECT_EQ(half.written.size(), 1U);
  EXPECT_EQ(half.failed.size(), 2U);
  EXPECT_THAT(half.failed, Contains(HasSubstr("No space left")));
  EXPECT_EQ(half.figures.errors, 2U);

  writes_left_ = 1000;
  const Pass whole = one.apply(kRank);
  EXPECT_THAT(whole.failed, IsEmpty());
  EXPECT_EQ(whole.figures,
            (Figures{.irqs_moved = 2, .irqs_kept = 0, .corrections = 0, .errors = 2}));

  writes_left_ = 2;
  EXPECT_EQ(one.apply({}).failed.size(), 1U);
  EXPECT_TRUE(one.holds());
  EXPECT_TRUE(is_saved());
  writes_left_ = 1000;
  one.apply({});
  EXPECT_FALSE(one.holds());
  expect_as_before();
}

TEST_F(KernelNoiseTest, WithoutAWayBackNothingIsWritten) {
  std::filesystem::create_directory(saved() + ".new");  // so that the file cannot be made
  auto one = noise(kIrqs);
  for (int i = 0; i < 2; ++i) {
    const Pass held = one.apply(kRank);
    EXPECT_THAT(held.written, IsEmpty());
    EXPECT_THAT(held.failed, ElementsAre(HasSubstr("without a way back")));
    expect_as_before();
  }
  std::filesystem::remove(saved() + ".new");
  EXPECT_EQ(one.apply(kRank).written.size(), 3U);
}

// kill -9 after each number of writes, also none; then the next agent, or pinionctl release.
TEST_F(KernelNoiseTest, ACrashAnywhereIsUndoneByTheNext) {
  for (int writes = 0; writes <= 3; ++writes) {
    SCOPED_TRACE(writes);
    writes_left_ = writes;
    noise(kIrqs).apply(kRank);
    EXPECT_TRUE(is_saved());
    writes_left_ = 1000;
    const std::set<Kind> kinds = writes % 2 == 0 ? std::set<Kind>() : kIrqs;  // as restore() has it
    const Pass back = noise(kinds).apply({});
    EXPECT_EQ(back.written.size(), static_cast<std::size_t>(writes));
    EXPECT_THAT(back.failed, IsEmpty());
    expect_as_before();
  }
  EXPECT_THAT(restore(roots(), saved()).written, IsEmpty()) << "a second time";
}

TEST_F(KernelNoiseTest, TheNextAgentGoesOnWhereRanksStillRun) {
  noise(kIrqs).apply(kRank);
  auto next = noise(kIrqs);
  EXPECT_EQ(next.apply({2}).figures, (Figures{.irqs_moved = 2}));
  EXPECT_EQ(irq(9), "0-1,3-7") << "the original counts, not what the first agent has made of it";
  next.apply({});
  expect_as_before();
}

TEST_F(KernelNoiseTest, WhatIsNotConfiguredAnyMoreIsRestored) {
  noise({Kind::kIrq, Kind::kWorkqueue}).apply(kRank);
  auto next = noise({Kind::kWorkqueue});
  next.apply(kRank);
  EXPECT_EQ(irq(9), "0-7");
  EXPECT_EQ(irq(24), "2");
  EXPECT_EQ(text("sys/devices/virtual/workqueue/cpumask"), "f3");
}

TEST_F(KernelNoiseTest, AnotherBootsNumbersMeanNothing) {
  noise(kIrqs).apply(kRank);
  std::ofstream(under("proc/sys/kernel/random/boot_id")) << "1111-2222\n";
  EXPECT_THAT(restore(roots(), saved()).written, IsEmpty());
  EXPECT_EQ(irq(24), "0-1,4-7");
  EXPECT_FALSE(is_saved());
}

TEST_F(KernelNoiseTest, ABrokenFileIsSetAsideAndSaid) {
  std::ofstream(saved()) << "pinion-kernel-noise 1\nboot 0f3c-8a52\nirq 24 0-7\n";
  EXPECT_THAT(restore(roots(), saved()).failed, ElementsAre(HasSubstr("line 4: cut off")));
  EXPECT_TRUE(std::filesystem::exists(saved() + ".broken"));
  expect_as_before();
  EXPECT_THAT(noise(kIrqs).apply(kRank).failed, IsEmpty());
}

TEST_F(KernelNoiseTest, InterruptsVanishAndAppear) {
  auto one = noise(kIrqs);
  one.apply(kRank);
  std::filesystem::remove_all(under("proc/irq/24"));
  write(R"(
proc/irq/26/smp_affinity_list = 0-1,4-7
proc/irq/27/smp_affinity_list = 3
)");
  const Pass look = one.apply(kRank);
  EXPECT_THAT(look.failed, IsEmpty());
  EXPECT_EQ(irq(27), "0-1,4-7");
  EXPECT_EQ(look.figures, (Figures{.irqs_moved = 3})) << "9, 26 and 27";
  // One more that the last look has not seen; and one that vanishes before it is restored.
  write("proc/irq/28/smp_affinity_list = 0-1,4-7");
  std::filesystem::remove_all(under("proc/irq/25"));
  EXPECT_THAT(one.apply({}).failed, IsEmpty());
  EXPECT_EQ(irq(9), "0-7");
  EXPECT_EQ(irq(26), "0-7") << "it was made with the narrower default";
  EXPECT_EQ(irq(27), "3");
  EXPECT_EQ(irq(28), "0-7");
  EXPECT_FALSE(is_saved());
}

TEST_F(KernelNoiseTest, WhatOthersPutBackIsCorrectedAndCounted) {
  auto one = noise(kIrqs);
  one.apply(kRank);
  std::ofstream(under("proc/irq/9/smp_affinity_list")) << "3\n";   // as irqbalance does
  std::ofstream(under("proc/irq/25/smp_affinity_list")) << "1\n";  // disturbs nobody
  const Pass look = one.apply(kRank);
  EXPECT_THAT(look.written, ElementsAre("irq 9"));
  EXPECT_EQ(look.figures.corrections, 1U);
  EXPECT_EQ(irq(9), "0-1,4-7");
  EXPECT_EQ(irq(25), "1");
}

TEST_F(KernelNoiseTest, WhereEveryCpuIsHeldInterruptsStay) {
  auto one = noise(kIrqs);
  const Pass held = one.apply(CpuSet::range(0, 7));
  EXPECT_THAT(held.written, IsEmpty());
  EXPECT_THAT(held.failed, IsEmpty());
  EXPECT_EQ(held.figures, (Figures{.irqs_moved = 0, .irqs_kept = 3}));
  one.apply({});
  expect_as_before();
}

TEST_F(KernelNoiseTest, AMachineWithoutTheseFilesHasNothingToMove) {
  std::filesystem::remove_all(under("proc/irq"));
  std::filesystem::remove_all(under("sys/devices/virtual"));
  std::filesystem::remove_all(under("sys/bus"));
  std::filesystem::remove_all(under("proc/2"));
  auto one = noise({Kind::kIrq, Kind::kWorkqueue, Kind::kRcu});
  EXPECT_THAT(one.apply(kRank).failed, IsEmpty());
  EXPECT_FALSE(is_saved());
}

TEST_F(KernelNoiseTest, AFileThatIsNoSetIsAnErrorOfItsOwn) {
  std::ofstream(under("proc/irq/9/smp_affinity_list")) << "all\n";
  auto one = noise(kIrqs);
  const Pass held = one.apply(kRank);
  EXPECT_THAT(held.failed, ElementsAre(HasSubstr("irq 9")));
  EXPECT_EQ(irq(24), "0-1,4-7");
}

TEST_F(KernelNoiseTest, IrqbalanceIsSeen) {
  EXPECT_FALSE(noise(kIrqs).irqbalance_runs());
  write("proc/81/comm = irqbalance");
  EXPECT_TRUE(noise(kIrqs).irqbalance_runs());
}

}  // namespace
}  // namespace pinion::noise
