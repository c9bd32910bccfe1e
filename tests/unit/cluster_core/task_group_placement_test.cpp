// The paper's Algorithms 3 (step 2) and 4 by their letter, worked out by hand: a worker's node is
// the one of those that fit with the highest
//
//   score = workers of its group there + workers of the group - other groups there
//
// and groups come one after another. Where this differs from ours: docs/scheduling.md, Differences.
// Four nodes as in the paper: 2 sockets of 16 usable cores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cluster/core/placement.h"
#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using testing::UnorderedElementsAreArray;

struct Scene {
  std::vector<std::vector<int>> busy;  // of each node: containers of others, of so many CPUs
  // Of each node: task groups of the job "j", one for each worker of it that is there.
  std::vector<std::vector<const char*>> there;
  std::vector<int> cpus;  // of the workers j-0, j-1, ...
  int groups;
};

// "node-0: j-0 j-4; ..."; empty: they are refused.
std::string placed(const Scene& scene, PlacementPolicy policy, std::uint64_t seed = 0) {
  Fleet fleet;
  add_paper_nodes(fleet);
  int others = 0;
  const auto take = [&](std::size_t node, topology::Request request) {
    const auto outcome =
        fleet.promise(fleet.find("node-" + std::to_string(node)), request, kNoExpiry);
    EXPECT_TRUE(outcome && std::holds_alternative<topology::Decision>(*outcome));
  };
  for (std::size_t node = 0; node < scene.busy.size(); ++node) {
    for (const int cpus : scene.busy[node]) {
      take(node, request_of("other-" + std::to_string(++others), cpus));
    }
  }
  for (std::size_t node = 0; node < scene.there.size(); ++node) {
    for (const char* group : scene.there[node]) {
      topology::Request request = request_of("early-" + std::to_string(++others), 1);
      request.job = "j";
      request.task_group = group;
      take(node, std::move(request));
    }
  }
  const auto outcome = place_gang(policy, fleet, gang_of("j", scene.cpus, scene.groups), {}, seed);
  const auto* plan = std::get_if<GangPlan>(&outcome);
  return plan == nullptr ? std::string() : nodes_text(fleet, *plan);
}

struct FirstRow {
  const char* name;
  Scene scene;
  const char* nodes;
};

class TaskGroupFirst : public testing::TestWithParam<FirstRow> {};

TEST_P(TaskGroupFirst, IsAlgorithm4WithTheFirstNodeOfEquals) {
  EXPECT_EQ(placed(GetParam().scene, PlacementPolicy::kTaskGroup), GetParam().nodes);
}

const std::vector<int> kFull{16, 16};

