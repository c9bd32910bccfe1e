// Jobs that shrink and expand on nodes: who has which CPUs when, and what follows for how long they
// take, on cases computed by hand.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "cluster/sim/elastic_machine.h"
#include "tests/unit/sim/play.h"

namespace pinion::sim {
namespace {

using cluster::ElasticPolicy;
using testing::ElementsAre;
using testing::Pair;

using Times = std::map<std::int64_t, std::pair<int, int>>;

// Nodes of two NUMA nodes with 8 usable CPUs each.
std::unique_ptr<NodeMachine> idle_nodes(int count) {
  auto nodes = std::make_unique<NodeMachine>(NodeRules{.queue = QueueRule::kFcfs});
  for (int node = 0; node < count; ++node) EXPECT_TRUE(nodes->add(node_report(node)));
  return nodes;
}

Played play_on(int count, const ElasticRules& rules, std::vector<Job> jobs) {
  ElasticMachine machine(idle_nodes(count), rules);
  return play(std::move(jobs), machine);
}

const JobRecord& record_of(const Played& played, std::int64_t number) {
  return *std::find_if(played.records.begin(), played.records.end(),
                       [&](const JobRecord& record) { return record.job.number == number; });
}

Job of_cpus(Job job, int cpus_per_task) {
  job.shape.cpus_per_task = cpus_per_task;
  return job;
}

std::set<int> nodes_of(const std::vector<Piece>& pieces) {
  std::set<int> nodes;
  for (const Piece& piece : pieces) nodes.insert(piece.node);
  return nodes;
}

topology::CpuSet cpus_of(const std::vector<Piece>& pieces) {
  topology::CpuSet cpus;
  for (const Piece& piece : pieces) cpus |= piece.cpus;
  return cpus;
}

TEST(ElasticNodes, AJobStartsWithTheSizeThatThePolicyChooses) {
  const std::vector jobs{elastic_job(1, 0, 100, 20, 20, 5), elastic_job(2, 0, 100, 4, 16)};
  const auto sizes = [&](ElasticPolicy policy) {
    return sizes_of(record_of(play_on(2, {.policy = policy}, jobs), 2));
  };
  EXPECT_EQ(sizes(ElasticPolicy::kMin), "4@0 ");
  EXPECT_EQ(sizes(ElasticPolicy::kMax), "16@100 ");
  EXPECT_EQ(sizes(ElasticPolicy::kMoldable), "12@0 ");
  EXPECT_EQ(sizes(ElasticPolicy::kElastic), "12@0 16@100 ");
  EXPECT_EQ(sizes(ElasticPolicy::kOurs), "12@0 16@100 ");
}

TEST(ElasticNodes, EachWorkerIsPlacedByItself) {
  const auto played = play_on(2, {.policy = ElasticPolicy::kMax},
                              {of_cpus(elastic_job(1, 0, 100, 1, 5), 3), job_of(2, 0, 100, 12)});
  const auto& own = record_of(played, 1).pieces;
  ASSERT_EQ(own.size(), 5U);
  for (const Piece& piece : own) {
    EXPECT_EQ(piece.tasks, 1);
    EXPECT_EQ(piece.cpus.count(), 3);
  }
  EXPECT_EQ(record_of(played, 2).pieces.size(), 2U) << "not elastic: as few as fit in a NUMA node";
}

TEST(ElasticNodes, AShrinkFreesTheCpusOfTheLastWorkersWhenItHasEnded) {
  const auto played =
      play_on(1, {.policy = ElasticPolicy::kElastic},
              {with_rescale(elastic_job(1, 0, 100, 8, 16), 10), elastic_job(3, 20, 200, 8, 8, 5)});
  // 3 has what the last workers of 1 had; 1 has done 20 of 100 s, and goes on half as fast.
  EXPECT_THAT(played.times, testing::Contains(Pair(3, Pair(30, 230))));
  EXPECT_THAT(played.times, testing::Contains(Pair(1, Pair(0, 190))));
  const JobRecord& first = record_of(played, 1);
  EXPECT_EQ(sizes_of(first), "16@0 8@20 ");
  ASSERT_EQ(first.stays.size(), 16U);
  std::vector<Piece> gone;
  for (std::size_t i = 0; i < first.stays.size(); ++i) {
    EXPECT_EQ(first.stays[i].from, 0);
    EXPECT_EQ(first.stays[i].to, i < 8 ? 190'000 : 30'000);
    if (i >= 8) gone.push_back(first.stays[i].piece);
  }
  EXPECT_EQ(cpus_of(record_of(played, 3).pieces), cpus_of(gone));
}

TEST(ElasticNodes, AnExpandPlacesNewWorkersBesideTheJobsOwn) {
  const auto nodes = idle_nodes(4);
  // Holes of one CPU each, tighter than what is left where the job is.
  for (Handle other = 1; other <= 5; ++other) {
    ASSERT_TRUE(nodes->start(other, job_of(1, 0, 100, 7), 7, 0));
  }
  const Job job = elastic_job(2, 0, 100, 1, 16);
  ASSERT_TRUE(nodes->start(6, job, 4, 0));
  const auto before = nodes_of(nodes->pieces(6));
  EXPECT_EQ(nodes->grow(6, job, 7, 0), 7);
  EXPECT_EQ(nodes_of(nodes->pieces(6)), before);
  EXPECT_TRUE(nodes->check(0));
}

TEST(ElasticNodes, WhatAShrinkFreesInWholeNumaNodesIsKnown) {
  const auto nodes = idle_nodes(1);
  ASSERT_TRUE(nodes->start(1, elastic_job(1, 0, 100, 1, 16), 12, 0));
  ASSERT_TRUE(nodes->start(2, job_of(2, 0, 100, 4), 4, 0));
  const auto freed = nodes->frees_whole(1);
  ASSERT_EQ(freed.size(), 12U);
  EXPECT_EQ(freed.front(), 0);
  EXPECT_EQ(freed.back(), 8) << "in the other NUMA node is somebody else";
}

Job with_launcher(Job job, int processors) {
  auto elastic = std::make_shared<Elastic>(*job.elastic);
  elastic->launcher = processors;
  job.elastic = std::move(elastic);
  return job;
}

TEST(ElasticNodes, TheLauncherIsPlacedAndDoesNotLeave) {
  const Job job = with_launcher(elastic_job(1, 0, 70, 1, 8), 2);
  const auto played =
      play_on(1, {.policy = ElasticPolicy::kElastic}, {job, elastic_job(2, 20, 100, 12, 12, 5)});
  const JobRecord& record = record_of(played, 1);
  EXPECT_EQ(sizes_of(record), "8@0 2@20 8@120 ") << "beside 2 there is room for two";
  EXPECT_EQ(record.pieces.at(0).tasks, 0);
  EXPECT_EQ(record.pieces.at(0).cpus.count(), 2);
  EXPECT_EQ(record.stays.at(0).to, record.end);
}

TEST(ElasticNodes, AJobGoesOnWithTheWorkersForWhichThereIsAHole) {
  // 16 CPUs are enough for five workers of 3; each NUMA node has holes for two.
  const auto played = play_on(1, {.policy = ElasticPolicy::kMoldable},
                              {of_cpus(elastic_job(1, 0, 100, 1, 5), 3), job_of(2, 0, 10, 2)});
  EXPECT_EQ(sizes_of(record_of(played, 1)), "4@0 ");
  EXPECT_THAT(played.times, testing::Contains(Pair(2, Pair(0, 10))))
      << "what is left is for others";
}

TEST(ElasticNodes, AJobGrowsOnNoMoreNodesThanItMay) {
  Job job = of_cpus(elastic_job(1, 0, 100, 1, 4), 8);
  EXPECT_EQ(sizes_of(record_of(play_on(2, {.policy = ElasticPolicy::kOurs}, {job}), 1)), "4@0 ");
  job.nodes = 1;
  const auto played = play_on(2, {.policy = ElasticPolicy::kOurs}, {job});
  EXPECT_EQ(sizes_of(record_of(played, 1)), "2@0 ");
  EXPECT_EQ(nodes_of(record_of(played, 1).pieces).size(), 1U);
}

TEST(ElasticNodes, AnExpandThatFindsNoHoleIsTriedAgainAfterARest) {
  // 1 has two workers of 5, one in each NUMA node; there is never a hole for its third.
  const auto played =
      play_on(1, {.policy = ElasticPolicy::kOurs}, {of_cpus(elastic_job(1, 0, 100, 1, 3), 5)});
  EXPECT_EQ(sizes_of(record_of(played, 1)), "2@0 ");
  EXPECT_EQ(played.figures.rescales, 0);
}

TEST(ElasticNodes, AStartThatFindsNoHoleRestsAndOthersGoPast) {
  // 3 CPUs are free in each NUMA node, so 3 finds no hole for 5 before 1 and 2 end.
  const auto played = play_on(
      1, {.policy = ElasticPolicy::kElastic},
      {job_of(1, 0, 100, 5), job_of(2, 0, 100, 5), job_of(3, 1, 10, 5), job_of(4, 1, 10, 3)});
  EXPECT_EQ(played.times, (Times{{1, {0, 100}}, {2, {0, 100}}, {3, {121, 131}}, {4, {1, 11}}}));
}

TEST(ElasticNodes, UnderOursAJobThatFindsNoHoleKeepsItsTurn) {
  // As above. What fits in the holes starts behind 3 where it ends with 1, and else after it.
  ElasticRules rules{.policy = ElasticPolicy::kOurs};
  rules.knobs.patience_ms = 0;
  const auto played = play_on(1, rules,
                              {job_of(1, 0, 100, 5), job_of(2, 0, 150, 5), job_of(3, 1, 10, 5),
                               job_of(4, 2, 99, 3), job_of(5, 2, 98, 3)});
  EXPECT_EQ(played.times,
            (Times{{1, {0, 100}}, {2, {0, 150}}, {3, {100, 110}}, {4, {100, 199}}, {5, {2, 100}}}));
}

TEST(ElasticNodes, UnderOursOthersShrinkForAHoleAndItIsWaitedFor) {
  // When 2 has ended, three CPUs are free beside 1 and two beside 3. 4 needs five in one place.
  const auto played = play_on(
      1, {.policy = ElasticPolicy::kOurs},
      {job_of(1, 0, 1000, 5), job_of(2, 0, 5, 3), with_rescale(elastic_job(3, 0, 1000, 1, 6), 10),
       of_cpus(elastic_job(4, 500, 20, 1, 1), 5)});
  EXPECT_THAT(played.times, testing::Contains(Pair(4, Pair(510, 530))));
  EXPECT_THAT(sizes_of(record_of(played, 3)), testing::StartsWith("6@0 1@500 "));
}

TEST(ElasticNodes, WhileCpusBecomeFreeNobodyBreaksTheHolesOfOneThatHasWaitedForLong) {
  // 2 needs both NUMA nodes for its two workers, and waits 5 s for a third. The 2 CPUs beside those
  // of its workers are enough for 3, but lie apart: it is tried again after a minute.
  const auto starts = [](Ms patience) {
    ElasticRules rules{.policy = ElasticPolicy::kOurs};
    rules.knobs.patience_ms = patience;
    const auto played = play_on(1, rules,
                                {job_of(1, 0, 10, 16), of_cpus(elastic_job(2, 1, 20, 2, 3), 7),
                                 of_cpus(elastic_job(3, 2, 1000, 1, 1), 2)});
    return std::pair(played.times.at(2).first, played.times.at(3).first);
  };
  EXPECT_THAT(starts(0), Pair(15, 75));
  EXPECT_EQ(starts(3'600'000).second, 10);
}

TEST(ElasticNodes, WhoFitsOnNoIdleNodeIsRefused) {
  const std::vector jobs{of_cpus(elastic_job(1, 0, 10, 5, 5), 3),
                         of_cpus(elastic_job(2, 0, 10, 1, 5), 3)};
  EXPECT_THAT(play_on(1, {.policy = ElasticPolicy::kOurs}, jobs).refused,
              ElementsAre(Pair(1, testing::HasSubstr("3 CPUs in one NUMA node"))));
  EXPECT_EQ(play_on(1, {.policy = ElasticPolicy::kMax}, jobs).refused.size(), 2U);
  EXPECT_THAT(play_on(2, {}, {with_launcher(elastic_job(1, 0, 10, 1, 2), 17)}).refused,
              ElementsAre(Pair(1, "a launcher of 17 CPUs, no node has more than 16")));
}

TEST(ElasticNodes, ContentionIsThatOfTheWorkersThatGoOn) {
  // Eight workers want twice the bandwidth of their NUMA node, four of them all of it.
  const Model model{.bandwidth = 0.25, .kinds = {{"stream", {.memory = 1}}}};
  auto nodes = idle_nodes(1);
  Contention contention(model, nodes->fleet(), true);
  ElasticMachine machine(std::move(nodes), {.policy = ElasticPolicy::kElastic});
  Job stream = with_rescale(elastic_job(2, 0, 100, 4, 8), 10);
  stream.kind = "stream";
  const auto played = play({job_of(1, 0, 1000, 8), stream, elastic_job(3, 20, 1000, 4, 4, 5)},
                           machine, {.check = true, .contention = &contention});
  // 10 s of 100 are done at 20, and 90 are left for 180 s from 30.
  EXPECT_THAT(played.times, testing::Contains(Pair(2, Pair(0, 210))));
  EXPECT_EQ(sizes_of(record_of(played, 2)), "8@0 4@20 ");
}

TEST(ElasticNodes, OursLearnsHowFastAJobIsWhereItLies) {
  // Four workers want all the bandwidth of their NUMA node, so eight are no faster there. It is
  // told that they would be elsewhere; or it has seen that they are not, and tries six.
  const Model model{.bandwidth = 0.25, .kinds = {{"stream", {.memory = 1}}}};
  const auto sizes = [&](bool told) {
    auto nodes = idle_nodes(1);
    Contention contention(model, nodes->fleet(), true);
    ElasticMachine machine(std::move(nodes), {.policy = ElasticPolicy::kOurs, .told = told});
    Job stream = elastic_job(2, 0, 400, 4, 8);
    stream.kind = "stream";
    std::vector<Job> jobs{job_of(1, 0, 1000, 8), elastic_job(3, 0, 50, 4, 4, 5), stream};
    jobs.front().priority = 6;
    for (int i = 0; i < 2; ++i) jobs.push_back(elastic_job(4 + i, 100 + 100 * i, 50, 4, 4, 5));
    return sizes_of(
        record_of(play(std::move(jobs), machine, {.check = true, .contention = &contention}), 2));
  };
  EXPECT_EQ(sizes(true), "4@0 8@50 4@100 8@150 4@200 8@250 ");
  EXPECT_EQ(sizes(false), "4@0 8@150 4@250 6@300 ");
}

TEST(ElasticNodes, AWorkerInTwoNumaNodesTakesLonger) {
  const Model model{.kinds = {{"near", {.split = 1.5}}}};
  auto nodes = idle_nodes(2);
  Contention contention(model, nodes->fleet(), true);
  ElasticMachine machine(std::move(nodes), {.policy = ElasticPolicy::kMoldable});
  Job job = of_cpus(elastic_job(1, 0, 100, 1, 2), 10);
  job.kind = "near";
  const auto played = play({job}, machine, {.check = true, .contention = &contention});
  EXPECT_EQ(played.times, (Times{{1, {0, 150}}}));
}

TEST(ElasticNodes, TheClustersDelaysHoldForRescalesToo) {
  ElasticMachine machine(idle_nodes(1),
                         {.policy = ElasticPolicy::kElastic, .start = 2000, .release = 5000});
  const auto played = play({elastic_job(1, 0, 100, 4, 16), elastic_job(2, 20, 50, 8, 8, 5)},
                           machine, {.check = true, .start = 2000, .release = 5000});
  // 1 has done 18 s at 20. Its last workers are gone at 25, 2 runs at 27 and has released its CPUs
  // at 82; then 1 has done 49 s, and 50 when its new workers run.
  EXPECT_EQ(played.times, (Times{{1, {2, 134}}, {2, {27, 77}}}));
  EXPECT_EQ(sizes_of(record_of(played, 1)), "16@0 8@20 16@84 ");
}

TEST(ElasticNodes, OneThatHasEndedIsLeftAloneUntilItsCpusAreReleased) {
  ElasticMachine machine(idle_nodes(1), {.policy = ElasticPolicy::kElastic, .release = 50'000});
  const auto played = play({elastic_job(1, 0, 100, 4, 16), elastic_job(2, 110, 50, 8, 8, 5)},
                           machine, {.check = true, .release = 50'000});
  EXPECT_EQ(played.times, (Times{{1, {0, 100}}, {2, {150, 200}}}));
}

std::string all_of(const Played& played) {
  std::string text;
  for (const JobRecord& record : played.records) {
    text +=
        std::to_string(record.handle) + " " + std::to_string(record.end) + " " + sizes_of(record);
    for (const auto& [piece, from, to] : record.stays) {
      text += std::to_string(piece.node) + ":" + piece.cpus.to_string() + "@" +
              std::to_string(from) + "-" + std::to_string(to) + " ";
    }
    text += "\n";
  }
  return text;
}

TEST(ElasticNodes, SameInputSamePlaces) {
  std::vector<Job> jobs;
  for (int i = 1; i <= 40; ++i) {
    Job job = with_rescale(elastic_job(i, 7 * i, 20 + i % 5 * 30, 1 + i % 4, 4 + i % 13, i % 3), 1);
    jobs.push_back(of_cpus(std::move(job), 1 + i % 3));
  }
  std::set<std::string> all;
  for (const auto policy : {ElasticPolicy::kMin, ElasticPolicy::kMax, ElasticPolicy::kMoldable,
                            ElasticPolicy::kElastic, ElasticPolicy::kOurs}) {
    const std::string once = all_of(play_on(3, {.policy = policy, .gap = 10'000}, jobs));
    EXPECT_EQ(once, all_of(play_on(3, {.policy = policy, .gap = 10'000}, jobs)));
    all.insert(once);
  }
  EXPECT_EQ(all.size(), 5U);
}

}  // namespace
}  // namespace pinion::sim
