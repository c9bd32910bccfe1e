// Our elastic policy: what a rescale gains against what it costs, and nobody waits for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cluster_core/elastic_play.h"

namespace pinion::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kOurNow = 30 * kMinute;

// Twice the workers, twice as fast; `rest` seconds with one.
ElasticJob linear(ElasticJob job, double rest, double cost = 0) {
  job.speed_up = SpeedUp(0.0);
  job.rest = rest;
  job.shrink_cost_s = job.expand_cost_s = cost;
  return job;
}

ElasticDecision decide_at(std::int64_t now, std::int64_t slots, const std::vector<ElasticJob>& jobs,
                          const ElasticKnobs& knobs = {}) {
  return decide(ElasticPolicy::kOurs, {.jobs = jobs, .slots = slots, .now_ms = now, .freed = false},
                knobs);
}

std::vector<ElasticStep> steps(std::int64_t slots, const std::vector<ElasticJob>& jobs) {
  return decide_at(kOurNow, slots, jobs).steps;
}

int size_of(const std::vector<ElasticStep>& steps, std::uint64_t job) {
  for (const ElasticStep& step : steps) {
    if (step.job == job) return step.workers;
  }
  return 0;
}

TEST(OurElastic, AJobAloneGetsAllThatMakesItFaster) {
  EXPECT_EQ(size_of(steps(64, {linear(waiting(1, 0, 2, 16), 1000)}), 1), 16);
  // No faster with more than 8.
  ElasticJob job = linear(waiting(1, 0, 2, 16), 1000);
  job.speed_up = SpeedUp({{2, 1}, {8, 4}, {16, 4}});
  EXPECT_EQ(size_of(steps(64, {job}), 1), 8);
}

TEST(OurElastic, SlotsGoWhereTheySaveMost) {
  // 1 scales, 2 hardly does: both start, 1 gets nearly all.
  ElasticJob flat = linear(waiting(2, 0, 2, 30), 1000);
  flat.speed_up = SpeedUp(0.9);
  const auto decided = steps(32, {linear(waiting(1, 0, 2, 30), 1000), flat});
  EXPECT_GE(size_of(decided, 1), 20);
  EXPECT_GE(size_of(decided, 2), 2);
  EXPECT_LE(size_of(decided, 1) + size_of(decided, 2), 32);
}

TEST(OurElastic, AllWhoWaitStartBeforeAnyGrows) {
  const auto decided =
      steps(12, {linear(waiting(1, 5, 4, 12), 1000), linear(waiting(2, 1, 4, 12), 1000),
                 linear(waiting(3, 1, 4, 12), 1000)});
  EXPECT_EQ(decided.size(), 3U);
  for (const ElasticStep& step : decided) EXPECT_EQ(step.workers, 4);
}

TEST(OurElastic, AnExpandMustSaveMoreThanItAndAShrinkCost) {
  // From 8 to 16 a rest of 1600 takes 100 s in place of 200.
  EXPECT_THAT(steps(16, {linear(running(1, 0, 2, 16, 8), 1600, 49)}),
              ElementsAre(ElasticStep{.job = 1, .from = 8, .workers = 16, .for_job = 0}));
  EXPECT_THAT(steps(16, {linear(running(1, 0, 2, 16, 8), 1600, 51)}), IsEmpty());
}

TEST(OurElastic, AShrinkMustBeWorthIt) {
  // 2 would wait 100 s for the end of 1. 1 loses two rescales and half its speed while 2 runs for
  // 10 s: 25 s in all, or 125.
  const auto jobs = [](double cost) {
    return std::vector{linear(running(1, 0, 4, 8, 8), 800, cost), linear(waiting(2, 0, 4, 4), 40)};
  };
  EXPECT_THAT(steps(8, jobs(10)), ElementsAre(ElasticStep{1, 8, 4, 2}, ElasticStep{2, 0, 4, 0}));
  EXPECT_THAT(steps(8, jobs(60)), IsEmpty());
}

TEST(OurElastic, WhoLosesLeastShrinks) {
  // 1 does not scale, so it loses nothing by having fewer.
  ElasticJob flat = linear(running(1, 0, 4, 8, 8), 800);
  flat.speed_up = SpeedUp(1.0);
  const auto decided =
      steps(16, {linear(running(3, 0, 4, 8, 8), 800), flat, linear(waiting(5, 0, 4, 4), 40)});
  EXPECT_EQ(size_of(decided, 1), 4);
  EXPECT_EQ(size_of(decided, 3), 0);
}

