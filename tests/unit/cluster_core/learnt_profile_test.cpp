#include "cluster/core/learnt_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

constexpr std::int64_t kNovember20 = 1'795'132'800;  // 2026-11-20 00:00 UTC

// Of one CPU over so many seconds.
struct Seen {
  double seconds = 600;
  double used = 0.99;             // of its time
  double misses_per_second = -1;  // -1: not counted
  double instructions_per_second = 2e9;
  double waits_per_second = -1;  // the same
};

RunFigures run_of(const Seen& seen) {
  RunFigures run;
  run.seconds = run.allotted = seen.seconds;
  run.used = seen.used * seen.seconds;
  if (seen.misses_per_second >= 0) {
    run.counted = seen.seconds;
    run.misses = seen.misses_per_second * seen.seconds;
    run.instructions = seen.instructions_per_second * seen.seconds;
  }
  if (seen.waits_per_second >= 0) {
    run.waits_counted = seen.seconds;
    run.waits = seen.waits_per_second * seen.seconds;
  }
  return run;
}

struct ProfileCase {
  const char* name;
  std::vector<Seen> runs;
  Profile profile;
  const char* why;
};

class LearntProfileOf : public testing::TestWithParam<ProfileCase> {};

TEST_P(LearntProfileOf, FollowsFromTheFigures) {
  ProfileHistory history;
  for (const Seen& seen : GetParam().runs) history = learn(history, run_of(seen), kNovember20);
  const LearntProfile learnt = profile_of(history);
  EXPECT_EQ(learnt.profile, GetParam().profile);
  EXPECT_EQ(learnt.why, GetParam().why);
}

