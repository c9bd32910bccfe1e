#include "cluster/core/split.h"

#include <gtest/gtest.h>

#include <limits>

namespace pinion::cluster {
namespace {

struct SplitRow {
  const char* name;
  int tasks;
  int workers;
  int cpus_per_task;
  Bytes memory_per_task;
  std::vector<Worker> expected;
};

class Split : public testing::TestWithParam<SplitRow> {};

TEST_P(Split, GivesEachWorkerItsShare) {
  const SplitRow& row = GetParam();
  const JobShape job{.tasks = row.tasks,
                     .cpus_per_task = row.cpus_per_task,
                     .memory_per_task = row.memory_per_task};
  const auto workers = split(job, row.workers);
  ASSERT_TRUE(workers) << workers.error().text;
  EXPECT_EQ(*workers, row.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Split,
    testing::Values(SplitRow{"even", 16, 4, 1, 5, {{4, 4, 20}, {4, 4, 20}, {4, 4, 20}, {4, 4, 20}}},
                    SplitRow{"uneven", 7, 3, 2, 10, {{3, 6, 30}, {2, 4, 20}, {2, 4, 20}}},
                    SplitRow{"one_each", 3, 3, 4, 0, {{1, 4, 0}, {1, 4, 0}, {1, 4, 0}}},
                    SplitRow{"all_in_one", 5, 1, 2, 3, {{5, 10, 15}}},
                    SplitRow{
                        "one_more_for_all_but_one", 5, 3, 1, 1, {{2, 2, 2}, {2, 2, 2}, {1, 1, 1}}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(SplitErrors, SaysWhatIsWrong) {
  EXPECT_EQ(split({.tasks = 4}, 5).error().text,
            "5 workers for 4 tasks: choose 1 to as many workers as tasks");
  EXPECT_EQ(split({.tasks = 4}, 0).error().text,
            "0 workers for 4 tasks: choose 1 to as many workers as tasks");
  EXPECT_EQ(split({.tasks = 4, .cpus_per_task = 0}, 1).error().text,
            "a task needs at least one CPU, not 0");
}

TEST(SplitErrors, NothingOverflows) {
  const int most = std::numeric_limits<int>::max();
  EXPECT_FALSE(split({.tasks = most, .cpus_per_task = most}, 1));
  EXPECT_FALSE(split({.tasks = 4097}, 1));
  EXPECT_TRUE(split({.tasks = 4096}, 1));
  const Bytes half = (std::numeric_limits<Bytes>::max() / 2) + 1;
  EXPECT_FALSE(split({.tasks = 3, .memory_per_task = half}, 2));
  EXPECT_TRUE(split({.tasks = 3, .memory_per_task = half}, 3));
}

TEST(Hostfile, HasALineForEachWorkerWithItsTasks) {
  // Slots are tasks, not CPUs.
  const auto workers = split({.tasks = 3, .cpus_per_task = 4}, 2);
  const auto text = hostfile({"wind-0.wind", "wind-1.wind"}, *workers);
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_EQ(*text, "wind-0.wind slots=2\nwind-1.wind slots=1\n");
}

TEST(Hostfile, RefusesHostsThatItCannotHold) {
  const auto workers = split({.tasks = 2}, 2);
  EXPECT_EQ(hostfile({"a"}, *workers).error().text, "1 hosts for 2 workers");
  for (const char* bad : {"", "a b", "a\n", "a#b", "a\tb"}) {
    EXPECT_EQ(hostfile({"a", bad}, *workers).error().text,
              "host 1 has a name that a hostfile cannot hold")
        << bad;
  }
}

}  // namespace
}  // namespace pinion::cluster