INSTANTIATE_TEST_SUITE_P(
    Affinity, TaskGroupFirst,
    testing::Values(
        // 4 on each node; then 5 where the first is, 6, 7.
        FirstRow{"inside_a_group", {{}, {}, {4, 4, 4, 4}, 1}, "node-0: j-0 j-1 j-2 j-3"},
        // All score 4 for the first, whatever fits beside it. Ours passes such a node over.
        FirstRow{"also_on_a_node_that_takes_a_part_only",
                 {{{15, 15}}, {}, {1, 1, 1, 1}, 1},
                 "node-0: j-0 j-1; node-1: j-2 j-3"},
        // 1, 1, 1 + 1 and 1 + 2.
        FirstRow{"with_the_most_of_its_group_that_are_there",
                 {{}, {{}, {}, {"j-0"}, {"j-0", "j-0"}}, {1}, 1},
                 "node-3: j-0"},
        // 1 on the others, 1 + 2 - 1 there.
        FirstRow{"outweighs_one_other_group",
                 {{}, {{}, {}, {"j-0", "j-0", "j-1"}}, {1}, 1},
                 "node-2: j-0"},
        // 1 + 1 - 1 there, as everywhere.
        FirstRow{"of_one_is_undone_by_one_other_group",
                 {{}, {{}, {}, {"j-0", "j-1"}}, {1}, 1},
                 "node-0: j-0"},
        // 1 on the others, 1 + 2 there, and no room.
        FirstRow{"needs_room", {{{}, {15, 15}}, {{}, {"j-0", "j-0"}}, {1}, 1}, "node-0: j-0"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    AntiAffinity, TaskGroupFirst,
    testing::Values(
        FirstRow{"between_four_groups",
                 {{}, {}, std::vector<int>(16, 1), 4},
                 "node-0: j-0 j-4 j-8 j-12; node-1: j-1 j-5 j-9 j-13; node-2: j-2 j-6 j-10 j-14; "
                 "node-3: j-3 j-7 j-11 j-15"},
        // j-1 is a group of 1: 0 on node-0, 1 on the others.
        FirstRow{
            "between_two_workers_in_two_groups", {{}, {}, {1, 1}, 2}, "node-0: j-0; node-1: j-1"},
        // 1 - 2 on node-0, 1 - 1 on node-1; the others are full.
        FirstRow{"counts_each_other_group",
                 {{{}, {}, kFull, kFull}, {{"j-1", "j-2"}, {"j-1"}}, {1}, 1},
                 "node-1: j-0"},
        // 1 - 1 on both, however many of it are there.
        FirstRow{"counts_groups_and_not_their_workers",
                 {{{}, {}, kFull, kFull}, {{"j-1", "j-1", "j-1"}, {"j-1"}}, {1}, 1},
                 "node-0: j-0"},
        // Two of 10 on each node, one in each socket. Groups of 2, 1, 1, 1, 1: the last one finds
        // node-0 full and 1 - 1 on each of the others.
        FirstRow{"gives_way_where_no_node_is_left",
                 {{}, {}, std::vector<int>(6, 10), 5},
                 "node-0: j-0 j-5; node-1: j-1 j-4; node-2: j-2; node-3: j-3"},
        // Another job's worker is no group of this one: all score 1.
        FirstRow{"not_between_jobs", {{{8}}, {}, {1}, 1}, "node-0: j-0"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Groups, TaskGroupFirst,
    testing::Values(
        // 8 against 2 + 2 + 2 + 2.
        FirstRow{"of_unequal_workers",
                 {{}, {}, {8, 2, 2, 2, 2}, 2},
                 "node-0: j-0; node-1: j-1 j-2 j-3 j-4"},
        // Workers 0, 2, 4 and 1, 3. The third of the first group finds node-0 full and 3 on each of
        // the others; the second group 2 - 1 on node-1 and 2 on node-2.
        FirstRow{"of_unequal_size",
                 {{}, {}, {16, 16, 16, 16, 16}, 2},
                 "node-0: j-0 j-2; node-1: j-4; node-2: j-1 j-3"},
        // Room for 1, 2, 1 and none. Worker 2 is placed before worker 1: node-0 is full, 2 on
        // node-1 and on node-2. Then worker 1: 2 - 1 and 2; and worker 3, with node-2 full.
        FirstRow{"come_one_after_another",
                 {{{16}, {}, {16}, kFull}, {}, {16, 16, 16, 16}, 2},
                 "node-0: j-0; node-1: j-2 j-3; node-2: j-1"},
        FirstRow{"more_than_workers", {{}, {}, {4, 4}, 3}, "node-0: j-0; node-1: j-1"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    NoNode, TaskGroupFirst,
    testing::Values(FirstRow{"has_that_many_in_one_socket",
                             {{{9, 9}, {9, 9}, {9, 9}, {9, 9}}, {}, {16}, 1},
                             ""},
                    // PredicateFn leaves none for the third: here nobody is placed then.
                    FirstRow{"is_left_for_the_last_worker",
                             {{{16}, {16}, kFull, kFull}, {}, {16, 16, 16}, 1},
                             ""}),
    [](const auto& row) { return std::string(row.param.name); });

struct RandomRow {
  const char* name;
  Scene scene;
  std::vector<std::string> nodes;  // all that may come out
};

class TaskGroupRandom : public testing::TestWithParam<RandomRow> {};

TEST_P(TaskGroupRandom, IsAlgorithm4WithAnyNodeOfEqualsByTheSeed) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto once = placed(GetParam().scene, PlacementPolicy::kTaskGroupRandom, seed);
    EXPECT_EQ(once, placed(GetParam().scene, PlacementPolicy::kTaskGroupRandom, seed));
    seen.insert(once);
  }
  EXPECT_THAT(seen, UnorderedElementsAreArray(GetParam().nodes));
}

INSTANTIATE_TEST_SUITE_P(
    Ties, TaskGroupRandom,
    testing::Values(RandomRow{"of_all_nodes",
                              {{}, {}, {1}, 1},
                              {"node-0: j-0", "node-1: j-0", "node-2: j-0", "node-3: j-0"}},
                    RandomRow{"of_those_that_fit",
                              {{kFull, {}, kFull}, {}, {1}, 1},
                              {"node-1: j-0", "node-3: j-0"}},
                    RandomRow{"of_the_best_two",
                              {{}, {{}, {"j-0"}, {"j-0", "j-1"}, {"j-0"}}, {1}, 1},
                              {"node-1: j-0", "node-3: j-0"}},
                    RandomRow{"of_an_empty_node_and_one_with_both_groups",
                              {{kFull, {}, {}, kFull}, {{}, {"j-0", "j-1"}}, {1}, 1},
                              {"node-1: j-0", "node-2: j-0"}},
                    RandomRow{"for_the_first_of_a_group_alone",
                              {{{}, {}, kFull, kFull}, {}, {1, 1}, 1},
                              {"node-0: j-0 j-1", "node-1: j-0 j-1"}},
                    RandomRow{"for_the_first_of_two_groups",
                              {{{}, {}, kFull, kFull}, {}, {1, 1}, 2},
                              {"node-0: j-0; node-1: j-1", "node-0: j-1; node-1: j-0"}}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace pinion::cluster