const ProfileCase kProfileCases[] = {
    {"NoRun", {}, Profile::kNone, "no earlier run was observed"},
    {"TooBrief",
     {{.seconds = 30, .misses_per_second = 1e9}},
     Profile::kNone,
     "it was observed for 30 s, and 60 s are needed, in 1 run, last 2026-11-20"},
    {"BriefRunsTogether",
     {{.seconds = 30}, {.seconds = 30}},
     Profile::kCpu,
     "1.0 % of its CPU time unused, and no L3 misses counted, in 2 runs, last 2026-11-20"},
    {"MissesForEachInstruction",
     {{.misses_per_second = 1.05e7, .instructions_per_second = 5e8}},
     Profile::kMemory,
     "21 L3 misses per 1,000 instructions in 1 run, last 2026-11-20"},
    {"JustTooFewMisses",
     {{.misses_per_second = 9.9e6, .instructions_per_second = 1e9}},
     Profile::kCpu,
     "9.9 L3 misses per 1,000 instructions and 1.0 % of its CPU time unused in 1 run, last "
     "2026-11-20"},
    {"Bandwidth",
     {{.misses_per_second = 5e7, .instructions_per_second = 1e10}, {.misses_per_second = 5e7}},
     Profile::kMemory,
     "3.2 GB/s from memory for each CPU in 2 runs, last 2026-11-20"},
    {"BandwidthThoughItWaits",
     {{.used = 0.5, .misses_per_second = 2.5e7, .waits_per_second = 1000}},
     Profile::kMemory,
     "1.6 GB/s from memory for each CPU in 1 run, last 2026-11-20"},
    {"Waits",
     {{.used = 0.6, .misses_per_second = 1e6, .waits_per_second = 1000}},
     Profile::kNetwork,
     "40 % of its CPU time unused, with 1000 waits a second for each CPU, in 1 run, last "
     "2026-11-20"},
    {"WaitsBeforeMissesOfTheRest",
     {{.used = 0.6,
       .misses_per_second = 1e7,
       .instructions_per_second = 5e8,
       .waits_per_second = 1000}},
     Profile::kNetwork,
     "40 % of its CPU time unused, with 1000 waits a second for each CPU, in 1 run, last "
     "2026-11-20"},
    {"WaitsWhereNobodyCountsThem",
     {{.used = 0.75}},
     Profile::kNetwork,
     "25 % of its CPU time unused in 1 run, last 2026-11-20"},
    {"FewerThreadsThanCpus",
     {{.used = 0.5, .misses_per_second = 1e6, .waits_per_second = 2}},
     Profile::kCpu,
     "0.500 L3 misses per 1,000 instructions and 50 % of its CPU time unused in 1 run, last "
     "2026-11-20"},
};
INSTANTIATE_TEST_SUITE_P(Cases, LearntProfileOf, testing::ValuesIn(kProfileCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Learn, ARunOfFullLengthCountsForAThird) {
  ProfileHistory history;
  for (int i = 0; i < 10; ++i) history = learn(history, run_of({.used = 1}), i);
  history = learn(history, run_of({.used = 0.4}), 10);
  EXPECT_DOUBLE_EQ(history.used.value, 0.8);
  EXPECT_EQ(history.runs, 11);
  EXPECT_EQ(history.last_unix_s, 10);
  for (int i = 0; i < 10; ++i) history = learn(history, run_of({.used = 0.4}), i);
  EXPECT_NEAR(history.used.value, 0.4, 0.02) << "old runs are forgotten";
}

TEST(Learn, AShortRunChangesLittle) {
  const auto before = learn({}, run_of({.used = 1}), 0);
  const auto after = learn(before, run_of({.seconds = 30, .used = 0.1}), 1);
  EXPECT_GT(after.used.value, 0.95);
}

TEST(Learn, ALongRunCountsAsAFullOne) {
  const auto before = learn({}, run_of({.used = 1}), 0);
  EXPECT_EQ(learn(before, run_of({.seconds = 1e6, .used = 0.4}), 1).used.value,
            learn(before, run_of({.used = 0.4}), 1).used.value);
}

TEST(Learn, WhatOneRunDidNotCountStaysAsItWas) {
  const auto before = learn({}, run_of({.misses_per_second = 5e7}), 0);
  const auto after = learn(before, run_of({}), 1);
  EXPECT_EQ(after.misses, before.misses);
  EXPECT_EQ(profile_of(after).profile, Profile::kMemory);
}

TEST(Learn, WhereOnlySomeNodesCountMissesThatPartCounts) {
  RunFigures run = run_of({.misses_per_second = 3e7});
  RunFigures elsewhere = run_of({});
  run += elsewhere;
  const auto history = learn({}, run, 0);
  EXPECT_DOUBLE_EQ(history.misses.value, 3e7);
  EXPECT_DOUBLE_EQ(history.misses.seconds, 300);
  EXPECT_DOUBLE_EQ(history.used.seconds, 600);
}

TEST(Learn, WhatMakesNoSenseChangesNothing) {
  const auto before = learn({}, run_of({.misses_per_second = 1e7}), 0);
  EXPECT_EQ(learn(before, {}, 1), before);
  RunFigures odd = run_of({.misses_per_second = 1e300});
  odd.used = 1e300;
  const auto after = learn(before, odd, kLastSecond + 1);
  EXPECT_EQ(after.misses, before.misses);
  EXPECT_LE(after.used.value, 1);
  EXPECT_EQ(after.last_unix_s, kLastSecond);
}

TEST(SentenceOf, NamesTheProfile) {
  EXPECT_EQ(sentence_of({.profile = Profile::kMemory, .why = "much"}), "memory: much");
  EXPECT_EQ(sentence_of({.why = "nothing"}), "none: nothing");
}

TEST(DateText, IsTheDayInUtc) {
  EXPECT_EQ(date_text(0), "1970-01-01");
  EXPECT_EQ(date_text(kNovember20 - 1), "2026-11-19");
  EXPECT_EQ(date_text(kLastSecond), "9999-12-31");
}

}  // namespace
}  // namespace pinion::cluster
