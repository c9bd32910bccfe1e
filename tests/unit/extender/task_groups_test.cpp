#include "cluster/core/task_groups.h"

#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

Gang workers_of(const std::vector<int>& cpus) {
  Gang workers(cpus.size());
  for (std::size_t i = 0; i < cpus.size(); ++i) workers[i].cpus = cpus[i];
  return workers;
}

std::string groups_of(Gang workers, int groups, const std::map<std::string, int>& taken = {}) {
  join_groups("j", groups, taken, workers);
  std::string text;
  for (const auto& worker : workers) text += (text.empty() ? "" : " ") + worker.task_group;
  return text;
}

TEST(JoinGroups, EqualWorkersGoRoundRobin) {
  EXPECT_EQ(groups_of(workers_of({1, 1, 1, 1, 1, 1}), 3), "j-0 j-1 j-2 j-0 j-1 j-2");
}

TEST(JoinGroups, UnequalWorkersAreBalancedByCpus) {
  EXPECT_EQ(groups_of(workers_of({8, 2, 2, 2, 2}), 2), "j-0 j-1 j-1 j-1 j-1");
  EXPECT_EQ(groups_of(workers_of({2, 6, 4, 4}), 3), "j-0 j-1 j-2 j-0");
}

TEST(JoinGroups, MoreGroupsThanWorkersLeavesTheLastEmpty) {
  EXPECT_EQ(groups_of(workers_of({4, 4}), 3), "j-0 j-1");
}

TEST(JoinGroups, CountsWhatIsThereAndKeepsWhoIsOfAGroup) {
  EXPECT_EQ(groups_of(workers_of({2, 2}), 2, {{"j-0", 3}}), "j-1 j-1");
  auto workers = workers_of({4, 1, 1});
  workers[0].task_group = "j-1";
  EXPECT_EQ(groups_of(workers, 2), "j-1 j-0 j-0");
}

TEST(PlacingOrder, LargeGroupsFirstThenByPosition) {
  EXPECT_EQ(placing_order({{{0, 3}, 6}, {{1}, 6}, {{2}, 4}}), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(placing_order({{{0}, 2}, {{1}, 6}, {{2}, 4}}), (std::vector<std::size_t>{1, 2, 0}));
}

struct GroupsRow {
  const char* name;
  NodeSight sight;
  int score;
};

class NodeScore : public testing::TestWithParam<GroupsRow> {};

TEST_P(NodeScore, IsMembersMinusOthersPlusFitting) {
  EXPECT_EQ(node_score(GetParam().sight), GetParam().score);
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
