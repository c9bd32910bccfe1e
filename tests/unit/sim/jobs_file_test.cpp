#include "cluster/sim/jobs_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::sim {
namespace {

TEST(JobsFile, ReadsAllKeys) {
  const auto jobs = parse_jobs_file(R"(
- {run: 5, submit: 100}
- name: wind
  count: 2
  every: 1.5
  submit: 10
  run: 600
  request: 3600
  tasks: 16
  cpus-per-task: 2
  memory-per-task: 2Gi
  workers: 4
  groups: 2
  nodes: 4
  profile: memory
  kind: stream
  user: ada
  priority: -3
)");
  ASSERT_TRUE(jobs) << jobs.error().text;
  ASSERT_EQ(jobs->size(), 3U);
  const Job& wind = jobs->at(1);  // by submission
  EXPECT_EQ(wind.called(), "wind-1");
  EXPECT_EQ(wind.submit, 11'500);
  EXPECT_EQ(wind.run, 600'000);
  EXPECT_EQ(wind.request, 3'600'000);
  EXPECT_EQ(wind.processors(), 32);
  EXPECT_EQ(wind.shape.memory_per_task, std::uint64_t{2} << 30);
  EXPECT_EQ(wind.shape.workers, 4);
  EXPECT_EQ(wind.shape.groups, 2);
  EXPECT_EQ(wind.nodes, 4);
  EXPECT_EQ(wind.shape.profile, topology::Profile::kMemory);
  EXPECT_EQ(wind.kind, "stream");
  EXPECT_EQ(wind.user, "ada");
  EXPECT_EQ(wind.priority, -3);
  EXPECT_EQ(jobs->at(2).called(), "1");
  EXPECT_EQ(jobs->at(2).request, 5000);
}

TEST(JobsFile, ReadsHowAJobCanChange) {
  const auto jobs = parse_jobs_file(R"(
- {min: 4, max: 32, times: {4: 900, 32: 200, 18: 300}, launcher: 1, gap: 180, restart: 0.2,
   restart-per-worker: 0.14, rebalance: 0.7, wishes: {600: 0, 30.5: 8}}
- {tasks: 8, min: 2, max: 16, run: 10, serial: 0, change: moldable}
- {tasks: 8, change: rigid, max: 16, run: 10}
- {tasks: 8, min: 2, run: 10}
- {tasks: 8, run: 10}
)");
  ASSERT_TRUE(jobs) << jobs.error().text;
  const Job& timed = jobs->at(0);
  ASSERT_TRUE(timed.elastic);
  EXPECT_EQ(timed.shape.tasks, 32);
  EXPECT_EQ(timed.run, 200'000);
  EXPECT_EQ(timed.request, 200'000);
  EXPECT_EQ(timed.elastic->min, 4);
  EXPECT_EQ(timed.elastic->max, 32);
  EXPECT_EQ(timed.elastic->change, cluster::Change::kMalleable);
  EXPECT_EQ(timed.elastic->launcher, 1);
  EXPECT_EQ(timed.elastic->gap, 180'000);
  EXPECT_DOUBLE_EQ(timed.elastic->speed_up.rate(32), 1);
  EXPECT_DOUBLE_EQ(timed.elastic->speed_up.rate(11), 200 / 600.0);
  EXPECT_EQ(timed.elastic->start_takes(10), 1600);
  EXPECT_EQ(timed.elastic->rescale_takes(10), 2300);
  ASSERT_EQ(timed.elastic->wishes.size(), 2U);
  EXPECT_EQ(timed.elastic->wishes[0].after, 30'500);
  EXPECT_EQ(timed.elastic->wishes[0].workers, 8);
  EXPECT_EQ(timed.elastic->wishes[1].after, 600'000);
  EXPECT_EQ(timed.elastic->wishes[1].workers, 0);
  const Job& moldable = jobs->at(1);
  EXPECT_EQ(moldable.elastic->change, cluster::Change::kMoldable);
  EXPECT_EQ(moldable.elastic->gap, -1);
  EXPECT_DOUBLE_EQ(moldable.elastic->speed_up.rate(16), 2);
  EXPECT_EQ(jobs->at(2).elastic->max, 8);
  EXPECT_EQ(jobs->at(2).elastic->min, 8);
  EXPECT_EQ(jobs->at(3).elastic->max, 8);
  EXPECT_EQ(jobs->at(3).elastic->min, 2);
  EXPECT_EQ(jobs->at(4).elastic, nullptr);
}

TEST(JobsFile, AJobMayHaveNoLauncher) {
  const auto jobs = parse_jobs_file("- {run: 5, tasks: 4, launcher: 0}");
  ASSERT_TRUE(jobs) << jobs.error().text;
  EXPECT_EQ(jobs->at(0).elastic->launcher, 0);
}

TEST(JobsFile, SaysWhatIsWrongAndWhere) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"run: 5", "line 1: the file must be a list of jobs"},
      {"- {run: 5}\n---\n- {run: 6}", "line 2: a second document"},
      {"- 5", "line 1: an entry must be a map with a run time"},
      {"- {tasks: 4}", "line 1: one of the keys 'run', 'kind' and 'times' is missing"},
      {"- {run: 5, speed: 3}", "line 1: unknown key 'speed'"},
      {"- {run: -5}", "line 1: run must be a number from 0 to 1e+09"},
      {"- {run: 5, name: 'a,b'}", "line 1: name: letters, digits"},
      {"- {run: 5, tasks: 2, workers: 4}", "line 1: more workers than tasks"},
      {"- {run: 5, profile: disk}", "line 1: profile: unknown value 'disk'"},
      {"- {run: 5, count: 100000}\n- {run: 5}", "line 2: more than 100000 jobs"},
      {"- {run: 5, min: 4, tasks: 2}", "line 1: tasks must lie between min and max"},
      {"- {run: 5, min: 8, max: 4}", "line 1: min is larger than max"},
      {"- {run: 5, launcher: -1}", "line 1: launcher must be a whole number from 0 to 10000000"},
      {"- {run: 5, max: 4, tasks: 8}", "line 1: tasks must lie between min and max"},
      {"- {run: 5, times: {1: 5}}", "line 1: times: give it without 'run'"},
      {"- {times: {}}", "line 1: times must be a map"},
      {"- {times: 5}", "line 1: times must be a map"},
      {"- {times: {1.5: 5}}", "line 1: times: numbers of workers must be whole"},
      {"- {times: {2: 5, 02: 5}}", "line 1: times: numbers of workers must be whole and differ"},
      {"- {times: {2: 0}}", "line 1: times: seconds must be a number from 0.001"},
      {"- {run: 5, wishes: 4}", "line 1: wishes must be a map from seconds"},
      {"- {run: 5, max: 4, wishes: {1: 5}}",
       "line 1: wishes: a number of workers must be a number"},
      {"- {run: 5, min: 2, max: 4, wishes: {1: 1}}",
       "line 1: wishes: a number of workers is whole"},
      {"- {run: 5, max: 4, wishes: {1: 1.5}}", "line 1: wishes: a number of workers is whole"},
      {"- {run: 5, max: 4, wishes: {1: 2, 1.0: 3}}", "line 1: wishes: seconds must differ"},
      {"- {run: 5, wishes: {-1: 1}}", "line 1: wishes: seconds must be a number from 0"},
      {"- {run: 5, change: elastic}", "line 1: change: unknown value 'elastic'"},
      {"- {run: 5, serial: 2}", "line 1: serial must be a number from 0 to 1"},
      {"- {run: 5, priority: 1.9}", "line 1: priority must be a whole number from -1000000"},
      {"- {run: 5, name: wind-0}\n- {run: 5, name: wind, count: 2}",
       "line 2: two jobs are called 'wind-0'"},
      {"- {run: 5}\n- {run: 5, name: '1'}", "line 2: two jobs are called '1'"},
      {"- {run: [", "line 1: "}};
  for (const auto& [text, error] : bad) {
    const auto jobs = parse_jobs_file(text);
    ASSERT_FALSE(jobs) << text;
    EXPECT_THAT(jobs.error().text, testing::StartsWith(error)) << text;
  }
}

}  // namespace
}  // namespace pinion::sim