// 4 waits for 4 slots. 1 and 3 have 8 workers each, and lose 7.5 s and their rescales by giving 4.
TEST(OurElastic, WhoFreesWholeNumaNodesShrinksFirst) {
  using Frees = std::vector<std::int64_t>;
  struct Case {
    const char* name;
    double cost_of_3;  // of one rescale
    Frees frees_of_1;
    Frees frees_of_3;
    std::uint64_t shrinks;
  };
  const Frees whole{0, 0, 0, 4};
  const Frees none{0, 0, 0, 0};
  for (const Case& c :
       {Case{"nothing is known: by id", 0, {}, {}, 1},
        Case{"neither does: by id", 0, none, none, 1}, Case{"both do: by id", 0, whole, whole, 1},
        Case{"only the later one does", 0, none, whole, 3},
        Case{"of the other nothing is known", 0, {}, whole, 3},
        Case{"only with one worker more", 0, {0, 0, 0, 0, 8}, {2, 4}, 3},
        Case{"as many as are stated, and no more", 0, none, {4}, 3},
        Case{"the more of it the better", 0, {0, 0, 0, 2}, whole, 3},
        Case{"not more than it gives", 0, {4}, {100}, 1},
        Case{"half as dear again", 2, none, whole, 3},
        Case{"more than twice as dear", 6, none, whole, 1}}) {
    SCOPED_TRACE(c.name);
    std::vector jobs{linear(running(1, 0, 4, 8, 8), 800),
                     linear(running(3, 0, 4, 8, 8), 800, c.cost_of_3),
                     linear(waiting(4, 0, 4, 4), 60)};
    jobs[0].frees_whole = c.frees_of_1;
    jobs[1].frees_whole = c.frees_of_3;
    const auto decided = steps(16, jobs);
    EXPECT_EQ(size_of(decided, 4), 4);
    EXPECT_EQ(size_of(decided, c.shrinks), 4);
    EXPECT_EQ(size_of(decided, c.shrinks == 1 ? 3 : 1), 0);
  }
}

