#include "cluster/slurm/job_json.h"
#include "tests/support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace pinion::slurm {
namespace {

using testing::ElementsAre;

std::vector<Job> jobs_of(const std::string& name) {
  std::ifstream file(test_support::in_checkout("tests/fuzz/corpus/slurm_jobs/" + name));
  std::ostringstream text;
  text << file.rdbuf();
  const auto jobs = read_jobs(text.str());
  EXPECT_TRUE(jobs) << name;
  return jobs ? *jobs : std::vector<Job>();
}

TEST(JobJson, AJobWhoseTextIsNoUtf8HidesNone) {
  const auto jobs =
      read_jobs("{\"jobs\":[{\"job_id\":1,\"comment\":\"a\xff\u00e9\"},{\"job_id\":2}]}");
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ(jobs->front().comment, "a?\u00e9");
}

// Captured from Slurm 22.05.8.
TEST(JobJson, IsReadAsSlurmWritesIt) {
  const auto jobs = jobs_of("slurm_22.05");
  ASSERT_EQ(jobs.size(), 6U);
  const Job& first = jobs[0];
  EXPECT_EQ(first.id, 1U);
  EXPECT_EQ(first.submit_s, 1'795'562'080);
  EXPECT_EQ(first.state, Job::State::kPending);
  EXPECT_TRUE(first.held);
  EXPECT_TRUE(first.requeues);
  EXPECT_FALSE(first.exclusive);
  EXPECT_EQ(first.nodes, 2);
  EXPECT_EQ(first.cpus, 4);
  EXPECT_EQ(first.tasks, 4);
  EXPECT_EQ(first.comment, "profile=cpu");
  EXPECT_EQ(first.admin_comment, "pinion=wait");
  EXPECT_EQ(jobs[2].elements, "0-3%2");
  EXPECT_EQ(jobs[2].most_elements, 2);
  EXPECT_EQ(jobs[2].array, 3U);
  EXPECT_THAT(jobs[0].partitions, ElementsAre("main"));
  EXPECT_TRUE(jobs[3].dependent);
  EXPECT_TRUE(jobs[4].exclusive);
  EXPECT_EQ(jobs[4].begin_s, 1'795'565'680);
  EXPECT_EQ(jobs[4].memory_per_cpu_mib, 100);
  EXPECT_THAT(jobs[4].excluded, ElementsAre("node-2"));
  EXPECT_EQ(jobs[5].nodes, 2) << "as Slurm estimates it";
}

TEST(JobJson, LaterVersionsWriteObjectsAndLists) {
  const auto jobs = jobs_of("later_versions");
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_TRUE(jobs[0].held);
  EXPECT_TRUE(jobs[0].exclusive);
  EXPECT_EQ(jobs[0].cpus, 8);
  EXPECT_EQ(jobs[0].cpus_per_task, 0);
  EXPECT_EQ(jobs[1].state, Job::State::kEnding);
  EXPECT_THAT(jobs[1].on, ElementsAre("n1", "n3"));
  EXPECT_EQ(jobs[2].element, std::nullopt);
  EXPECT_EQ(jobs[2].elements, "1-3:2,7%2");
}

TEST(JobJson, AnErrorIsNoEmptyList) {
  for (const char* text : {"", "slurm_load_jobs error: Unable to contact slurm controller", "[]",
                           R"({"jobs": {}})", R"({"jobs": [], "errors": [{"error": "x"}]})"}) {
    EXPECT_FALSE(read_jobs(text)) << text;
  }
  EXPECT_TRUE(read_jobs(R"({"jobs": []})"));
}

}  // namespace
}  // namespace pinion::slurm
