#include "cluster/core/task_groups.h"

#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

struct JoinRow {
  const char* name;
  std::vector<int> cpus;  // of the workers
  int groups;
  std::map<std::string, int> taken;  // CPUs of workers that are there already, by group
  const char* joined;
};

class JoinGroups : public testing::TestWithParam<JoinRow> {};

// Algorithm 3, step 1: each worker joins the group that requests least, the first of equal ones.
TEST_P(JoinGroups, GivesTheNextWorkerToTheSmallestGroup) {
  const JoinRow& row = GetParam();
  Gang workers(row.cpus.size());
  for (std::size_t i = 0; i < row.cpus.size(); ++i) workers[i].cpus = row.cpus[i];
  join_groups("j", row.groups, row.taken, workers);
  std::string joined;
  for (const auto& worker : workers) joined += (joined.empty() ? "" : " ") + worker.task_group;
  EXPECT_EQ(joined, row.joined);
}

INSTANTIATE_TEST_SUITE_P(
    Table, JoinGroups,
    testing::Values(
        JoinRow{"one_group", {4, 1, 2}, 1, {}, "j-0 j-0 j-0"},
        JoinRow{"equal_workers_in_turn", {1, 1, 1, 1, 1, 1}, 3, {}, "j-0 j-1 j-2 j-0 j-1 j-2"},
        JoinRow{"one_too_many_for_equal_groups", {2, 2, 2, 2, 2}, 2, {}, "j-0 j-1 j-0 j-1 j-0"},
        JoinRow{"a_large_one_and_small_ones", {8, 2, 2, 2, 2}, 2, {}, "j-0 j-1 j-1 j-1 j-1"},
        JoinRow{"small_ones_and_a_large_one", {2, 2, 2, 2, 8}, 2, {}, "j-0 j-1 j-0 j-1 j-0"},
        JoinRow{"back_to_the_smallest", {2, 6, 4, 4}, 3, {}, "j-0 j-1 j-2 j-0"},
        JoinRow{"more_groups_than_workers", {4, 4}, 3, {}, "j-0 j-1"},
        JoinRow{"those_that_are_there_count", {2, 2}, 2, {{"j-0", 3}}, "j-1 j-1"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(JoinGroupsLate, WhoIsOfAGroupStaysAndCounts) {
  Gang workers(3);
  for (auto& worker : workers) worker.cpus = 1;
  workers[0].cpus = 4;
  workers[0].task_group = "j-1";
  join_groups("j", 2, {}, workers);
  EXPECT_EQ(workers[0].task_group, "j-1");
  EXPECT_EQ(workers[1].task_group, "j-0");
  EXPECT_EQ(workers[2].task_group, "j-0");
}

TEST(PlacingOrder, LargeGroupsFirstThenByPosition) {
  EXPECT_EQ(placing_order({{{0, 3}, 6}, {{1}, 6}, {{2}, 4}}), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(placing_order({{{0}, 2}, {{1}, 6}, {{2}, 4}}), (std::vector<std::size_t>{1, 2, 0}));
}

struct GroupsRow {
  const char* name;
  GroupCounts counts;
  int score;
};

class NodeScore : public testing::TestWithParam<GroupsRow> {};

TEST_P(NodeScore, IsMembersMinusOthersPlusFitting) {
  EXPECT_EQ(node_score(GetParam().counts), GetParam().score);
}

INSTANTIATE_TEST_SUITE_P(Table, NodeScore,
                         testing::Values(GroupsRow{"empty_node_for_all_four", {0, 0, 4}, 4},
                                         GroupsRow{"empty_node_for_two_of_four", {0, 0, 2}, 2},
                                         GroupsRow{"two_are_there_and_two_fit", {2, 0, 2}, 4},
                                         GroupsRow{"another_group_is_there", {0, 1, 4}, 3},
                                         GroupsRow{"two_other_groups_are_there", {0, 2, 4}, 2},
                                         GroupsRow{"its_own_beside_another", {3, 1, 1}, 3}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace pinion::cluster
