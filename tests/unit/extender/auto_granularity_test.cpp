#include "cluster/core/auto_granularity.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using topology::Align;

// Four nodes of two NUMA nodes, each of two L3 domains of four cores with two threads; nothing is
// reserved but CPU 0.
class AutoTest : public testing::Test {
 protected:
  AutoTest() {
    const MachinePtr machine = machine_of({.packages = 2,
                                           .l3s_per_node = 2,
                                           .cores_per_l3 = 4,
                                           .threads_per_core = 2,
                                           .memory_per_node = 32 * kGiB,
                                           .siblings = test_support::Siblings::kAdjacent});
    for (const char* name : {"a", "b", "c", "d"}) {
      EXPECT_TRUE(fleet_.report(report_of(name, machine, {0, 1}), 0));
    }
  }
  // These CPUs of the node are in use.
  void busy(const std::string& name, const std::string& cpus) {
    NodeReport report = report_of(name, nullptr);
    report.claims = {claim_of(name + "-busy", cpus)};
    ASSERT_TRUE(fleet_.report(report, 0));
  }
  void busy_everywhere(const std::string& cpus) {
    for (const char* name : {"a", "b", "c", "d"}) busy(name, cpus);
  }
  Granularity choose(const JobShape& job, int nodes = 4, int most_workers = 10'000) {
    auto chosen = choose_by_fleet(job, nodes, free_nodes(fleet_), most_workers);
    EXPECT_TRUE(chosen);
    return *chosen;
  }

  Fleet fleet_;
};

TEST_F(AutoTest, OnAnIdleFleetCpuBoundTasksAreCutAsInThePaperAndEachLiesInOneL3) {
  const Granularity it = choose({.tasks = 16, .cpus_per_task = 2, .profile = Profile::kCpu});
  EXPECT_EQ(to_string(it),
            "16 workers in 4 groups on 4 nodes: fits now, each group on a node of its own; 16 x 2 "
            "CPUs by l3: room for all");
  EXPECT_EQ(it.align, Align::kL3);
}

// A CPU is half a core here, and with `full-core` the half core is nobody's.
TEST_F(AutoTest, TasksOfHalfACoreAreCutInPairsWhereOnlyFullCoresAreGiven) {
  JobShape job{.tasks = 16, .cpus_per_task = 1, .profile = Profile::kCpu};
  EXPECT_EQ(choose(job).workers, 16) << "else two of them share a core";
  job.smt = topology::Smt::kFullCore;
  const Granularity it = choose(job);
  EXPECT_EQ(it.workers, 8);
  EXPECT_EQ(it.cause, Cause::kFits);
  EXPECT_EQ(it.tried.front(), (Tried{.workers = 16, .cpus = 1, .align = Align::kL3, .room = 0}));
}

TEST_F(AutoTest, WorkersTooLargeForAnL3LieInANumaNode) {
  const Granularity it = choose({.tasks = 4, .cpus_per_task = 10, .profile = Profile::kMemory});
  EXPECT_EQ(it.workers, 4);
  EXPECT_EQ(it.align, Align::kNuma);
  EXPECT_EQ(it.groups, 4);
}

TEST_F(AutoTest, FewerGroupsWhereNotAllNodesHaveRoom) {
  busy("a", "2-31");
  busy("b", "2-31");
  const Granularity it = choose({.tasks = 8, .cpus_per_task = 4, .profile = Profile::kCpu});
  EXPECT_EQ(it.workers, 8);
  EXPECT_EQ(it.groups, 2);
  EXPECT_EQ(it.nodes, 2);
}

TEST_F(AutoTest, GroupsThatFindNoNodeOfTheirOwnAreSaidSo) {
  busy("a", "2-23");  // each node keeps one L3 domain
  busy("b", "2-23");
  busy("c", "2-23");
  const JobShape job{.tasks = 12, .cpus_per_task = 4, .profile = Profile::kCpu};
  const Granularity it = choose(job);
  EXPECT_EQ(it.cause, Cause::kFitsSplit);
  EXPECT_EQ(it.workers, 12);
  EXPECT_EQ(it.nodes, 4);
  // Two nodes would do if nothing ran on them.
  const Granularity on_two = choose(job, 2);
  EXPECT_EQ(on_two.cause, Cause::kWaits);
  EXPECT_EQ(on_two.nodes, 2);
}

TEST_F(AutoTest, ANetworkBoundJobIsOneWorkerWhereItFits) {
  const Granularity it = choose({.tasks = 8, .cpus_per_task = 2, .profile = Profile::kNetwork});
  EXPECT_EQ(it.workers, 1);
  EXPECT_EQ(it.align, Align::kNuma);
}

