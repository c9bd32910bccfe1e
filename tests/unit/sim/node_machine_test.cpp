#include "cluster/sim/node_machine.h"

#include <gmock/gmock.h>

#include <memory>
#include <set>

#include "cluster/sim/lublin.h"
#include "tests/unit/sim/play.h"

namespace pinion::sim {
namespace {

using cluster::PlacementPolicy;
using Times = std::map<std::int64_t, std::pair<int, int>>;

// Nodes of two NUMA nodes with 8 usable CPUs each, as 0 and 9 are reserved.
std::unique_ptr<NodeMachine> nodes(int count, const NodeRules& rules,
                                   const topology::CpuSet& reserved = {0, 9}) {
  auto machine = std::make_unique<NodeMachine>(rules);
  for (int node = 0; node < count; ++node) {
    EXPECT_TRUE(machine->add(node_report(node, reserved)));
  }
  return machine;
}

TEST(NodeMachine, AWorkerLiesInOneNumaNode) {
  const auto machine = nodes(2, {.queue = QueueRule::kFcfs});
  EXPECT_EQ(machine->processors(), 32);
  // 5 CPUs four times fill a NUMA node each; 12 go in two workers of 6, and find none.
  std::vector<Job> jobs;
  for (int i = 1; i <= 4; ++i) jobs.push_back(job_of(i, 0, 100, 5));
  jobs.push_back(job_of(5, 1, 10, 12));
  const Played played = play(jobs, *machine);
  EXPECT_EQ(played.times,
            (Times{{1, {0, 100}}, {2, {0, 100}}, {3, {0, 100}}, {4, {0, 100}}, {5, {100, 110}}}));
  ASSERT_EQ(played.records.back().pieces.size(), 2U);
  EXPECT_EQ(played.records.back().pieces[0].cpus.count(), 6);
  // 12 of 12 free CPUs are in NUMA nodes of which a part is taken, for 100 s; then 20 of 20 free
  // are in whole ones or not, as the two workers lie.
  EXPECT_GT(played.figures.fragmentation, 0.6);
}

TEST(NodeMachine, LeavesOutWhatNoIdleNodeCouldGive) {
  const auto machine = nodes(2, {});
  std::vector jobs{job_of(1, 0, 10, 33), job_of(2, 0, 10, 1), job_of(3, 0, 10, 32)};
  jobs[1].shape.cpus_per_task = 17;
  const Played played = play(jobs, *machine);
  EXPECT_EQ(played.times, (Times{{3, {0, 10}}}));
  EXPECT_EQ(played.refused.at(1),
            "needs 3 x 7 CPUs in one NUMA node; even with nothing running there is room for these, "
            "but not for all workers of the job");
  EXPECT_EQ(played.refused.at(2), "a task of 17 CPUs, no node has more than 16");
}

TEST(NodeMachine, WorkersOfTwoSizesFitWhereAllOfTheLargerWouldNot) {
  const Played played = play({job_of(1, 0, 10, 17)}, *nodes(1, {}, {0}));
  ASSERT_EQ(played.records.size(), 1U);
  EXPECT_EQ(played.records[0].pieces.size(), 2U) << "8 CPUs beside the reserved one, and 9";
}

TEST(NodeMachine, BackfillsOnlyBesideWhatIsHeldForTheFirst) {
  // 2 needs both NUMA nodes of one node; 3 is over by the time 1 ends, 4 is not.
  std::vector jobs{job_of(1, 0, 100, 8), job_of(2, 1, 10, 16), job_of(3, 2, 90, 4),
                   job_of(4, 2, 500, 4)};
  const Played played = play(jobs, *nodes(1, {.queue = QueueRule::kEasy}));
  EXPECT_EQ(played.times, (Times{{1, {0, 100}}, {2, {100, 110}}, {3, {2, 92}}, {4, {110, 610}}}));
  const Played fcfs = play(jobs, *nodes(1, {.queue = QueueRule::kFcfs}));
  EXPECT_EQ(fcfs.times, (Times{{1, {0, 100}}, {2, {100, 110}}, {3, {110, 200}}, {4, {110, 610}}}));
}

TEST(NodeMachine, AnUrgentJobGoesBeforeTheFirstThatWaits) {
  std::vector<Job> jobs{job_of(1, 0, 100, 8), job_of(2, 1, 10, 16), job_of(3, 2, 10, 4)};
  jobs[2].priority = 1;
  const Played played = play(jobs, *nodes(1, {.queue = QueueRule::kPriority}));
  EXPECT_EQ(played.times, (Times{{1, {0, 100}}, {2, {100, 110}}, {3, {2, 12}}}));
}

TEST(NodeMachine, AJobLiesOnNoMoreNodesThanItMay) {
  // 1 has half of each node, so that 2 fits on two nodes and not on one; 3 never fits on one.
  std::vector jobs{job_of(1, 0, 100, 16), job_of(2, 1, 10, 16), job_of(3, 200, 10, 32)};
  jobs[0].apart = true;
  jobs[1].nodes = jobs[2].nodes = 1;
  const auto played = [&](const NodeRules& rules) { return play(jobs, *nodes(2, rules)); };
  const Played kept = played({});
  EXPECT_EQ(kept.times, (Times{{1, {0, 100}}, {2, {100, 110}}}));
  EXPECT_THAT(kept.refused.at(3), testing::HasSubstr("node"));
  const Times anywhere{{1, {0, 100}}, {2, {1, 11}}, {3, {200, 210}}};
  EXPECT_EQ(played({.keeps_to_nodes = false}).times, anywhere);
  jobs[1].nodes = jobs[2].nodes = 2;
  EXPECT_EQ(played({}).times, anywhere);
}

TEST(NodeMachine, ShortestPassesWhoWouldBeOverLater) {
  const std::vector jobs{job_of(1, 0, 100, 16), job_of(2, 1, 50, 16), job_of(3, 2, 10, 16),
                         job_of(4, 60, 1, 16)};
  EXPECT_EQ(play(jobs, *nodes(1, {.queue = QueueRule::kShortest})).times,
            (Times{{1, {0, 100}}, {2, {110, 160}}, {3, {100, 110}}, {4, {160, 161}}}));
}

TEST(NodeMachine, PoliciesCutAndPlaceAsTheyDoInACluster) {
  Job job = job_of(1, 0, 10, 16);
  job.shape.profile = topology::Profile::kCpu;
  job.nodes = 4;
  const auto pieces = [&](cluster::Policy granularity) {
    NodeRules rules{.placement = PlacementPolicy::kTaskGroup};
    rules.shape.granularity = granularity;
    return play({job}, *nodes(4, rules)).records.at(0).pieces;
  };
  EXPECT_EQ(pieces(cluster::Policy::kNone).size(), 2U);
  const auto by_task = pieces(cluster::Policy::kGranularity);
  EXPECT_EQ(by_task.size(), 16U);
  std::map<int, int> on_node;
  for (const Piece& piece : by_task) ++on_node[piece.node];
  EXPECT_THAT(on_node, testing::ElementsAre(testing::Pair(0, 4), testing::Pair(1, 4),
                                            testing::Pair(2, 4), testing::Pair(3, 4)));
  EXPECT_EQ(pieces(cluster::Policy::kScale).size(), 4U);
  job.nodes = 3;
  EXPECT_EQ(pieces(cluster::Policy::kScale).size(), 3U);
  job.nodes = 0;  // all, as in a cluster
  EXPECT_EQ(pieces(cluster::Policy::kScale).size(), 4U);
  job.nodes = 9;
  EXPECT_EQ(pieces(cluster::Policy::kScale).size(), 4U);
}

std::string text_of(const Played& played) {
  std::string text;
  for (const JobRecord& record : played.records) {
    text += std::to_string(record.handle) + " " + std::to_string(record.start) + " " +
            std::to_string(record.end);
    for (const Piece& piece : record.pieces) {
      text += " " + std::to_string(piece.node) + ":" + piece.cpus.to_string();
    }
    text += "\n";
  }
  return text;
}

TEST(NodeMachine, SameInputAndSeedSamePlaces) {
  const auto drawn = [](std::uint64_t seed, PlacementPolicy placement, QueueRule queue) {
    Lublin model({.jobs = 60, .largest = 32, .load = 0.9, .processors = 64, .seed = 4});
    std::vector<Job> jobs;
    for (auto job = model.next(); *job; job = model.next()) jobs.push_back(**job);
    return text_of(play(
        jobs, *nodes(4, {.queue = queue, .placement = placement, .search = 10, .seed = seed})));
  };
  std::set<std::string> all;
  for (const auto placement :
       {PlacementPolicy::kHoles, PlacementPolicy::kFirstFit, PlacementPolicy::kLeastLoaded,
        PlacementPolicy::kMostLoaded, PlacementPolicy::kRandom}) {
    for (const auto queue : {QueueRule::kFcfs, QueueRule::kEasy, QueueRule::kFair}) {
      const std::string once = drawn(1, placement, queue);
      EXPECT_EQ(once, drawn(1, placement, queue));
      all.insert(once);
    }
  }
  EXPECT_GE(all.size(), 8U);  // they do differ
  EXPECT_NE(drawn(1, PlacementPolicy::kRandom, QueueRule::kFcfs),
            drawn(2, PlacementPolicy::kRandom, QueueRule::kFcfs));
}

}  // namespace
}  // namespace pinion::sim
