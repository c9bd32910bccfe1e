// Jobs that shrink and expand, on cases computed by hand.
#include "cluster/sim/elastic_machine.h"

#include <gmock/gmock.h>

#include "tests/unit/sim/play.h"

namespace pinion::sim {
namespace {

using cluster::ElasticPolicy;
using testing::ElementsAre;

ElasticRules rules_of(ElasticPolicy policy) {
  return {.policy = policy};
}

using Times = std::map<std::int64_t, std::pair<int, int>>;

TEST(ElasticMachine, ARigidJobTakesWhatItSays) {
  ElasticMachine pool(10, rules_of(ElasticPolicy::kElastic));
  EXPECT_EQ(play({job_of(1, 0, 100, 6), job_of(2, 1, 10, 6)}, pool).times,
            (Times{{1, {0, 100}}, {2, {100, 110}}}));
}

TEST(ElasticMachine, ProcessorsAreHandedOnWhenAShrinkHasEnded) {
  // 1 shrinks from 8 to 4 at 20, which takes 10 s; then 2 starts and 1 works half as fast.
  ElasticMachine pool(8, rules_of(ElasticPolicy::kElastic));
  const auto played = play(
      {with_rescale(elastic_job(1, 0, 100, 4, 8), 10), elastic_job(2, 20, 200, 4, 4, 5)}, pool);
  EXPECT_EQ(played.times, (Times{{1, {0, 190}}, {2, {30, 230}}}));
  EXPECT_EQ(sizes_of(played.records.at(0)), "8@0 4@20 ");
  EXPECT_EQ(played.records.at(0).rescaling, 10'000);
  EXPECT_DOUBLE_EQ(played.records.at(0).work, 8 * 30'000 + 4 * 160'000);
  EXPECT_EQ(played.figures.rescales, 1);
  EXPECT_DOUBLE_EQ(played.figures.rescaling, 10);
}

TEST(ElasticMachine, AnExpandHoldsItsProcessorsWhileItDoesNotWork) {
  // 2 has 4 beside 1; at 50 it has done 25 of 100 s and expands for 10 s: 75 are left.
  ElasticMachine pool(8, rules_of(ElasticPolicy::kElastic));
  const auto played =
      play({elastic_job(1, 0, 50, 4, 4), with_rescale(elastic_job(2, 0, 100, 2, 8), 10)}, pool);
  EXPECT_EQ(played.times, (Times{{1, {0, 50}}, {2, {0, 135}}}));
  EXPECT_EQ(sizes_of(played.records.at(1)), "4@0 8@50 ");
}

TEST(ElasticMachine, AStartTakesItsTimeToo) {
  ElasticMachine pool(8, rules_of(ElasticPolicy::kElastic));
  Job job = elastic_job(1, 5, 100, 4, 8);
  auto elastic = std::make_shared<Elastic>(*job.elastic);
  elastic->restart = 1000;
  elastic->restart_per_worker = 500;
  job.elastic = std::move(elastic);
  EXPECT_EQ(play({job}, pool).times, (Times{{1, {5, 110}}}));
}

TEST(ElasticMachine, TheLauncherHoldsProcessors) {
  ElasticMachine pool(8, rules_of(ElasticPolicy::kMoldable));
  Job job = elastic_job(1, 0, 70, 1, 8);
  auto elastic = std::make_shared<Elastic>(*job.elastic);
  elastic->launcher = 1;
  job.elastic = std::move(elastic);
  const auto played = play({job}, pool);
  EXPECT_EQ(sizes_of(played.records.at(0)), "7@0 ");
  EXPECT_EQ(played.times, (Times{{1, {0, 80}}}));
  EXPECT_DOUBLE_EQ(played.figures.utilisation, 1);
}

TEST(ElasticMachine, WhoCanNeverStartIsRefused) {
  ElasticMachine elastic(8, rules_of(ElasticPolicy::kElastic));
  const std::vector jobs{elastic_job(1, 0, 10, 9, 16), elastic_job(2, 0, 10, 8, 16)};
  EXPECT_THAT(play(jobs, elastic).refused,
              ElementsAre(testing::Pair(1, "needs 9 processors, there are 8")));
  ElasticMachine most(8, rules_of(ElasticPolicy::kMax));
  EXPECT_EQ(play(jobs, most).refused.size(), 2U);
}

TEST(ElasticMachine, AJobsOwnGapGoesBeforeThatOfAll) {
  for (const Ms own : {-1, 0}) {
    Job job = elastic_job(1, 0, 100, 4, 8);
    auto elastic = std::make_shared<Elastic>(*job.elastic);
    elastic->gap = own;
    job.elastic = std::move(elastic);
    ElasticMachine pool(8, {.policy = ElasticPolicy::kElastic, .gap = 60'000});
    const auto played = play({job, elastic_job(2, 20, 10, 4, 4, 5)}, pool);
    EXPECT_EQ(played.times.at(2).first, own < 0 ? 100 : 20);
  }
}

TEST(ElasticMachine, OursLooksAgainWhenAGapEnds) {
  // 1 started at 0 with what was free, 2 ends at 10, the gap of 1 at 30.
  ElasticMachine pool(8, {.policy = ElasticPolicy::kOurs, .gap = 30'000});
  const auto played = play({elastic_job(2, 0, 10, 4, 4), elastic_job(1, 0, 100, 2, 8)}, pool);
  EXPECT_EQ(sizes_of(played.records.at(1)), "4@0 8@30 ");
}

TEST(ElasticMachine, OursLearnsThatAJobDoesNotScale) {
  // It runs 100 s with any number of workers: expanding is useless, but seems to pay at first.
  const auto rescales = [](bool told) {
    Job flat = elastic_job(1, 0, 1000, 2, 16);
    auto elastic = std::make_shared<Elastic>(*flat.elastic);
    elastic->speed_up = cluster::SpeedUp(1.0, 16);
    elastic->gap = 20'000;
    elastic->restart = 20'000;
    flat.elastic = std::move(elastic);
    ElasticMachine pool(16, {.policy = ElasticPolicy::kOurs, .gap = 0, .told = told});
    const auto played = play({elastic_job(2, 0, 50, 14, 14), flat}, pool);
    return played.records.at(1).rescales();
  };
  EXPECT_EQ(rescales(true), 0);
  EXPECT_EQ(rescales(false), 1);
}

}  // namespace
}  // namespace pinion::sim
