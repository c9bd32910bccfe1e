// Why jobs wait, under the paper's policies and ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cluster_core/elastic_play.h"

namespace pinion::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Why = ElasticWait::Why;

constexpr std::int64_t kWaitNow = 30 * kMinute;

std::vector<ElasticWait> waits(ElasticPolicy policy, std::int64_t now, std::int64_t slots,
                               const std::vector<ElasticJob>& jobs) {
  return decide(policy, {.jobs = jobs, .slots = slots, .now_ms = now, .freed = false}).waits;
}

// With the shrinks and expands of 1000 s.
ElasticJob dear(ElasticJob job) {
  job.shrink_cost_s = job.expand_cost_s = 1000;
  return job;
}

TEST(ElasticWaits, SayWhatIsFreeAndWhatOthersCouldGive) {
  // 1 may give two, 2 four when its gap is over, 3 is of higher priority. One is free.
  std::vector jobs{running(1, 1, 2, 8, 4), running(2, 1, 2, 8, 6), running(3, 9, 2, 8, 4),
                   arriving(4, 5, 8, 8), arriving(5, 5, 1, 1)};
  jobs[1].gap_ms = kMinute;
  jobs[1].changed_ms = kWaitNow - 1;
  EXPECT_THAT(waits(ElasticPolicy::kElastic, kWaitNow, 15, jobs),
              ElementsAre(ElasticWait{.job = 4, .free = 1, .could = 2, .later = 4}));
  EXPECT_THAT(waits(ElasticPolicy::kMoldable, kWaitNow, 15, jobs),
              ElementsAre(ElasticWait{.job = 4, .free = 1}));
  EXPECT_THAT(waits(ElasticPolicy::kElastic, kWaitNow, 30, jobs), IsEmpty());
}

TEST(ElasticWaits, SayWhatIsHeldByWishes) {
  for (const auto policy : {ElasticPolicy::kElastic, ElasticPolicy::kOurs}) {
    // 4 of 1 are wished for, and all of 2.
    std::vector jobs{running(1, 1, 2, 8, 5), running(2, 5, 2, 8, 6), arriving(3, 1, 9, 9),
                     arriving(4, 6, 12, 12)};
    jobs[0].kept_workers = 4;
    jobs[1].kept_workers = 6;
    jobs[2].submitted_ms = 0;  // before 1
    const bool ours = policy == ElasticPolicy::kOurs;
    EXPECT_THAT(
        waits(policy, kWaitNow, 11, jobs),
        testing::UnorderedElementsAre(ElasticWait{.job = 3, .could = 1, .wished = ours ? 6 : 2},
                                      ElasticWait{.job = 4, .could = 7}))
        << "ours: " << ours;
  }
}

TEST(ElasticWaits, OursSaysThatAShrinkIsNotWorthItsCost) {
  const std::vector jobs{dear(running(1, 0, 4, 8, 8)), waiting(2, 0, 4, 4)};
  // Long after its last change.
  const std::int64_t later = 600 * kMinute;
  std::vector now = jobs;
  now[1].submitted_ms = later;
  EXPECT_THAT(waits(ElasticPolicy::kOurs, later, 8, now),
              ElementsAre(ElasticWait{.job = 2, .why = Why::kNotWorthIt, .could = 4}));
  now[0].change = Change::kRigid;
  EXPECT_THAT(waits(ElasticPolicy::kOurs, later, 8, now), ElementsAre(ElasticWait{.job = 2}));
}

TEST(ElasticWaits, OursSaysThatThereAreNoHoles) {
  ElasticJob job = waiting(1, 0, 2, 4);
  job.slots_per_worker = 4;
  job.room = 1;
  EXPECT_THAT(waits(ElasticPolicy::kOurs, kWaitNow, 16, {job}),
              ElementsAre(ElasticWait{.job = 1, .why = Why::kNoHoles, .free = 16}));
  EXPECT_THAT(waits(ElasticPolicy::kOurs, kWaitNow, 7, {job}),
              ElementsAre(ElasticWait{.job = 1, .free = 7}));
}

TEST(ElasticWaits, OursSaysForWhomIsKeptWhatIsFree) {
  ElasticJob rigid = running(1, 0, 4, 4, 4);
  rigid.change = Change::kRigid;
  ElasticJob late = waiting(3, 0, 2, 2);
  const std::int64_t now = 2 + ElasticKnobs().patience_ms;
  late.submitted_ms = now;
  EXPECT_THAT(
      waits(ElasticPolicy::kOurs, now, 8, {rigid, waiting(2, 0, 8, 8), late}),
      ElementsAre(ElasticWait{.job = 2, .free = 4},
                  ElasticWait{.job = 3, .why = Why::kKeptForOther, .free = 4, .for_job = 2}));
}

}  // namespace
}  // namespace pinion::cluster
