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

TEST(JobsFile, SaysWhatIsWrongAndWhere) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"run: 5", "line 1: the file must be a list of jobs"},
      {"- 5", "line 1: an entry must be a map with a run time"},
      {"- {tasks: 4}", "line 1: the key 'run' is missing"},
      {"- {run: 5, speed: 3}", "line 1: unknown key 'speed'"},
      {"- {run: -5}", "line 1: run must be a number from 0 to 1e+09"},
      {"- {run: 5, name: 'a,b'}", "line 1: name: letters, digits"},
      {"- {run: 5, tasks: 2, workers: 4}", "line 1: more workers than tasks"},
      {"- {run: 5, profile: disk}", "line 1: profile: unknown value 'disk'"},
      {"- {run: 5, count: 100000}\n- {run: 5}", "line 2: more than 100000 jobs"},
      {"- {run: [", "line 1: "}};
  for (const auto& [text, error] : bad) {
    const auto jobs = parse_jobs_file(text);
    ASSERT_FALSE(jobs) << text;
    EXPECT_THAT(jobs.error().text, testing::StartsWith(error)) << text;
  }
}

}  // namespace
}  // namespace pinion::sim