// Each moves the moment, or the choice, that the tests of the defaults show.
TEST(OurElastic, DoesAsItsKnobsSay) {
  ElasticJob rigid = running(1, 0, 4, 4, 4);
  rigid.change = Change::kRigid;
  ElasticJob behind = linear(waiting(3, 0, 4, 4), 1);
  behind.submitted_ms = kOurNow;
  const std::vector passes{linear(rigid, 100), waiting(2, 0, 8, 8), behind};
  const auto passes_with = [&](std::int64_t patience_ms, std::int64_t strict_ms) {
    // By its age 2 goes before 3, which has less work.
    const ElasticKnobs knobs{
        .ageing_ms = kMinute, .patience_ms = patience_ms, .strict_ms = strict_ms};
    return size_of(decide_at(kOurNow, 8, passes, knobs).steps, 3) == 4;
  };
  EXPECT_TRUE(passes_with(kOurNow - 1, 0)) << "2 has waited for a millisecond less";
  EXPECT_FALSE(passes_with(kOurNow - 2, 0));
  EXPECT_TRUE(passes_with(0, kOurNow - 1)) << "it ends before 2 can start";
  EXPECT_FALSE(passes_with(0, kOurNow - 2));

  ElasticJob urgent = waiting(2, 1, 4, 4);
  urgent.submitted_ms = kOurNow;
  const std::vector aged{waiting(1, 0, 4, 4), urgent};
  const auto first_with = [&](std::int64_t ageing_ms) {
    return decide_at(kOurNow, 4, aged, {.ageing_ms = ageing_ms}).steps.at(0).job;
  };
  EXPECT_EQ(first_with(kOurNow), 2U);
  EXPECT_EQ(first_with((kOurNow - 1) / 2), 1U) << "it has gone up by two ranks";

  ElasticJob costly = linear(running(1, 0, 2, 16, 8), 1600, 30);
  EXPECT_EQ(effective_gap_ms(costly, {.rescale_percent = 1}), 3'000'000);
  EXPECT_EQ(effective_gap_ms(costly, {.rescale_percent = 100}), 30'000);

  // A rescale of 3 costs a little more, and leaves a NUMA node free.
  std::vector gives{linear(running(1, 0, 4, 8, 8), 800), linear(running(3, 0, 4, 8, 8), 800, 2),
                    linear(waiting(4, 0, 4, 4), 60)};
  gives[1].frees_whole = {0, 0, 0, 4};
  EXPECT_EQ(size_of(decide_at(kOurNow, 16, gives, {.broken_percent = 50}).steps, 3), 4);
  EXPECT_EQ(size_of(decide_at(kOurNow, 16, gives, {.broken_percent = 100}).steps, 1), 4);
}

TEST(OurElastic, OnlyTheOrderOfPrioritiesWeighs) {
  // 3 of a far lower priority makes no difference between 1 and 2, which get what is free.
  const auto size_of_2 = [](std::int32_t lowest) {
    ElasticJob last = linear(running(3, lowest, 1, 1, 1), 1000);
    last.change = Change::kRigid;
    return size_of(steps(22, {last, linear(running(1, 0, 2, 20, 3), 1000),
                              linear(running(2, 10, 2, 20, 3), 1000)}),
                   2);
  };
  EXPECT_GT(size_of_2(-1), 10);
  EXPECT_EQ(size_of_2(-1), size_of_2(-1'000'000'000));
}

TEST(OurElastic, PriorityWeighsTime) {
  // It loses 60 s for the 50 that the other would wait: too much, unless that is more urgent.
  const auto jobs = [](std::int32_t priority) {
    return std::vector{linear(running(1, 0, 4, 8, 8), 400, 20),
                       linear(waiting(2, priority, 4, 4), 160)};
  };
  EXPECT_THAT(steps(8, jobs(0)), IsEmpty());
  EXPECT_EQ(size_of(steps(8, jobs(5)), 1), 4);
}

TEST(OurElastic, HigherPriorityStartsFirstAndOfEqualsTheLeastWork) {
  EXPECT_EQ(
      size_of(steps(4, {linear(waiting(1, 0, 4, 4), 10), linear(waiting(2, 1, 4, 4), 1000)}), 2),
      4);
  EXPECT_EQ(
      size_of(steps(4, {linear(waiting(1, 0, 4, 4), 1000), linear(waiting(2, 0, 4, 4), 10)}), 2),
      4);
}

TEST(OurElastic, WaitingMakesMoreUrgent) {
  // 1 has waited 30 minutes, three steps; 2 has just come and its priority is the next higher one.
  ElasticJob fresh = linear(waiting(2, 1000, 4, 4), 10);
  fresh.submitted_ms = kOurNow;
  EXPECT_EQ(size_of(steps(4, {linear(waiting(1, 0, 4, 4), 1000), fresh}), 1), 4);
}

TEST(OurElastic, WhoHasWaitedForLongGetsAllThatBecomesFree) {
  // Nothing can shrink. 2 needs all; 3 would fit, and does until the patience of 2 ends.
  ElasticJob rigid = running(1, 0, 4, 4, 4);
  rigid.change = Change::kRigid;
  ElasticJob late = waiting(3, 0, 2, 2);
  late.submitted_ms = kOurNow;
  const std::vector jobs{rigid, waiting(2, 0, 8, 8), late};
  EXPECT_EQ(size_of(steps(8, jobs), 3), 2);
  const std::int64_t patience = ElasticKnobs().patience_ms;
  EXPECT_EQ(size_of(decide_at(2 + patience - 1, 8, jobs).steps, 3), 2);
  EXPECT_THAT(decide_at(2 + patience, 8, jobs).steps, IsEmpty());
}

// 1 has 4 of 8 slots for 25 s more; 2 needs 6 and has waited for long: in 25 s two will be spare.
class BehindTheFirst : public testing::Test {
 protected:
  std::vector<std::uint64_t> started(std::initializer_list<ElasticJob> behind,
                                     std::int64_t waited = ElasticKnobs().patience_ms) {
    ElasticJob runs = linear(running(1, 0, 4, 4, 4), rest_);
    runs.change = Change::kRigid;
    std::vector jobs{runs, waiting(2, 0, 6, 6)};
    const std::int64_t now = jobs.back().submitted_ms + waited;
    for (ElasticJob job : behind) {
      job.submitted_ms = now;
      jobs.push_back(job);
    }
    std::vector<std::uint64_t> ids;
    const auto decided = decide(ElasticPolicy::kOurs, {.jobs = jobs, .slots = 8, .now_ms = now});
    for (const ElasticStep& step : decided.steps) ids.push_back(step.job);
    return ids;
  }

  double rest_ = 100;
};

TEST_F(BehindTheFirst, StartsWhoEndsBeforeThat) {
  EXPECT_THAT(started({linear(waiting(3, 0, 4, 4), 100)}), ElementsAre(3));
  EXPECT_THAT(started({linear(waiting(3, 0, 4, 4), 101)}), IsEmpty());
  // With 2 it would last for too long.
  EXPECT_THAT(started({linear(waiting(3, 0, 1, 4), 100)}), ElementsAre(3));
}

TEST_F(BehindTheFirst, StartsWhoTakesWhatStaysSpare) {
  EXPECT_THAT(started({linear(waiting(3, 0, 2, 2), 1000), linear(waiting(4, 0, 2, 2), 1000)}),
              ElementsAre(3));
  // What is not known to end.
  EXPECT_THAT(started({waiting(3, 0, 2, 2), waiting(4, 0, 4, 4)}), ElementsAre(3));
}

// Others can still shrink for the first one, once their gap is over.
TEST(OurElastic, NobodyStartsWhoWouldOutlastTheGapOfOneThatCanShrink) {
  ElasticJob gives = linear(running(1, 0, 2, 4, 4), 100'000);
  const ElasticJob first = waiting(2, 0, 6, 6);
  const std::int64_t now = first.submitted_ms + ElasticKnobs().patience_ms;
  gives.changed_ms = now;
  gives.gap_ms = 30'000;
  ElasticJob later = linear(waiting(3, 0, 4, 4), 4 * 31);
  later.submitted_ms = now;
  EXPECT_THAT(decide_at(now, 8, {gives, first, later}).steps, IsEmpty());
  later.rest = 4 * 30;
  EXPECT_EQ(size_of(decide_at(now, 8, {gives, first, later}).steps, 3), 4);
}

// One that may end at any moment.
TEST(OurElastic, NobodyStartsWhoMightOutlastOneOfWhichNothingIsKnown) {
  ElasticJob unknown = running(1, 0, 2, 2, 2);
  ElasticJob known = linear(running(2, 0, 2, 2, 2), 2 * 100'000);
  unknown.change = known.change = Change::kRigid;
  const ElasticJob first = waiting(3, 0, 6, 6);
  const std::int64_t now = first.submitted_ms + ElasticKnobs().patience_ms;
  ElasticJob later = linear(waiting(4, 0, 4, 4), 4 * 1000);
  later.submitted_ms = now;
  EXPECT_THAT(decide_at(now, 8, {unknown, known, first, later}).steps, IsEmpty());
}

TEST_F(BehindTheFirst, NobodyStartsWhereNobodyKnowsWhenItWill) {
  rest_ = kNotStated;
  EXPECT_THAT(started({linear(waiting(3, 0, 4, 4), 1)}), IsEmpty());
}

TEST_F(BehindTheFirst, NobodyStartsOnceItHasWaitedForTooLong) {
  const ElasticJob fits = linear(waiting(3, 0, 4, 4), 100);
  const std::int64_t strict = ElasticKnobs().patience_ms + ElasticKnobs().strict_ms;
  EXPECT_THAT(started({fits}, strict - 1), ElementsAre(3));
  EXPECT_THAT(started({fits}, strict), IsEmpty());
}

// Workers of four CPUs, of which so many find a hole.
ElasticJob large(ElasticJob job, std::int64_t room) {
  job.slots_per_worker = 4;
  job.room = room;
  return job;
}

TEST(OurElastic, NobodyGetsMoreWorkersThanFindAHole) {
  EXPECT_EQ(size_of(steps(64, {large(linear(waiting(1, 0, 2, 8), 1000), 5)}), 1), 5);
  EXPECT_THAT(steps(64, {large(linear(waiting(1, 0, 2, 8), 1000), 1)}), IsEmpty());
  EXPECT_EQ(size_of(steps(64, {large(linear(running(1, 0, 2, 8, 3), 1000), 2)}), 1), 5);
  EXPECT_THAT(steps(64, {large(linear(running(1, 0, 2, 8, 3), 1000), 0)}), IsEmpty());
}

TEST(OurElastic, WhoStartsBeforeTakesHolesToo) {
  // One has room for two workers, which the other takes; small ones take half of a hole each.
  EXPECT_THAT(steps(64, {large(waiting(1, 1, 2, 2), 2), large(waiting(2, 0, 2, 2), 2)}),
              ElementsAre(ElasticStep{1, 0, 2, 0}));
  EXPECT_EQ(steps(64, {waiting(1, 1, 4, 4), large(waiting(2, 0, 1, 1), 2)}).size(), 2U);
  EXPECT_EQ(steps(64, {waiting(1, 1, 5, 5), large(waiting(2, 0, 1, 1), 2)}).size(), 1U);
}

TEST(OurElastic, OthersShrinkForHolesIfThatIsWorthIt) {
  // 8 are free, in pieces. Four of 1 may be enough for a hole; it loses 60 s by that.
  const auto jobs = [](double rest) {
    return std::vector{linear(running(1, 0, 4, 8, 8), rest, 30),
                       large(linear(waiting(2, 0, 1, 1), 10), 0)};
  };
  EXPECT_THAT(steps(16, jobs(8 * 200)),
              ElementsAre(ElasticStep{1, 8, 4, 2}, ElasticStep{2, 0, 1, 0}));
  EXPECT_THAT(steps(16, jobs(8 * 50)), IsEmpty());
}

TEST(OurElastic, WhoHasWaitedForLongForAHoleIsNotPassed) {
  // 2 has room for nobody, though 8 are free; 1 ends in 25 s.
  ElasticJob runs = linear(running(1, 0, 4, 4, 4), 100);
  runs.change = Change::kRigid;
  const auto started = [&](double seconds, std::int64_t waited) {
    const std::int64_t now = 2 + waited;
    ElasticJob behind = linear(waiting(3, 0, 1, 1), seconds);
    behind.submitted_ms = now;
    return size_of(decide_at(now, 12, {runs, large(waiting(2, 0, 1, 1), 0), behind}).steps, 3);
  };
  const std::int64_t patience = ElasticKnobs().patience_ms;
  EXPECT_EQ(started(1000, patience - 1), 1);
  EXPECT_EQ(started(1000, patience), 0) << "though one would be spare, that may be in its hole";
  EXPECT_EQ(started(25, patience), 1);
}

TEST(OurElastic, WhoseStartHasFailedIsNotTriedYetButKeepsItsTurn) {
  ElasticJob runs = linear(running(1, 0, 1, 4, 4), 100);
  ElasticJob first = waiting(2, 0, 2, 2);
  const auto steps_at = [&](std::int64_t now, std::int64_t until) {
    first.declined_until_ms = until;
    ElasticJob behind = linear(waiting(3, 0, 1, 1), 1000);
    behind.submitted_ms = now;
    return decide_at(now, 8, {runs, first, behind});
  };
  const std::int64_t late = 2 + ElasticKnobs().patience_ms;
  EXPECT_EQ(size_of(steps_at(late, late).steps, 2), 2);
  EXPECT_THAT(steps_at(late, late + 1).steps, IsEmpty());
  EXPECT_EQ(steps_at(late, late + 1).look_again_ms, late + 1);
  EXPECT_EQ(size_of(steps_at(kOurNow, kOurNow + 1).steps, 3), 1);
}

TEST(OurElastic, WhoHasWaitedForLongMakesOthersShrinkAtAnyCost) {
  const std::vector jobs{linear(running(1, 0, 4, 8, 8), 8, 1000),
                         linear(waiting(2, 0, 4, 4), 1000)};
  EXPECT_THAT(steps(8, jobs), IsEmpty());
  // 1 has changed long before: its gap of 1000 s / 5 % is over.
  EXPECT_EQ(size_of(decide_at(600 * kMinute, 8, jobs).steps, 1), 4);
}

TEST(OurElastic, TheGapHoldsAndSaysWhenToLookAgain) {
  std::vector jobs{linear(running(1, 0, 2, 16, 8), 1600, 3)};
  jobs[0].changed_ms = kOurNow - 59'999;
  const auto decided = decide_at(kOurNow, 16, jobs);
  EXPECT_THAT(decided.steps, IsEmpty());
  EXPECT_EQ(decided.look_again_ms, kOurNow + 1);  // 3 s are 5 % of 60 s
  EXPECT_FALSE(decide_at(kOurNow + 1, 16, jobs).steps.empty());
}

TEST(OurElastic, TheGapFollowsFromTheCostOfRescales) {
  ElasticJob job = running(1, 0, 2, 16, 8);
  job.gap_ms = 180'000;
  job.shrink_cost_s = 4;
  job.expand_cost_s = 6;
  EXPECT_EQ(effective_gap_ms(job), 180'000);
  job.expand_cost_s = 30;
  EXPECT_EQ(effective_gap_ms(job), 600'000);
  job.gap_ms = 0;
  job.shrink_cost_s = job.expand_cost_s = 0;
  EXPECT_EQ(effective_gap_ms(job), 1000);
}

TEST(OurElastic, WhoDeclinedOrIsBeingChangedIsLeftAlone) {
  std::vector jobs{linear(running(1, 0, 2, 16, 8), 1600)};
  jobs[0].changing = true;
  EXPECT_THAT(steps(16, jobs), IsEmpty());
  jobs[0].changing = false;
  jobs[0].declined_until_ms = kOurNow + 5;
  EXPECT_THAT(steps(16, jobs), IsEmpty());
  EXPECT_EQ(decide_at(kOurNow, 16, jobs).look_again_ms, kOurNow + 5);
}

TEST(OurElastic, OnlyMalleableJobsChange) {
  for (const Change change : {Change::kRigid, Change::kMoldable}) {
    std::vector jobs{linear(running(1, 0, 2, 16, 8), 1600), linear(waiting(2, 0, 4, 4), 40)};
    jobs[0].change = change;
    EXPECT_THAT(steps(8, jobs), IsEmpty());
    jobs.pop_back();
    EXPECT_THAT(steps(16, jobs), IsEmpty());
  }
}

TEST(OurElastic, AJobThatStartsSmallMayTakeMoreFromOthers) {
  // 2 has twice the weight of 1 and scales; 4 are free.
  const auto decided =
      steps(20, {linear(running(1, 0, 2, 16, 16), 800), linear(waiting(2, 9, 4, 16), 8000)});
  EXPECT_THAT(decided, ElementsAre(ElasticStep{1, 16, 4, 2}, ElasticStep{2, 0, 16, 0}));
}

// One whose user wishes for more. It is no faster with more, nearly done, and rescales are dear.
ElasticJob wished(std::uint64_t id, std::int32_t priority, int workers, int wish) {
  ElasticJob job = linear(running(id, priority, workers, wish, workers), 1, 1000);
  job.speed_up = SpeedUp(1.0);
  job.wished = true;
  job.kept_workers = wish;
  return job;
}

TEST(OurElastic, AWishNeedsNoGainAndComesBeforeGains) {
  const ElasticJob gains = linear(running(1, 9, 2, 16, 2), 1000);
  EXPECT_THAT(steps(10, {gains, wished(2, 0, 2, 7)}),
              ElementsAre(ElasticStep{1, 2, 3, 0}, ElasticStep{2, 2, 7, 0}));
  EXPECT_THAT(steps(6, {gains, wished(2, 0, 2, 7)}), ElementsAre(ElasticStep{2, 2, 4, 0}));
  ElasticJob holes = wished(2, 0, 2, 7);
  holes.room = 1;
  EXPECT_EQ(size_of(steps(10, {gains, holes}), 2), 3);
}

TEST(OurElastic, WishesGoByPriorityAndSubmission) {
  EXPECT_THAT(steps(8, {wished(1, 0, 2, 7), wished(2, 1, 2, 5)}),
              ElementsAre(ElasticStep{1, 2, 3, 0}, ElasticStep{2, 2, 5, 0}));
  EXPECT_THAT(steps(8, {wished(1, 0, 2, 5), wished(2, 0, 2, 7)}),
              ElementsAre(ElasticStep{1, 2, 5, 0}, ElasticStep{2, 2, 3, 0}));
}

TEST(OurElastic, AWishKeepsTheStatedGapAndLeavesADeclineAlone) {
  std::vector jobs{wished(1, 0, 2, 7)};
  jobs[0].gap_ms = 60'000;
  jobs[0].changed_ms = kOurNow - 59'999;
  EXPECT_THAT(steps(8, jobs), IsEmpty());
  EXPECT_EQ(decide_at(kOurNow, 8, jobs).look_again_ms, kOurNow + 1);
  EXPECT_EQ(size_of(decide_at(kOurNow + 1, 8, jobs).steps, 1), 7);
  jobs[0].declined_until_ms = kOurNow + 5;
  EXPECT_THAT(decide_at(kOurNow + 1, 8, jobs).steps, IsEmpty());
  jobs[0].gap_ms = 0;
  EXPECT_EQ(effective_gap_ms(jobs[0]), 1000);
}

// Neither who can start nor who has waited for long waits for it.
TEST(OurElastic, AWishTakesNothingFromThoseThatWait) {
  std::vector jobs{wished(1, 0, 2, 8), linear(waiting(2, 0, 4, 4), 40)};
  EXPECT_THAT(steps(8, jobs), ElementsAre(ElasticStep{2, 0, 4, 0}, ElasticStep{1, 2, 4, 0}));
  jobs[1] = linear(waiting(2, 0, 7, 7), 40);
  EXPECT_THAT(steps(8, jobs), ElementsAre(ElasticStep{1, 2, 8, 0}));
  EXPECT_THAT(decide_at(2 + ElasticKnobs().patience_ms, 8, jobs).steps, IsEmpty());
}

TEST(OurElastic, AnOldWishHasItsTurnBeforeWhoCameAfterIt) {
  const std::int64_t patience = ElasticKnobs().patience_ms;
  std::vector jobs{wished(1, 0, 2, 8), linear(waiting(2, 9, 4, 4), 40)};
  jobs[0].wished_since_ms = kOurNow - patience;
  jobs[1].submitted_ms = kOurNow - patience + 1;
  EXPECT_THAT(steps(8, jobs), ElementsAre(ElasticStep{1, 2, 8, 0}));
  jobs[0].wished_since_ms += 1;
  EXPECT_THAT(steps(8, jobs), ElementsAre(ElasticStep{2, 0, 4, 0}, ElasticStep{1, 2, 4, 0}))
      << "it is not as old, and has nothing before who came with it";
  EXPECT_EQ(decide_at(kOurNow, 4, jobs).look_again_ms, kOurNow + 1);
  jobs[0].wished_since_ms -= 1;
  jobs[1].submitted_ms -= 2;
  EXPECT_THAT(steps(8, jobs), ElementsAre(ElasticStep{2, 0, 4, 0}, ElasticStep{1, 2, 4, 0}))
      << "2 has waited for longer";
}

TEST(OurElastic, ForAnOldWishOneWorkersSlotsAreKept) {
  ElasticJob wish = wished(1, 0, 2, 8);
  wish.slots_per_worker = 4;
  wish.wished_since_ms = kOurNow - ElasticKnobs().patience_ms;
  ElasticJob small = linear(waiting(2, 9, 1, 1), 40);
  small.submitted_ms = kOurNow;
  const auto kept = decide_at(kOurNow, 8 + 3, std::vector{wish, small});
  EXPECT_THAT(kept.steps, IsEmpty());
  ASSERT_EQ(kept.waits.size(), 1U);
  EXPECT_EQ(kept.waits[0].why, ElasticWait::Why::kKeptForOther);
  EXPECT_EQ(kept.waits[0].for_job, 1U);
  EXPECT_EQ(kept.waits[0].free, 3);
  EXPECT_THAT(steps(8 + 4, {wish, small}), ElementsAre(ElasticStep{1, 2, 3, 0}));
  wish.room = 0;
  EXPECT_THAT(steps(8 + 5, {wish, small}), ElementsAre(ElasticStep{2, 0, 1, 0}))
      << "no more than that is kept where it finds no hole";
  wish.changed_ms = kOurNow;
  wish.gap_ms = kMinute;
  EXPECT_THAT(steps(8 + 3, {wish, small}), ElementsAre(ElasticStep{2, 0, 1, 0}))
      << "nothing is kept during its gap";
}

// Two small jobs wait at any moment, and take each slot that becomes free.
TEST(OurElastic, SteadyArrivalsDoNotKeepAWishWaitingForEver) {
  constexpr std::int64_t kSlots = 16;
  constexpr std::int64_t kRunsFor = 20 * kMinute;
  constexpr std::int64_t kWorkers = 3;  // 2, and a third
  for (const std::int64_t size : {1, 3, 4}) {
    SCOPED_TRACE(size);
    ElasticJob wish = wished(1, 0, 2, kWorkers);
    wish.slots_per_worker = size;
    wish.max_workers = 2;  // until all slots are taken
    wish.wished = false;
    const std::int64_t since = kOurNow + 2 * kRunsFor;
    std::vector<ElasticJob> jobs{wish};
    std::int64_t now = kOurNow;
    std::uint64_t next = 2;
    for (; jobs[0].workers < kWorkers && now < kOurNow + 600 * kMinute; now += kMinute / 2) {
      if (now == since) {
        jobs[0].wished = true;
        jobs[0].max_workers = kWorkers;
        jobs[0].wished_since_ms = since;
      }
      std::erase_if(jobs, [&](const ElasticJob& job) {
        return job.id != 1 && job.workers > 0 && now - job.changed_ms >= kRunsFor;
      });
      const auto waits = [](const ElasticJob& job) { return job.workers == 0; };
      while (std::count_if(jobs.begin(), jobs.end(), waits) < 2) {
        ElasticJob small = linear(waiting(next++, 9, 1, 1), 1200);
        small.submitted_ms = now;
        jobs.push_back(small);
      }
      for (const ElasticStep& step : decide_at(now, kSlots, jobs).steps) {
        for (ElasticJob& job : jobs) {
          if (job.id != step.job) continue;
          job.workers = step.workers;
          job.changed_ms = now;
        }
      }
    }
    EXPECT_GT(now, since + kMinute) << "the arrivals are too slow";
    EXPECT_LE(now, since + ElasticKnobs().patience_ms + kRunsFor + kMinute);
  }
}

TEST(OurElastic, AWishHoldsAgainstWhoIsNeitherMoreUrgentNorHasWaitedForTooLong) {
  struct Case {
    const char* name;
    int kept;
    std::int32_t priority;
    std::int64_t waited_ms;
    bool shrinks;
    std::int64_t wished;  // slots, for the one that waits
  };
  const std::int64_t patience = ElasticKnobs().patience_ms;
  const std::int64_t now = 600 * kMinute;
  for (const Case& c :
       {Case{"no wish", 0, 0, 0, true, 0}, Case{"as urgent", 8, 0, 0, false, 4},
        Case{"less urgent", 8, -1, 0, false, 4}, Case{"more urgent", 8, 1, 0, true, 0},
        Case{"not yet for too long", 8, -1, patience - 1, false, 4},
        Case{"for too long", 8, -1, patience, true, 0}}) {
    SCOPED_TRACE(c.name);
    ElasticJob job = linear(running(1, 0, 2, 8, 6), 1'000'000);
    job.kept_workers = c.kept;
    job.wished = c.kept > 0;
    ElasticJob other = linear(waiting(2, c.priority, 4, 4), 40);
    other.submitted_ms = now - c.waited_ms;
    const auto decided = decide_at(now, 6, {job, other});
    EXPECT_EQ(size_of(decided.steps, 2), c.shrinks ? 4 : 0);
    if (c.shrinks) {
      EXPECT_EQ(size_of(decided.steps, 1), 2);
      continue;
    }
    ASSERT_EQ(decided.waits.size(), 1U);
    EXPECT_EQ(decided.waits[0].could + decided.waits[0].later, 0);
    EXPECT_EQ(decided.waits[0].wished, c.wished);
  }
}

// What is above a wish is given whatever is wished; who gets its minimum so takes no more.
TEST(OurElastic, OnlyWhatIsWishedForIsHeld) {
  ElasticJob job = linear(running(1, 0, 2, 8, 8), 1'000'000);
  job.kept_workers = 5;
  const std::int64_t now = 600 * kMinute;
  ElasticJob other = linear(waiting(2, 0, 3, 6), 40);
  other.submitted_ms = now;
  EXPECT_THAT(decide_at(now, 8, {job, other}).steps,
              ElementsAre(ElasticStep{1, 8, 5, 2}, ElasticStep{2, 0, 3, 0}));
}

TEST(OurElastic, UnknownCostsAndRestsAreGuessed) {
  ElasticJob job = running(1, 0, 2, 16, 2);
  EXPECT_EQ(size_of(steps(16, {job}), 1), 16);
}

TEST(ExpectedCost, IsTheMeanOfTheLastSeen) {
  EXPECT_DOUBLE_EQ(expected_cost_s({}), 5);
  EXPECT_DOUBLE_EQ(expected_cost_s({}, 2), 2);
  EXPECT_DOUBLE_EQ(expected_cost_s(std::vector{100.0, 1.0, 2.0, 3.0, 4.0}, 2), 2.5);
}

}  // namespace
}  // namespace pinion::cluster
