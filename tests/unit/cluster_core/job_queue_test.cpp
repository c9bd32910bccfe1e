#include "cluster/core/job_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace pinion::cluster {
namespace {

using testing::ElementsAre;

std::vector<std::string> order(const JobQueue& queue, std::size_t most = 100) {
  std::vector<std::string> jobs;
  queue.visit([&](const std::string& job) {
    jobs.push_back(job);
    return jobs.size() < most;
  });
  return jobs;
}

QueueEntry entry(const std::string& job, const std::string& name_space, std::int32_t priority,
                 std::int64_t submitted_ms, int cpus = 4) {
  return {.job = job,
          .name_space = name_space,
          .priority = priority,
          .submitted_ms = submitted_ms,
          .cpus = cpus};
}

TEST(JobQueueTest, HigherPriorityFirstThenAge) {
  JobQueue queue(QueueOrder::kPriority);
  queue.push(entry("young", "a", 0, 20));
  queue.push(entry("old", "a", 0, 10));
  queue.push(entry("same-time", "b", 0, 10));
  queue.push(entry("urgent", "b", 5, 30));
  EXPECT_THAT(order(queue), ElementsAre("urgent", "old", "same-time", "young"));
  EXPECT_EQ(queue.first(), "urgent");
  EXPECT_TRUE(queue.before("old", "young"));
  EXPECT_FALSE(queue.before("old", "urgent"));
  EXPECT_THAT(order(queue, 2), ElementsAre("urgent", "old"));

  queue.push(entry("young", "a", 9, 20));
  EXPECT_EQ(queue.first(), "young") << "its priority has changed";
  EXPECT_EQ(queue.size(), 4U);
  EXPECT_TRUE(queue.erase("young"));
  EXPECT_FALSE(queue.erase("young"));
  EXPECT_EQ(queue.first(), "urgent");
}

TEST(JobQueueTest, AJobThatComesAgainKeepsItsTurnAmongEquals) {
  JobQueue queue(QueueOrder::kPriority);
  queue.push(entry("a", "n", 0, 10));
  queue.push(entry("b", "n", 0, 10));
  queue.push(entry("a", "n", 0, 10, 8));
  EXPECT_THAT(order(queue), ElementsAre("a", "b"));
}

TEST(JobQueueTest, FairShareTriesTheNamespaceWithFewerCpus) {
  JobQueue queue(QueueOrder::kFairShare);
  queue.push(entry("a1", "a", 0, 10));
  queue.push(entry("a2", "a", 0, 11));
  queue.push(entry("a3", "a", 0, 12));
  queue.push(entry("b1", "b", 0, 20));
  queue.push(entry("b2", "b", 0, 21));
  EXPECT_THAT(order(queue), ElementsAre("a1", "b1", "a2", "b2", "a3")) << "by turns";
  queue.charge("a", 16);
  EXPECT_THAT(order(queue), ElementsAre("b1", "b2", "a1", "a2", "a3"));
  EXPECT_TRUE(queue.before("b2", "a1"));
  queue.charge("a", -16);
  EXPECT_TRUE(queue.before("a1", "b1"));
  queue.push(entry("a4", "a", 1, 30));
  queue.charge("a", 100);
  EXPECT_EQ(queue.first(), "a4") << "priority goes before shares";
}

TEST(JobQueueTest, ShortestPassesLongerOnesButNotForEver) {
  JobQueue queue(QueueOrder::kShortest);
  const auto push = [&](const char* job, std::int64_t submitted_ms, std::int64_t run_ms,
                        std::int32_t priority = 0) {
    QueueEntry pushed = entry(job, "a", priority, submitted_ms);
    pushed.run_ms = run_ms;
    queue.push(pushed);
  };
  push("an hour", 0, 3'600'000);
  push("a minute", 1000, 60'000);
  push("not said", 0, 0);
  push("a day and a bit", 0, kUnstatedRunMs + 1);
  EXPECT_THAT(order(queue), ElementsAre("a minute", "an hour", "not said", "a day and a bit"));
  push("a minute later", 3'540'000, 60'000);
  EXPECT_THAT(order(queue, 3), ElementsAre("a minute", "an hour", "a minute later"))
      << "of those that would be over at the same moment who was first";
  EXPECT_TRUE(queue.before("an hour", "a minute later"));
  push("urgent", 9'000'000, 9'000'000, 1);
  EXPECT_EQ(queue.first(), "urgent") << "priority goes before";
  push("an hour", 0, 10'000);
  EXPECT_THAT(order(queue, 3), ElementsAre("urgent", "an hour", "a minute")) << "it says less now";
  for (const char* job : {"urgent", "an hour", "a minute"}) EXPECT_TRUE(queue.erase(job));
  EXPECT_THAT(order(queue), ElementsAre("a minute later", "not said", "a day and a bit"));
}

}  // namespace
}  // namespace pinion::cluster