TEST_F(AutoTest, ANetworkBoundJobTooLargeForOneHoleIsAsFewWorkersAsCanBe) {
  busy_everywhere("24-31");  // NUMA nodes of 14 and 8
  const Granularity it = choose({.tasks = 8, .cpus_per_task = 2, .profile = Profile::kNetwork});
  EXPECT_EQ(it.workers, 2);
  EXPECT_EQ(it.groups, 1);
  EXPECT_EQ(it.nodes, 1);
  EXPECT_EQ(it.align, Align::kNuma);
  EXPECT_EQ(it.cause, Cause::kFits);
}

TEST_F(AutoTest, MemoryBesideTheCpusDecidesToo) {
  const Granularity it = choose(
      {.tasks = 8, .cpus_per_task = 2, .memory_per_task = 10 * kGiB, .profile = Profile::kNetwork});
  // 32 GiB in a NUMA node hold three tasks: 3 + 3 + 2.
  EXPECT_EQ(it.workers, 3);
  EXPECT_EQ(it.groups, 2);
}

TEST_F(AutoTest, AJobThatDoesNotFitNowWaitsForWhatTheIdleFleetCouldGive) {
  busy_everywhere("2-31");
  const Granularity it = choose({.tasks = 16,
                                 .cpus_per_task = 1,
                                 .profile = Profile::kMemory,
                                 .smt = topology::Smt::kFullCore});
  EXPECT_EQ(it.cause, Cause::kWaits);
  EXPECT_EQ(it.workers, 8);
  EXPECT_EQ(it.groups, 4);
  EXPECT_LE(it.tried.size(), kMaxTried);
}

TEST_F(AutoTest, AJobThatNeverFitsIsCutAsThePaperWould) {
  const Granularity it = choose({.tasks = 1000, .cpus_per_task = 4, .profile = Profile::kCpu});
  EXPECT_EQ(it.cause, Cause::kNever);
  EXPECT_EQ(it.workers, 1000);
  EXPECT_EQ(it.groups, 4);
}

struct Capped {
  const char* name;
  JobShape job;
  int most_workers;
  int workers;
  Cause cause;
};

class CapTest : public AutoTest, public testing::WithParamInterface<Capped> {};

TEST_P(CapTest, SplitsAboveTheNumberThatCanStartTogetherAreNotLookedAt) {
  const Capped& row = GetParam();
  const Granularity it = choose(row.job, 4, row.most_workers);
  EXPECT_EQ(it.workers, row.workers) << to_string(it);
  EXPECT_EQ(it.cause, row.cause);
  EXPECT_LE(it.groups, it.workers);
  for (const Tried& tried : it.tried) EXPECT_LE(tried.workers, row.most_workers);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CapTest,
    testing::Values(Capped{"AsManyAsThereAreTasks",
                           {.tasks = 16, .cpus_per_task = 2, .profile = Profile::kCpu},
                           16,
                           16,
                           Cause::kFits},
                    // Not 10 uneven ones, of which each needs the room of the largest.
                    Capped{"OneTooFew",
                           {.tasks = 11, .cpus_per_task = 2, .profile = Profile::kCpu},
                           10,
                           6,
                           Cause::kFits},
                    Capped{"AnEighth",
                           {.tasks = 32, .cpus_per_task = 2, .profile = Profile::kMemory},
                           9,
                           8,
                           Cause::kFits},
                    Capped{"Network",
                           {.tasks = 8, .cpus_per_task = 2, .profile = Profile::kNetwork},
                           1,
                           1,
                           Cause::kFits},
                    Capped{"TooCoarseForEveryHole",
                           {.tasks = 40, .cpus_per_task = 2, .profile = Profile::kCpu},
                           2,
                           2,
                           Cause::kNever},
                    Capped{"TheLargestJobThereCanBe",
                           {.tasks = std::numeric_limits<int>::max(),
                            .cpus_per_task = 1,
                            .profile = Profile::kCpu},
                           10'000,
                           10'000,
                           Cause::kNever}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(AutoTest, WithoutAProfileTheUsersDefaultStays) {
  const Granularity it = choose({.tasks = 16, .workers = 5});
  EXPECT_EQ(it.workers, 5);
  EXPECT_EQ(it.cause, Cause::kNoProfile);
}

TEST_F(AutoTest, ASilentNodeDoesNotCount) {
  fleet_.age(1000, 1000);
  EXPECT_EQ(choose({.tasks = 2, .cpus_per_task = 2, .profile = Profile::kCpu}).cause,
            Cause::kNever);
}

}  // namespace
}  // namespace pinion::cluster
