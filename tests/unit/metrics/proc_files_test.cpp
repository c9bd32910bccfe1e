#include "metrics/proc_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace pinion::metrics {
namespace {

namespace fs = std::filesystem;

// A tree with one process 42 of threads 42 and 107.
class ProcTree : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "proc-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    for (const char* tid : {"42", "107"}) fs::create_directories(task(tid));
    fs::create_directories(task("not-a-thread"));
    std::ofstream(task("107") / "stat") << "107 (w k) R 1 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 2 0 99 0 "
                                           "0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0";
    std::ofstream(task("107") / "status") << "Cpus_allowed_list:\t3\n";
    std::ofstream(task("107") / "sched") << "x\nse.nr_migrations : 8\n";
  }
  void TearDown() override { fs::remove_all(root_); }
  [[nodiscard]] fs::path task(const std::string& tid) const {
    return fs::path(root_) / "proc/42/task" / tid;
  }

  std::string root_;
};

TEST_F(ProcTree, ListsThreadsAscending) {
  const auto threads = list_threads(root_, 42);
  ASSERT_TRUE(threads) << threads.error().text;
  EXPECT_EQ(*threads, (std::vector<int>{42, 107}));
}

TEST_F(ProcTree, ReadsOneThread) {
  const auto stat = read_task_stat(root_, 42, 107);
  ASSERT_TRUE(stat) << stat.error().text;
  EXPECT_EQ(stat->comm, "w k");
  EXPECT_EQ(stat->last_cpu, 3);
  EXPECT_EQ(stat->start_ticks, 99U);
  const auto status = read_task_status(root_, 42, 107);
  ASSERT_TRUE(status) << status.error().text;
  EXPECT_EQ(status->cpus_allowed, topology::CpuSet{3});
  EXPECT_EQ(read_migrations(root_, 42, 107), 8U);
}

TEST_F(ProcTree, AGoneTaskIsNotFound) {
  EXPECT_EQ(list_threads(root_, 43).error().code, Errc::kNotFound);
  EXPECT_EQ(read_task_stat(root_, 42, 42).error().code, Errc::kNotFound);
  EXPECT_EQ(read_task_status(root_, 42, 42).error().code, Errc::kNotFound);
  EXPECT_EQ(read_migrations(root_, 42, 42), std::nullopt);
}

TEST(ProcLive, ReadsThisProcess) {
  const int self = ::getpid();
  const auto stat = read_task_stat("", self, self);
  ASSERT_TRUE(stat) << stat.error().text;
  EXPECT_EQ(stat->id, self);
  const auto status = read_task_status("", self, self);
  ASSERT_TRUE(status) << status.error().text;
  ASSERT_TRUE(status->cpus_allowed);
  EXPECT_GT(status->cpus_allowed->count(), 0);
  EXPECT_TRUE(status->involuntary_switches);
}

}  // namespace
}  // namespace pinion::metrics
