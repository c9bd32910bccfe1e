// The elastic Charm++ paper's policies, by the letter of its text (elastic.h).
#include "cluster/core/elastic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cluster_core/elastic_play.h"

namespace pinion::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kPaperNow = 100 * kMinute;

ElasticStep start(std::uint64_t job, int workers) {
  return {.job = job, .from = 0, .workers = workers, .for_job = 0};
}
ElasticStep expand(std::uint64_t job, int from, int workers) {
  return {.job = job, .from = from, .workers = workers, .for_job = 0};
}
ElasticStep shrink(std::uint64_t job, int from, int workers, std::uint64_t for_job) {
  return {.job = job, .from = from, .workers = workers, .for_job = for_job};
}

std::vector<ElasticStep> arrival(ElasticPolicy policy, std::int64_t slots,
                                 const std::vector<ElasticJob>& jobs) {
  return decide(policy, {.jobs = jobs, .slots = slots, .now_ms = kPaperNow, .freed = false}).steps;
}

std::vector<ElasticStep> end(ElasticPolicy policy, std::int64_t slots,
                             const std::vector<ElasticJob>& jobs) {
  return decide(policy, {.jobs = jobs, .slots = slots, .now_ms = kPaperNow, .freed = true}).steps;
}

TEST(ElasticArrival, TakesWhatIsFreeUpToItsMaximum) {
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 20, {arriving(1, 1, 4, 16)}),
              ElementsAre(start(1, 16)));
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 9, {arriving(1, 1, 4, 16)}),
              ElementsAre(start(1, 9)));
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 4, {arriving(1, 1, 4, 16)}),
              ElementsAre(start(1, 4)));
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 3, {arriving(1, 1, 4, 16)}), IsEmpty());
}

TEST(ElasticArrival, ALauncherNeedsASlotToo) {
  ElasticJob job = arriving(1, 1, 4, 16);
  job.other_slots = 1;
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 9, {job}), ElementsAre(start(1, 8)));
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 4, {job}), IsEmpty());
}

TEST(ElasticArrival, WorkersOfSeveralSlotsAreWhole) {
  ElasticJob job = arriving(1, 1, 1, 16);
  job.slots_per_worker = 4;
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 11, {job}), ElementsAre(start(1, 2)));
}

TEST(ElasticArrival, ShrinksNobodyWhereItsMinimumIsFree) {
  // 3.2.1: "our scheduling algorithm will run the higher priority job at its minimum replicas
  // configuration to avoid a shrink call to the lower priority job".
  EXPECT_THAT(
      arrival(ElasticPolicy::kElastic, 20, {running(1, 1, 2, 16, 16), arriving(2, 5, 4, 16)}),
      ElementsAre(start(2, 4)));
}

TEST(ElasticArrival, OthersShrinkUntilItCanRunAtItsMaximum) {
  EXPECT_THAT(
      arrival(ElasticPolicy::kElastic, 32, {running(1, 1, 4, 32, 32), arriving(2, 5, 2, 8)}),
      ElementsAre(shrink(1, 32, 24, 2), start(2, 8)));
}

TEST(ElasticArrival, TheLeastUrgentShrinksFirst) {
  // Of equal priorities the later one; 1 keeps what it has.
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 30,
                      {running(1, 2, 4, 10, 10), running(2, 1, 4, 10, 10), running(3, 1, 4, 10, 10),
                       arriving(4, 5, 2, 9)}),
              ElementsAre(shrink(3, 10, 4, 4), shrink(2, 10, 7, 4), start(4, 9)));
}

TEST(ElasticArrival, TheJobOfHighestPriorityShrinksTooIfItIsLess) {
  // Fig. 2 never looks at entry 0 of the running jobs; the text has no such exception.
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 8, {running(1, 4, 2, 8, 8), arriving(2, 5, 4, 4)}),
              ElementsAre(shrink(1, 8, 4, 2), start(2, 4)));
}

TEST(ElasticArrival, AMoreUrgentJobKeepsOnlyItselfFromShrinking) {
  // The released operator looks from 1 down, and ends there.
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 16,
                      {running(1, 9, 2, 8, 8), running(2, 1, 2, 8, 8), arriving(3, 5, 4, 4)}),
              ElementsAre(shrink(2, 8, 4, 3), start(3, 4)));
}

TEST(ElasticArrival, EqualAndHigherPriorityIsLeftAlone) {
  // Of equal priority the one submitted earlier is of higher priority (3.2.1).
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 16,
                      {running(1, 5, 2, 8, 8), running(2, 3, 2, 8, 8), arriving(3, 3, 4, 8)}),
              IsEmpty());
}

