#include "cluster/core/task_groups.h"

#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

using Members = std::vector<std::vector<std::size_t>>;

Members members_of(const std::vector<TaskGroup>& groups) {
  Members members;
  for (const TaskGroup& group : groups) members.push_back(group.members);
  return members;
}

TEST(BuildGroups, EqualWorkersGoRoundRobin) {
  EXPECT_EQ(members_of(build_groups({1, 1, 1, 1, 1, 1}, 3)), (Members{{0, 3}, {1, 4}, {2, 5}}));
}

TEST(BuildGroups, UnequalWorkersAreBalancedByCpus) {
  const auto groups = build_groups({8, 2, 2, 2, 2}, 2);
  EXPECT_EQ(members_of(groups), (Members{{0}, {1, 2, 3, 4}}));
  EXPECT_EQ(groups[0].cpus, 8);
  EXPECT_EQ(groups[1].cpus, 8);
}

TEST(BuildGroups, MoreGroupsThanWorkersLeavesTheLastEmpty) {
  EXPECT_EQ(members_of(build_groups({4, 4}, 3)), (Members{{0}, {1}, {}}));
}

TEST(PlacingOrder, LargeGroupsFirstThenByPosition) {
  const auto groups = build_groups({2, 6, 4, 4}, 3);
  EXPECT_EQ(members_of(groups), (Members{{0, 3}, {1}, {2}}));
  EXPECT_EQ(placing_order(groups), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(placing_order(build_groups({2, 6, 4}, 3)), (std::vector<std::size_t>{1, 2, 0}));
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
