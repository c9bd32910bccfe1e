#include "metrics/task_scan.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/tree.h"

namespace pinion::metrics {
namespace {

namespace fs = std::filesystem;

class TaskScanTree : public testing::Test {
 protected:
  void write(const std::string& text) {
    const Status written = test_support::write_tree(text, dir_.path());
    ASSERT_TRUE(written) << written.error().text;
  }
  [[nodiscard]] cgroup::Mounts mounts() const {
    const cgroup::Mount all{.directory = (dir_.path() / "cg").string(), .version = 2};
    return {.cpu = all, .cpuacct = all, .memory = all, .pids = all, .perf = all, .unified = all};
  }
  TaskScanner scanner() {
    auto opened = TaskScanner::open(dir_.path().string());
    EXPECT_TRUE(opened) << opened.error().text;
    return std::move(*opened);
  }

  test_support::TempDir dir_;
};

const std::string kTwoTasks = R"(
cg/c/cgroup.threads = 42
cg/c/cgroup.threads = 43
cg/c/cgroup.threads = 44
proc/42/schedstat = 100 30 5
proc/42/status = voluntary_ctxt_switches:	10
proc/42/status = nonvoluntary_ctxt_switches:	1
proc/42/sched = se.nr_migrations : 6
proc/42/sched = nr_voluntary_switches : 11
proc/42/sched = nr_involuntary_switches : 2
proc/43/schedstat = 0 0 0
proc/43/status = voluntary_ctxt_switches:	4
proc/43/status = nonvoluntary_ctxt_switches:	0
)";

TEST_F(TaskScanTree, AddsUpWhatThereIs) {
  write(kTwoTasks);  // 44 is gone, 43 never ran and has no `sched`
  TaskScanner tasks = scanner();
  TaskTotals totals(true);
  const Status scanned = tasks.scan(mounts(), "/c", false, totals);
  ASSERT_TRUE(scanned) << scanned.error().text;
  EXPECT_EQ(totals.threads(), 3U);
  EXPECT_EQ(
      totals.sums(),
      (TaskCounters{.voluntary_switches = 14, .involuntary_switches = 1, .run_queue_wait_ns = 30}));
}

TEST_F(TaskScanTree, MigrationsAreReadWhenAsked) {
  write(kTwoTasks);
  TaskScanner tasks = scanner();
  TaskTotals totals(true);
  ASSERT_TRUE(tasks.scan(mounts(), "/c", true, totals));
  EXPECT_EQ(totals.sums(), (TaskCounters{.voluntary_switches = 15,
                                         .involuntary_switches = 2,
                                         .run_queue_wait_ns = 30,
                                         .migrations = 6}));
}

TEST_F(TaskScanTree, SchedThatLacksSwitchesLeavesThemToStatus) {
  write(
      "proc/9/sched = se.nr_migrations : 6\nproc/9/status = voluntary_ctxt_switches: 10\n"
      "proc/9/status = nonvoluntary_ctxt_switches: 3\n");
  EXPECT_EQ(scanner().read_task(9, true),
            (TaskCounters{.voluntary_switches = 10, .involuntary_switches = 3, .migrations = 6}));
}

TEST_F(TaskScanTree, AKernelWithoutSchedInfoSaysNothingOfWaiting) {
  write("proc/9/schedstat = 0 0 0\nproc/9/status = voluntary_ctxt_switches: 10\n");
  EXPECT_EQ(scanner().read_task(9, false), TaskCounters{.voluntary_switches = 10});
}

TEST_F(TaskScanTree, ATaskOfWhichNothingIsReadableIsNone) {
  write("proc/9/schedstat = x\nproc/9/status = voluntary_ctxt_switches: many\n");
  TaskScanner tasks = scanner();
  EXPECT_EQ(tasks.read_task(9, false), std::nullopt);
  EXPECT_EQ(tasks.read_task(9, true), std::nullopt);
  EXPECT_EQ(tasks.read_task(10, true), std::nullopt);
}

TEST_F(TaskScanTree, AVanishedContainerIsNotFoundAndItsSumsStay) {
  write(kTwoTasks);
  TaskScanner tasks = scanner();
  TaskTotals totals(true);
  ASSERT_TRUE(tasks.scan(mounts(), "/c", false, totals));
  const TaskCounters before = totals.sums();
  fs::remove_all(dir_.path() / "cg/c");
  const Status scanned = tasks.scan(mounts(), "/c", false, totals);
  ASSERT_FALSE(scanned);
  EXPECT_EQ(scanned.error().code, Errc::kNotFound);
  EXPECT_EQ(totals.sums(), before);
}

TEST_F(TaskScanTree, TenThousandTasksTakeTurns) {
  // All of them are the same directory.
  write("cg/c/cgroup.threads = 1\nproc/task/status = voluntary_ctxt_switches: 1\n");
  std::ofstream list(dir_.path() / "cg/c/cgroup.threads");
  for (int id = 1; id <= 10000; ++id) {
    list << id << '\n';
    fs::create_directory_symlink("task", dir_.path() / "proc" / std::to_string(id));
  }
  list.close();
  TaskScanner tasks = scanner();
  TaskTotals totals(true);
  for (std::uint64_t pass = 1; pass <= 10; ++pass) {
    ASSERT_TRUE(tasks.scan(mounts(), "/c", false, totals));
    EXPECT_EQ(totals.threads(), 10000U);
    EXPECT_EQ(totals.sums().voluntary_switches, pass < 10 ? pass * 1024 : 10000);
  }
  EXPECT_FALSE(totals.incomplete());
}

TEST_F(TaskScanTree, NeedsAProc) {
  EXPECT_EQ(TaskScanner::open((dir_.path() / "none").string()).error().code, Errc::kNotFound);
}

// Times that this thread has gone to sleep, as the kernel tells the thread itself.
std::uint64_t sleeps_so_far() {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  return static_cast<std::uint64_t>(used.ru_nvcsw);
}

TEST(TaskScanLive, CountsEverySleepOfThisThread) {
  auto tasks = TaskScanner::open("");
  ASSERT_TRUE(tasks) << tasks.error().text;
  const int self = static_cast<int>(::syscall(SYS_gettid));
  const auto read = [&](bool migrations) -> std::uint64_t {
    const std::uint64_t least = sleeps_so_far();
    const auto task = tasks->read_task(self, migrations);
    const std::uint64_t most = sleeps_so_far();
    if (!task || !task->voluntary_switches) {
      ADD_FAILURE() << "nothing is read";
      return 0;
    }
    EXPECT_GE(*task->voluntary_switches, least);
    EXPECT_LE(*task->voluntary_switches, most);
    return *task->voluntary_switches;
  };
  const std::uint64_t before = read(false);
  constexpr std::uint64_t kSleeps = 200;
  for (std::uint64_t i = 0; i < kSleeps; ++i) {
    const timespec nap{.tv_sec = 0, .tv_nsec = 50000};
    ::nanosleep(&nap, nullptr);
  }
  // Who is interrupted just before it sleeps may find its time over, and does not sleep: many times
  // on a machine whose host takes its CPUs away.
  EXPECT_GE(read(false) - before, kSleeps / 10);
  read(true);
}

}  // namespace
}  // namespace pinion::metrics
