#include "cluster/core/granularity.h"

#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

struct Row {
  const char* scenario;
  const char* benchmark;
  Policy policy;
  Profile profile;
  int default_workers;
  int workers;
  int groups;
  int nodes;
};

class PaperScenario : public testing::TestWithParam<Row> {};

std::string name_of(const testing::TestParamInfo<Row>& info) {
  return std::string(info.param.scenario) + "_" + info.param.benchmark;
}

// Jobs of 16 processes on the paper's four worker nodes (Tables II and III, experiment 2).
TEST_P(PaperScenario, GivesWorkersGroupsAndNodes) {
  const Row& row = GetParam();
  const JobShape job{.tasks = 16, .profile = row.profile, .workers = row.default_workers};
  const auto chosen = choose_granularity(job, row.policy, 4);
  ASSERT_TRUE(chosen) << chosen.error().text;
  EXPECT_EQ(chosen->workers, row.workers);
  EXPECT_EQ(chosen->groups, row.groups);
  EXPECT_EQ(chosen->nodes, row.nodes);
}

constexpr Policy kN = Policy::kNone;
constexpr Policy kS = Policy::kScale;
constexpr Policy kG = Policy::kGranularity;
constexpr Profile kNet = Profile::kNetwork;
constexpr Profile kCpu = Profile::kCpu;
constexpr Profile kMem = Profile::kMemory;

INSTANTIATE_TEST_SUITE_P(
    Paper, PaperScenario,
    testing::Values(
        // The default of the user is kept: one worker, or Volcano's sixteen.
        Row{"NONE", "RandomRing", kN, kNet, 1, 1, 1, 1}, Row{"NONE", "FFT", kN, kNet, 1, 1, 1, 1},
        Row{"NONE", "DGEMM", kN, kCpu, 1, 1, 1, 1}, Row{"NONE", "MiniFE", kN, kCpu, 1, 1, 1, 1},
        Row{"NONE", "STREAM", kN, kMem, 1, 1, 1, 1}, Row{"CM", "RandomRing", kN, kNet, 1, 1, 1, 1},
        Row{"CM", "FFT", kN, kNet, 1, 1, 1, 1}, Row{"CM", "DGEMM", kN, kCpu, 1, 1, 1, 1},
        Row{"CM", "MiniFE", kN, kCpu, 1, 1, 1, 1}, Row{"CM", "STREAM", kN, kMem, 1, 1, 1, 1},
        Row{"Volcano", "RandomRing", kN, kNet, 16, 16, 1, 1},
        Row{"Volcano", "FFT", kN, kNet, 16, 16, 1, 1},
        Row{"Volcano", "DGEMM", kN, kCpu, 16, 16, 1, 1},
        Row{"Volcano", "MiniFE", kN, kCpu, 16, 16, 1, 1},
        Row{"Volcano", "STREAM", kN, kMem, 16, 16, 1, 1},
        Row{"CM_S", "RandomRing", kS, kNet, 1, 1, 1, 1}, Row{"CM_S", "FFT", kS, kNet, 1, 1, 1, 1},
        Row{"CM_S", "DGEMM", kS, kCpu, 1, 4, 4, 4}, Row{"CM_S", "MiniFE", kS, kCpu, 1, 4, 4, 4},
        Row{"CM_S", "STREAM", kS, kMem, 1, 4, 4, 4},
        Row{"CM_S_TG", "RandomRing", kS, kNet, 1, 1, 1, 1},
        Row{"CM_S_TG", "FFT", kS, kNet, 1, 1, 1, 1}, Row{"CM_S_TG", "DGEMM", kS, kCpu, 1, 4, 4, 4},
        Row{"CM_S_TG", "MiniFE", kS, kCpu, 1, 4, 4, 4},
        Row{"CM_S_TG", "STREAM", kS, kMem, 1, 4, 4, 4},
        Row{"CM_G", "RandomRing", kG, kNet, 1, 1, 1, 1}, Row{"CM_G", "FFT", kG, kNet, 1, 1, 1, 1},
        Row{"CM_G", "DGEMM", kG, kCpu, 1, 16, 4, 4}, Row{"CM_G", "MiniFE", kG, kCpu, 1, 16, 4, 4},
        Row{"CM_G", "STREAM", kG, kMem, 1, 16, 4, 4},
        Row{"CM_G_TG", "RandomRing", kG, kNet, 1, 1, 1, 1},
        Row{"CM_G_TG", "FFT", kG, kNet, 1, 1, 1, 1}, Row{"CM_G_TG", "DGEMM", kG, kCpu, 1, 16, 4, 4},
        Row{"CM_G_TG", "MiniFE", kG, kCpu, 1, 16, 4, 4},
        Row{"CM_G_TG", "STREAM", kG, kMem, 1, 16, 4, 4}),
    name_of);

TEST(Granularity, NeverTakesMoreNodesThanTasks) {
  const JobShape job{.tasks = 3, .profile = kCpu};
  EXPECT_EQ(choose_granularity(job, kS, 8)->nodes, 3);
  EXPECT_EQ(choose_granularity(job, kS, 8)->workers, 3);
  EXPECT_EQ(choose_granularity(job, kG, 8)->groups, 3);
}

TEST(Granularity, APolicyWithoutAProfileKeepsTheUsersDefault) {
  const JobShape job{.tasks = 16, .workers = 5, .groups = 2};
  const auto chosen = choose_granularity(job, kG, 4);
  EXPECT_EQ(chosen->workers, 5);
  EXPECT_EQ(chosen->groups, 2);
  EXPECT_EQ(chosen->cause, Cause::kNoProfile);
}

TEST(Granularity, SaysWhy) {
  const JobShape job{.tasks = 16, .profile = kMem};
  EXPECT_EQ(to_string(*choose_granularity(job, kG, 4)),
            "16 workers in 4 groups on 4 nodes: one worker for each task");
  EXPECT_EQ(to_string(*choose_granularity(job, kN, 4)),
            "1 worker in 1 group on 1 node: the user's own choice, no policy is set");
}

TEST(Granularity, RefusesWhatMakesNoSense) {
  const JobShape job{.tasks = 4, .profile = kCpu};
  EXPECT_EQ(choose_granularity({.tasks = 0}, kN, 1).error().text,
            "a job needs at least one task, not 0");
  EXPECT_EQ(choose_granularity(job, kS, 0).error().text, "a job needs at least one node, not 0");
  EXPECT_EQ(choose_granularity({.tasks = 4, .workers = 5}, kN, 1).error().text,
            "5 workers for 4 tasks: choose 1 to as many workers as tasks");
  EXPECT_EQ(choose_granularity({.tasks = 4, .workers = 2, .groups = 3}, kN, 1).error().text,
            "3 task groups for 2 workers: choose 1 to as many groups as workers");
  EXPECT_FALSE(choose_granularity(job, Policy::kAuto, 4));
}

TEST(Granularity, ReadsItsWords) {
  for (const Policy policy : {kN, kS, kG, Policy::kAuto}) {
    EXPECT_EQ(policy_of(to_string(policy)), policy);
  }
  EXPECT_EQ(policy_of("Scale"), std::nullopt);
}

}  // namespace
}  // namespace pinion::cluster