TEST(ElasticArrival, AWishHoldsAgainstEqualPriorityAlone) {
  // 2 came before 1, as urgent; 3 is more urgent.
  std::vector jobs{running(1, 1, 2, 8, 8), arriving(2, 1, 4, 4)};
  jobs[0].submitted_ms = 3;
  jobs[0].kept_workers = 6;
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 8, jobs), IsEmpty());
  jobs[1].min_workers = 2;
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 8, jobs),
              ElementsAre(shrink(1, 8, 6, 2), start(2, 2)));
  jobs[1] = arriving(3, 2, 4, 6);
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 8, jobs),
              ElementsAre(shrink(1, 8, 2, 3), start(3, 6)));
}

TEST(ElasticArrival, ByFigure2EqualPriorityShrinksToo) {
  EXPECT_THAT(arrival(ElasticPolicy::kElasticFig2, 16,
                      {running(1, 5, 2, 8, 8), running(2, 3, 2, 8, 8), arriving(3, 3, 4, 8)}),
              ElementsAre(shrink(2, 8, 2, 3), start(3, 6)));
}

// The later one is more urgent, and what 1 can give is enough for one of them.
TEST(ElasticArrival, WhoHasWaitedGoesByPriority) {
  const std::vector jobs{running(1, 1, 2, 8, 8), arriving(2, 3, 6, 6), arriving(3, 5, 6, 6)};
  ElasticView view{.jobs = jobs, .slots = 8, .now_ms = kPaperNow};
  EXPECT_THAT(decide(ElasticPolicy::kElastic, view).steps,
              ElementsAre(shrink(1, 8, 2, 2), start(2, 6)));
  view.have_waited = true;
  EXPECT_THAT(decide(ElasticPolicy::kElastic, view).steps,
              ElementsAre(shrink(1, 8, 2, 3), start(3, 6)));
}

TEST(ElasticArrival, NobodyShrinksWhereEvenTheMinimumCannotBeFreed) {
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 8, {running(1, 1, 6, 8, 8), arriving(2, 5, 4, 8)}),
              IsEmpty());
}

TEST(ElasticArrival, WhoIsWithinItsGapIsPassedOver) {
  std::vector jobs{running(1, 2, 2, 8, 8), running(2, 1, 2, 8, 8), arriving(3, 5, 4, 6)};
  jobs[1].gap_ms = 3 * kMinute;
  jobs[1].changed_ms = kPaperNow - 3 * kMinute + 1;
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 16, jobs),
              ElementsAre(shrink(1, 8, 2, 3), start(3, 6)));
  jobs[1].changed_ms = kPaperNow - 3 * kMinute;
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 16, jobs),
              ElementsAre(shrink(2, 8, 2, 3), start(3, 6)));
}

TEST(ElasticArrival, WhoIsBeingChangedOrHasDeclinedIsPassedOver) {
  std::vector jobs{running(1, 1, 2, 8, 8), arriving(2, 5, 4, 6)};
  jobs[0].changing = true;
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 8, jobs), IsEmpty());
  jobs[0].changing = false;
  jobs[0].declined_until_ms = kPaperNow + 1;
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 8, jobs), IsEmpty());
}

TEST(ElasticArrival, OnlyMalleableJobsShrink) {
  for (const Change change : {Change::kRigid, Change::kMoldable}) {
    std::vector jobs{running(1, 1, 2, 8, 8), arriving(2, 5, 4, 6)};
    jobs[0].change = change;
    EXPECT_THAT(arrival(ElasticPolicy::kElastic, 8, jobs), IsEmpty());
  }
}

TEST(ElasticArrival, GoesPastWhoWaits) {
  // "out-of-order allocations if they improve cluster utilization": 2 waits for 16.
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 16,
                      {running(1, 5, 8, 8, 8), waiting(2, 5, 16, 16), arriving(3, 1, 4, 8)}),
              ElementsAre(start(3, 8)));
}

TEST(ElasticArrival, NobodyWhoWaitsIsLookedAt) {
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 16, {waiting(1, 5, 4, 4), running(2, 1, 2, 8, 4)}),
              IsEmpty());
}

TEST(ElasticArrival, SeveralGoBySubmissionAndDoNotShrinkEachOther) {
  EXPECT_THAT(arrival(ElasticPolicy::kElastic, 8, {arriving(2, 5, 2, 8), arriving(1, 1, 2, 8)}),
              ElementsAre(start(1, 8)));
}

