#include "tests/lab/mpi_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::lab {
namespace {

using testing::HasSubstr;
using testing::Not;

// In the rounds below four ranks wait for too little to be noticed, one would not.
constexpr MpiJob kFourRanks{.ranks = 4, .cpus = 4};

MpiRun run_of(double seconds) {
  MpiRun run;
  run.seconds = seconds;
  run.cpuset.add(1);
  run.use.threads.resize(2);  // the first has no word of its waiting
  run.use.threads[0].migrations = 3;
  run.use.threads[0].preemptions = 40;
  run.use.threads[1].migrations = 4;
  run.use.threads[1].preemptions = 2;
  run.use.threads[1].wait_seconds = 0.5;
  run.hpcc.hpl_gflops = 10 / seconds;
  return run;
}

std::vector<Round> rounds_of(const std::vector<double>& seconds) {
  std::vector<Round> rounds;
  for (const double one : seconds) rounds.emplace_back().run = run_of(one);
  return rounds;
}

Rounds faster_pinned() {
  Rounds rounds;
  rounds.alone = run_of(4);
  rounds.pinned = rounds_of({4.1, 4.2, 4.0, 4.2, 4.4});
  rounds.unpinned = rounds_of({7.9, 8.0, 8.4, 8.2, 7.8});
  return rounds;
}

const ctl::Measure* find(const ctl::Comparison& comparison, const std::string& name) {
  for (const auto& measure : comparison.measures) {
    if (measure.name == name) return &measure;
  }
  return nullptr;
}

TEST(MpiComparison, HasAValueOfEachRound) {
  const auto comparison = comparison_of(faster_pinned());
  EXPECT_EQ(comparison.a_name, "pinned");
  EXPECT_EQ(comparison.b_name, "unpinned");
  const auto* time = find(comparison, "run time");
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->unit, "s");
  EXPECT_EQ(time->a, (std::vector<double>{4.1, 4.2, 4.0, 4.2, 4.4}));
  EXPECT_EQ(time->b.size(), 5U);
}

TEST(MpiComparison, SumsUpThreads) {
  const auto comparison = comparison_of(faster_pinned());
  ASSERT_NE(find(comparison, "migrations"), nullptr);
  EXPECT_EQ(find(comparison, "migrations")->a.front(), 7);
  ASSERT_NE(find(comparison, "involuntary switches"), nullptr);
  EXPECT_EQ(find(comparison, "involuntary switches")->b.front(), 42);
  ASSERT_NE(find(comparison, "waited for a CPU"), nullptr);
  EXPECT_EQ(find(comparison, "waited for a CPU")->a.front(), 0.5);
}

TEST(MpiComparison, LeavesOutWhatNoRoundHas) {
  const auto comparison = comparison_of(faster_pinned());
  EXPECT_EQ(find(comparison, "STREAM triad"), nullptr);
  EXPECT_EQ(find(comparison, "core intrusion"), nullptr);
  EXPECT_EQ(find(comparison, "L3 misses"), nullptr);
}

TEST(MpiComparison, TakesIntrusionAsAShareOfTheCoresTime) {
  auto rounds = faster_pinned();
  rounds.pinned[0].held_seconds = 4;
  rounds.pinned[0].run.cpuset.add(2);
  rounds.pinned[0].agent = AgentFigures{.cpu_ns = {}, .intrusion_ns = 80'000'000, .l3_misses = {}};
  const auto comparison = comparison_of(rounds);
  const auto* intrusion = find(comparison, "core intrusion");
  ASSERT_NE(intrusion, nullptr);
  ASSERT_EQ(intrusion->a.size(), 1U);
  EXPECT_DOUBLE_EQ(intrusion->a[0], 1.0);  // 0.08 s of 2 CPUs x 4 s
  EXPECT_TRUE(intrusion->b.empty());
}

TEST(MpiMeaning, SaysWhatPinningGains) {
  const std::string text = meaning_of(faster_pinned(), kFourRanks);
  EXPECT_THAT(text, HasSubstr("took 4.00 s"));
  EXPECT_THAT(text, HasSubstr("pinned 4.20 s (+5 %), unpinned 8.00 s (+100 %)"));
  EXPECT_THAT(text, HasSubstr("Unpinned takes longer"));
  EXPECT_THAT(text, Not(HasSubstr("One rank only")));
}

TEST(MpiMeaning, SaysThatNoEffectIsToBeSeen) {
  auto rounds = faster_pinned();
  rounds.unpinned = rounds_of({4.2, 4.1, 4.3, 4.0, 4.2});
  EXPECT_THAT(meaning_of(rounds, kFourRanks), HasSubstr("No effect on the run time is to be seen"));
}

TEST(MpiMeaning, SaysThatPinningCosts) {
  auto rounds = faster_pinned();
  std::swap(rounds.pinned, rounds.unpinned);
  EXPECT_THAT(meaning_of(rounds, kFourRanks), HasSubstr("FASTER"));
}

TEST(MpiMeaning, SaysThatRoundsWereTooFew) {
  auto rounds = faster_pinned();
  rounds.pinned.resize(2);
  rounds.unpinned.resize(2);
  EXPECT_THAT(meaning_of(rounds, kFourRanks), HasSubstr("Too few rounds"));
}

TEST(MpiMeaning, SaysWhatThisMachineCannotShow) {
  auto rounds = faster_pinned();
  rounds.why_no_l3_misses = "no such PMU";
  const std::string text = meaning_of(rounds, {.ranks = 1, .cpus = 1});
  EXPECT_THAT(text, HasSubstr("One rank only"));
  EXPECT_THAT(text, HasSubstr("L3 misses are not shown: no such PMU"));
  EXPECT_THAT(text, HasSubstr("Core intrusion is not shown"));
}

TEST(MpiMeaning, SaysNothingOfL3MissesThatAreCounted) {
  auto rounds = faster_pinned();
  for (auto& round : rounds.pinned) {
    round.held_seconds = 1;
    round.agent = AgentFigures{.cpu_ns = 1, .intrusion_ns = 1, .l3_misses = 5'000'000};
  }
  const std::string text = meaning_of(rounds, kFourRanks);
  EXPECT_THAT(text, Not(HasSubstr("L3 misses are not shown")));
  EXPECT_THAT(text, HasSubstr("unpinned it has none"));
  EXPECT_EQ(find(comparison_of(rounds), "L3 misses")->a.front(), 5);
}

TEST(MpiMeaning, SaysThatOthersUsedTheMachineInsteadOfAnEffect) {
  auto rounds = faster_pinned();
  EXPECT_THAT(meaning_of(rounds, kFourRanks), Not(HasSubstr("outside of the demo")));
  rounds.pinned[1].run.use.threads[1].wait_seconds = 2.1;  // of 4.2
  const std::string text = meaning_of(rounds, {.ranks = 1, .cpus = 1});
  EXPECT_THAT(text, HasSubstr("up to 50 % of the time"));
  EXPECT_THAT(text, Not(HasSubstr("Unpinned takes longer")));
}

TEST(MpiProgress, IsOneLine) {
  EXPECT_EQ(progress_text(2, true, run_of(4.125)), "  round 2  pinned    4.12 s");
  EXPECT_EQ(progress_text(2, false, run_of(8.5)), "  round 2  unpinned  8.50 s");
}

}  // namespace
}  // namespace pinion::lab
