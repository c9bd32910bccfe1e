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

std::string sizes_of_last(int processors, const ElasticRules& rules, const std::vector<Job>& jobs) {
  ElasticMachine pool(processors, rules);
  const auto played = play(jobs, pool);
  for (const JobRecord& record : played.records) {
    if (record.job.number == jobs.back().number) return sizes_of(record);
  }
  return "";
}

TEST(ElasticMachine, UnderOursWhoCouldHaveMoreWaitsWhileProcessorsBecomeFree) {
  const auto sizes = [](ElasticPolicy policy, int other_ends) {
    return sizes_of_last(
        8, rules_of(policy),
        {job_of(1, 0, 10, 4), job_of(2, 0, other_ends, 4), elastic_job(3, 1, 100, 2, 8)});
  };
  EXPECT_EQ(sizes(ElasticPolicy::kOurs, 12), "8@12 ");
  EXPECT_EQ(sizes(ElasticPolicy::kOurs, 100), "4@15 8@100 ") << "nothing more for 5 s";
  EXPECT_EQ(sizes(ElasticPolicy::kElastic, 12), "4@10 8@12 ") << "the paper knows no such time";
  EXPECT_EQ(sizes(ElasticPolicy::kMoldable, 12), "4@10 ");
}

TEST(ElasticMachine, WhereJobsEndAllTheTimeItWaitsNoLongerThanUnderTheExtender) {
  std::vector<Job> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back(job_of(i + 1, 0, 10 + 4 * i, 1));
  jobs.push_back(elastic_job(21, 1, 100, 1, 20));
  EXPECT_THAT(sizes_of_last(20, {}, jobs), testing::StartsWith("8@40 "));
}

TEST(ElasticMachine, WhatAShrinkFreesSettlesToo) {
  // 1 may give 4 at 200, as its rescale costs 10 s, and they are free at 210.
  ElasticMachine pool(8, {});
  const auto played = play(
      {with_rescale(elastic_job(1, 0, 1000, 4, 8), 10), elastic_job(2, 20, 100, 4, 8, 5)}, pool);
  EXPECT_EQ(played.times.at(2).first, 215);
}

TEST(ElasticMachine, AnExpandThatWaitsBeginsNoNewGap) {
  EXPECT_EQ(sizes_of_last(16, {.policy = ElasticPolicy::kOurs, .gap = 30'000},
                          {job_of(1, 0, 31, 4), job_of(2, 0, 33, 4), job_of(3, 0, 1000, 4),
                           elastic_job(4, 0, 1000, 4, 16)}),
            "4@0 12@38 16@1000 ");
}

Job with_wishes(Job job, std::vector<Wish> wishes) {
  auto elastic = std::make_shared<Elastic>(*job.elastic);
  elastic->wishes = std::move(wishes);
  job.elastic = std::move(elastic);
  return job;
}

TEST(ElasticMachine, AWishForFewerIsMetAtOnceAndForMoreWithoutAGain) {
  const ElasticRules rules{.policy = ElasticPolicy::kOurs, .gap = 60'000};
  const Job fewer = with_wishes(elastic_job(1, 5, 100, 2, 8), {{10'000, 4}, {50'000, 0}});
  EXPECT_EQ(sizes_of_last(8, rules, {fewer}), "8@5 4@15 8@75 ") << "which waits for its gap";
  Job flat = elastic_job(1, 0, 100, 2, 8);
  auto elastic = std::make_shared<Elastic>(*flat.elastic);
  elastic->speed_up = cluster::SpeedUp(1.0, 8);
  flat.elastic = std::move(elastic);
  EXPECT_EQ(sizes_of_last(8, {}, {flat}), "2@0 ");
  EXPECT_EQ(sizes_of_last(8, {}, {with_wishes(flat, {{10'000, 6}})}), "2@0 6@10 ");
  const Job moldable = [&] {
    auto keeps = std::make_shared<Elastic>(*fewer.elastic);
    keeps->change = cluster::Change::kMoldable;
    Job job = fewer;
    job.elastic = std::move(keeps);
    return job;
  }();
  EXPECT_EQ(sizes_of_last(8, rules, {moldable}), "8@5 ");
}

TEST(ElasticMachine, AWishHoldsAgainstOthersAndForItsOwnStart) {
  for (const auto policy : {ElasticPolicy::kElasticFig2, ElasticPolicy::kOurs}) {
    const Job first = elastic_job(1, 0, 100, 2, 8);
    const Job later = elastic_job(2, 10, 10, 4, 4);
    EXPECT_EQ(sizes_of_last(8, rules_of(policy), {first, later}), "4@10 ");
    const Job keeps = with_wishes(first, {{0, 8}});
    EXPECT_EQ(sizes_of_last(8, rules_of(policy), {keeps, later}), "4@100 ");
  }
  const std::vector jobs{job_of(1, 0, 50, 4), with_wishes(elastic_job(2, 1, 10, 2, 8), {{0, 6}})};
  EXPECT_EQ(sizes_of_last(8, {}, jobs), "6@50 ");
}

TEST(ElasticMachine, WhatCanNeverBeHadIsNotToBeWishedFor) {
  ElasticMachine pool(8, {});
  EXPECT_THAT(play({with_wishes(elastic_job(1, 0, 10, 2, 16), {{5'000, 9}})}, pool).refused,
              ElementsAre(testing::Pair(1, "needs 9 processors, there are 8")));
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