TEST(ElasticEnd, WhatIsFreeGoesByPriorityToRunningAndWaiting) {
  EXPECT_THAT(end(ElasticPolicy::kElastic, 30,
                  {running(1, 1, 2, 16, 4), waiting(2, 3, 4, 8), running(3, 5, 2, 16, 8)}),
              ElementsAre(expand(3, 8, 16), start(2, 8), expand(1, 4, 6)));
}

TEST(ElasticEnd, OfEqualPriorityTheEarlierGoesFirst) {
  EXPECT_THAT(end(ElasticPolicy::kElastic, 10, {running(2, 3, 2, 8, 4), waiting(1, 3, 2, 4)}),
              ElementsAre(start(1, 4), expand(2, 4, 6)));
}

TEST(ElasticEnd, AWaitingJobThatDoesNotFitIsPassedOver) {
  EXPECT_THAT(end(ElasticPolicy::kElastic, 10, {waiting(1, 5, 8, 8), running(2, 1, 2, 8, 4)}),
              ElementsAre(expand(2, 4, 8)));
}

TEST(ElasticEnd, TheGapIsOfRunningJobsOnly) {
  std::vector jobs{waiting(1, 5, 4, 4), running(2, 3, 2, 8, 4)};
  jobs[0].gap_ms = jobs[1].gap_ms = 3 * kMinute;
  jobs[1].changed_ms = kPaperNow - kMinute;
  EXPECT_THAT(end(ElasticPolicy::kElastic, 12, jobs), ElementsAre(start(1, 4)));
}

TEST(ElasticEnd, NobodyShrinks) {
  EXPECT_THAT(end(ElasticPolicy::kElastic, 10, {waiting(1, 5, 4, 8), running(2, 1, 2, 8, 8)}),
              IsEmpty());
}

TEST(ElasticEnd, ComesBeforeArrivals) {
  // 1 expands into all that is free, and the new one finds nobody to shrink.
  EXPECT_THAT(end(ElasticPolicy::kElastic, 8, {running(1, 1, 2, 8, 4), arriving(2, 5, 4, 8)}),
              ElementsAre(expand(1, 4, 8)));
}

TEST(ElasticOthers, MoldableChoosesAtTheStartOnly) {
  EXPECT_THAT(arrival(ElasticPolicy::kMoldable, 8, {running(1, 1, 2, 8, 8), arriving(2, 5, 2, 8)}),
              IsEmpty());
  EXPECT_THAT(end(ElasticPolicy::kMoldable, 20, {running(1, 1, 2, 16, 8), waiting(2, 1, 2, 8)}),
              ElementsAre(start(2, 8)));
}

TEST(ElasticOthers, MinAndMaxHaveOneSize) {
  const std::vector jobs{arriving(1, 1, 2, 8), arriving(2, 1, 2, 8)};
  EXPECT_THAT(arrival(ElasticPolicy::kMin, 12, jobs), ElementsAre(start(1, 2), start(2, 2)));
  EXPECT_THAT(arrival(ElasticPolicy::kMax, 12, jobs), ElementsAre(start(1, 8)));
  EXPECT_THAT(end(ElasticPolicy::kMin, 12, {running(1, 1, 2, 8, 2), waiting(2, 1, 2, 8)}),
              ElementsAre(start(2, 2)));
  EXPECT_THAT(end(ElasticPolicy::kMax, 12, {waiting(1, 1, 2, 8), waiting(2, 5, 2, 8)}),
              ElementsAre(start(2, 8)));
}

TEST(ElasticOthers, ThePaperNeedsNoTimer) {
  const std::vector jobs{running(1, 1, 2, 8, 8), waiting(2, 5, 4, 8)};
  EXPECT_FALSE(decide(ElasticPolicy::kElastic, {.jobs = jobs, .slots = 8, .now_ms = kPaperNow})
                   .look_again_ms);
}

TEST(ElasticOthers, NamesAreKnown) {
  EXPECT_EQ(elastic_policy_of("elastic"), ElasticPolicy::kElastic);
  EXPECT_EQ(elastic_policy_of("elastic-fig2"), ElasticPolicy::kElasticFig2);
  EXPECT_EQ(elastic_policy_of("ours"), ElasticPolicy::kOurs);
  EXPECT_EQ(elastic_policy_of("Elastic"), std::nullopt);
}

}  // namespace
}  // namespace pinion::cluster
