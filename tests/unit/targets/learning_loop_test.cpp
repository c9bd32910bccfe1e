// Our loop: what it does in each situation.
#include "cluster/targets/learning_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace pinion::cluster {
namespace {

constexpr ServiceTarget kThroughput{.direction = Direction::kAtLeast,
                                    .target = 1000,
                                    .min_milli = 500,
                                    .max_milli = 8000,
                                    .settle_ms = 10'000};
constexpr ServiceTarget kLatency{.direction = Direction::kAtMost,
                                 .target = 20,
                                 .min_milli = 500,
                                 .max_milli = 8000,
                                 .settle_ms = 10'000};

// A service that answers as `answers` says, looked at every 5 s.
struct Play {
  explicit Play(const ServiceTarget& target, std::function<double(double cpus)> answer)
      : loop(target), answers(std::move(answer)) {}

  ServiceDecision look() {
    now.now_ms += 5000;
    if (told) now.measured = answers(static_cast<double>(now.limit_milli) / 1000);
    if (!told) now.measured = std::nullopt;
    ServiceDecision decision = loop.look(now);
    if (decision.limit_milli) {
      now.limit_milli = *decision.limit_milli;
      ++resizes;
    }
    return decision;
  }
  // The last one of so many.
  ServiceDecision look(int times) {
    ServiceDecision last;
    for (int i = 0; i < times; ++i) last = look();
    return last;
  }

  LearningLoop loop;
  std::function<double(double)> answers;
  ServiceInput now{.limit_milli = 1000, .room_milli = 100'000, .node_milli = 100'000};
  bool told = true;
  int resizes = 0;
};

TEST(LearningLoop, GoesToTheTargetOfALinearServiceInOneStep) {
  Play play(kThroughput, [](double cpus) { return 400 * cpus; });
  EXPECT_EQ(play.look().reason, ServiceReason::kSettling) << "one sample is none";
  const auto decision = play.look();
  EXPECT_EQ(decision.reason, ServiceReason::kShort);
  EXPECT_EQ(decision.limit_milli, 2560) << "2 % above 1000 / 400";
  play.look(100);
  EXPECT_EQ(play.resizes, 1);
  EXPECT_EQ(play.look().reason, ServiceReason::kOnTarget);
}

TEST(LearningLoop, LearnsHowMuchAServiceSaturates) {
  Play play(kThroughput, [](double cpus) { return 600 * std::sqrt(cpus); });
  play.look(100);
  EXPECT_NEAR(play.answers(static_cast<double>(play.now.limit_milli) / 1000), 1000, 100);
  EXPECT_LE(play.resizes, 4);
}

TEST(LearningLoop, WaitsUntilTheMetricShowsAChange) {
  Play play(kThroughput, [](double) { return 500; });
  play.look(2);
  EXPECT_EQ(play.resizes, 1);
  EXPECT_EQ(play.look().reason, ServiceReason::kSettling);
  EXPECT_EQ(play.look().reason, ServiceReason::kSettling);
  play.look();
  EXPECT_EQ(play.resizes, 1) << "one sample is none";
  play.look();
  EXPECT_EQ(play.resizes, 2);
}

TEST(LearningLoop, GrowsAtMostThreefoldAndShrinksToThreeFifthsAtLeast) {
  Play starved(kThroughput, [](double) { return 1; });
  starved.look(2);
  EXPECT_EQ(starved.now.limit_milli, 3000);
  Play fat(kThroughput, [](double) { return 9000; });
  fat.now.limit_milli = 8000;
  fat.look(3);
  EXPECT_EQ(fat.now.limit_milli, 4800);
}

TEST(LearningLoop, HoldsWhenTheMetricVanishes) {
  Play play(kThroughput, [](double cpus) { return 2000 * cpus; });
  play.now.limit_milli = 4000;
  for (const double nonsense : {std::nan(""), HUGE_VAL, -1.0}) {
    play.answers = [nonsense](double) { return nonsense; };
    EXPECT_EQ(play.look(50).reason, ServiceReason::kNoMetric);
  }
  play.told = false;
  EXPECT_EQ(play.look(50).reason, ServiceReason::kNoMetric);
  EXPECT_EQ(play.resizes, 0);
}

TEST(LearningLoop, LeavesOneSlipOfTheMetricAlone) {
  double answer = 1030;
  Play play(kThroughput, [&](double) { return answer; });
  play.look(10);
  answer = 10;
  EXPECT_EQ(play.look().limit_milli, std::nullopt);
  answer = 1030;
  play.look(10);
  EXPECT_EQ(play.resizes, 0);
}

TEST(LearningLoop, SaysThatATargetIsImpossible) {
  Play play(kThroughput, [](double cpus) { return 50 * cpus; });
  play.look(20);
  EXPECT_EQ(play.now.limit_milli, 8000);
  EXPECT_EQ(play.look(12).reason, ServiceReason::kImpossible);
  const int resizes = play.resizes;
  play.look(100);
  EXPECT_EQ(play.resizes, resizes);
  // It winds nothing up: once it is faster, it comes down at once.
  play.answers = [](double cpus) { return 500 * cpus; };
  play.look(5);
  EXPECT_LT(play.now.limit_milli, 8000);
}

TEST(LearningLoop, TakesWhatRoomThereIsAndAsksForAMoveThen) {
  Play play(kThroughput, [](double cpus) { return 400 * cpus; });
  play.now.room_milli = 300;
  play.look(2);
  EXPECT_EQ(play.now.limit_milli, 1300);
  play.now.room_milli = 0;
  const auto decision = play.look(20);
  EXPECT_EQ(play.now.limit_milli, 1300);
  EXPECT_EQ(decision.reason, ServiceReason::kFull);
  EXPECT_EQ(decision.ask, ServiceAsk::kMove);
  EXPECT_NEAR(static_cast<double>(decision.wanted_milli), 2575, 150);
}

TEST(LearningLoop, AsksForReplicasWhereNoNodeHasTheRoom) {
  Play play(kThroughput, [](double cpus) { return 400 * cpus; });
  play.now.room_milli = -500;
  play.now.node_milli = 2000;
  const auto decision = play.look(20);
  EXPECT_EQ(decision.ask, ServiceAsk::kReplicas);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_EQ(play.resizes, 0);
}

TEST(LearningLoop, TakesBackWhatAnIdleServiceDoesNotUse) {
  Play play(kThroughput, [](double) { return 100; });
  play.now.limit_milli = 4000;
  play.now.used_milli = 800;
  EXPECT_EQ(play.look().reason, ServiceReason::kIdle);
  EXPECT_EQ(play.look(10).limit_milli, std::nullopt) << "it may be a short pause";
  play.look(100);
  EXPECT_EQ(play.now.limit_milli, 1600) << "twice what it uses";
}

TEST(LearningLoop, TakesCpusBackFromALatencyThatNobodyAsksFor) {
  for (const double none : {std::nan(""), 0.0}) {
    Play play(kLatency, [none](double) { return none; });
    play.now.limit_milli = 8000;
    play.now.used_milli = 20;
    EXPECT_EQ(play.look().reason, ServiceReason::kIdle);
    EXPECT_EQ(play.look(10).limit_milli, std::nullopt) << "it may be a short pause";
    EXPECT_EQ(play.look().limit_milli, 4800);
    EXPECT_EQ(play.look().reason, ServiceReason::kSettling);
    play.look(100);
    EXPECT_EQ(play.now.limit_milli, 500);
    play.now.used_milli = 250;  // its own house-keeping
    EXPECT_EQ(play.look().reason, ServiceReason::kIdle);
  }
}

TEST(LearningLoop, HoldsAServiceThatAnswersNobodyButMayBeAtWork) {
  Play play(kLatency, [](double) { return std::nan(""); });
  play.now.limit_milli = 8000;
  for (const auto used : {std::optional<std::int64_t>(), std::optional<std::int64_t>(800)}) {
    play.now.used_milli = used;
    EXPECT_EQ(play.look(100).reason, ServiceReason::kNoMetric);
  }
  play.now.limit_milli = 500;
  play.now.used_milli = 400;  // it may hold it back
  EXPECT_EQ(play.look(100).reason, ServiceReason::kNoMetric);
  EXPECT_EQ(play.resizes, 0);
}

TEST(LearningLoop, BringsALimitIntoItsBounds) {
  Play play(kThroughput, [](double) { return 1000; });
  play.now.limit_milli = 9000;
  EXPECT_EQ(play.look().reason, ServiceReason::kBounds);
  EXPECT_EQ(play.now.limit_milli, 8000);
  play.now.limit_milli = 100;
  play.look();
  EXPECT_EQ(play.now.limit_milli, 500);
}

// M/M/1 with a service time of 5 ms, where so many CPUs are asked for.
double latency(double cpus, double asked) {
  return 5 / (1 - std::min(asked / cpus, 0.999));
}

TEST(LearningLoop, SeesALoadThatFallsByWhatIsUsedBeforeTheMetricShowsIt) {
  double asked = 3;
  Play play(kLatency, [&](double cpus) { return latency(cpus, asked); });
  const auto look = [&](int times) {
    ServiceDecision decision;
    for (int i = 0; i < times && !decision.limit_milli; ++i) {
      play.now.used_milli =
          std::llround(1000 * std::min(asked, static_cast<double>(play.now.limit_milli) / 1000));
      decision = play.look();
    }
    return decision;
  };
  for (int i = 0; i < 10; ++i) look(20);
  EXPECT_NEAR(static_cast<double>(play.now.limit_milli), 4000, 100) << "use of 3/4: 20 ms";
  const double shown = latency(4.03, 3);
  asked = 2;
  play.answers = [&](double) { return shown; };  // still
  const auto decision = look(3);
  EXPECT_EQ(decision.reason, ServiceReason::kLoad);
  EXPECT_NEAR(static_cast<double>(decision.limit_milli.value_or(0)), 2700, 250);
}

// Else it would go too far each time, to and fro, before it has the samples to learn from.
TEST(LearningLoop, LearnsAtOnceFromAChangeThatWentTooFar) {
  const double used = 2.8;
  Play play(kLatency, [&](double cpus) { return 20 * std::pow(0.3 / (1 - used / cpus), 2); });
  play.now.used_milli = std::llround(1000 * used);
  play.now.limit_milli = 3700;
  play.look(60);
  EXPECT_NEAR(static_cast<double>(play.now.limit_milli), 4000, 150);
  const int resizes = play.resizes;
  play.look(60);
  EXPECT_EQ(play.resizes, resizes);
}

// As its use is told by a rate, that rises for as long as its range.
TEST(LearningLoop, DoesNotWaitForItsUseToStopRisingWhereItKnowsNoLevelYet) {
  Play play(kLatency, [](double) { return 400; });
  for (const int used : {200, 400, 600, 800}) {
    play.now.used_milli = used;
    if (play.look().limit_milli) break;
  }
  EXPECT_EQ(play.now.limit_milli, 1700) << "the most in one step";
}

// First it is shown what the service before it did, and then what it uses is never the same.
TEST(LearningLoop, BelievesTheMetricAlsoWhereItsUseNeverRests) {
  double latency = 2;
  Play play(kLatency, [&](double) { return latency; });
  play.now.used_milli = 3000;
  play.look(2);
  latency = 400;
  for (int i = 0; i < 7 && play.resizes == 0; ++i) {
    play.now.used_milli = i % 2 == 0 ? 1200 : 950;
    play.look();
  }
  EXPECT_EQ(play.now.limit_milli, 1700);
}

TEST(LearningLoop, IsCarefulWithALatencyWhoseUseIsNotTold) {
  Play play(kLatency, [](double cpus) { return latency(cpus, 3); });
  play.now.limit_milli = 8000;
  play.look(3);
  EXPECT_EQ(play.now.limit_milli, 7200);
  play.look(200);
  EXPECT_NEAR(latency(static_cast<double>(play.now.limit_milli) / 1000, 3), 20, 2);
}

}  // namespace
}  // namespace pinion::cluster
