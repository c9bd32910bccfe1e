// The paper's loop, by the numbers of its code.
#include "cluster/targets/paper_loop.h"

#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

constexpr ServiceTarget kMillion{
    .direction = Direction::kAtLeast, .target = 1e6, .min_milli = 100, .max_milli = 20'000};
constexpr ServiceInput kRuns{
    .measured = 1e6, .limit_milli = 4000, .room_milli = 8000, .node_milli = 16'000};

ServiceInput input(double measured) {
  ServiceInput made = kRuns;
  made.measured = measured;
  return made;
}

struct Step {
  double ratio;
  int scale;
  std::optional<std::int64_t> limit;
};

TEST(PaperLoop, AddsInProportionOutsideItsDeadZone) {
  for (const Step& step :
       {Step{.ratio = 0.5, .scale = 3, .limit = 4225},
        Step{.ratio = 0.5, .scale = 5, .limit = 4375},
        Step{.ratio = 0.89, .scale = 3, .limit = 4049}, Step{.ratio = 0.9, .scale = 3, .limit = {}},
        Step{.ratio = 1.2, .scale = 3, .limit = {}}, Step{.ratio = 1.3, .scale = 3, .limit = 3865},
        Step{.ratio = 2, .scale = 3, .limit = 3550}, Step{.ratio = 9, .scale = 3, .limit = 500},
        Step{.ratio = 1e300, .scale = 3, .limit = 500}}) {
    PaperLoop loop(kMillion, step.scale);
    EXPECT_EQ(loop.look(input(step.ratio * 1e6)).limit_milli, step.limit) << step.ratio;
  }
}

TEST(PaperLoop, TakesFifteenCpusAtMost) {
  ServiceTarget wide = kMillion;
  wide.max_milli = 100'000;
  for (const Step& step : {Step{.ratio = 34, .scale = 3, .limit = 49'150},
                           Step{.ratio = 35, .scale = 3, .limit = 49'000},
                           Step{.ratio = 20, .scale = 5, .limit = 49'750},
                           Step{.ratio = 22, .scale = 5, .limit = 49'000},
                           Step{.ratio = 1e300, .scale = 3, .limit = 49'000}}) {
    PaperLoop loop(wide, step.scale);
    ServiceInput fat = input(step.ratio * 1e6);
    fat.limit_milli = 64'000;
    EXPECT_EQ(loop.look(fat).limit_milli, step.limit) << step.ratio;
  }
}

TEST(PaperLoop, TakesAFewOfTheMetricForNoLoad) {
  PaperLoop loop(kMillion);
  ServiceInput idle = input(999);
  idle.used_milli = 49;
  idle.replicas = 3;
  const auto decision = loop.look(idle);
  EXPECT_EQ(decision.reason, ServiceReason::kIdle);
  EXPECT_EQ(decision.limit_milli, std::nullopt);
  EXPECT_EQ(decision.replicas, 2);
  idle.used_milli = 50;
  EXPECT_EQ(loop.look(idle).replicas, 0);
  idle.used_milli = 49;
  idle.replicas = 1;
  EXPECT_EQ(loop.look(idle).replicas, 0);
  EXPECT_EQ(loop.look(input(1000)).limit_milli, 4449);
}

TEST(PaperLoop, AsksForAMoveFromAFullNodeAndForReplicasOfWhatFitsOnNone) {
  PaperLoop loop(kMillion);
  ServiceInput full = input(5e5);
  full.room_milli = 225;  // "less than the capacity"
  const auto moves = loop.look(full);
  EXPECT_EQ(moves.ask, ServiceAsk::kMove);
  EXPECT_EQ(moves.wanted_milli, 4225);
  EXPECT_EQ(moves.limit_milli, std::nullopt);
  full.node_milli = 4200;
  full.replicas = 2;
  const auto divides = loop.look(full);
  EXPECT_EQ(divides.ask, ServiceAsk::kReplicas);
  EXPECT_EQ(divides.replicas, 4);
  EXPECT_EQ(divides.wanted_milli, 4225);
  EXPECT_EQ(divides.limit_milli, std::nullopt) << "half of it is enough once there are four";
}

TEST(PaperLoop, TurnsALatencyRound) {
  ServiceTarget latency = kMillion;
  latency.direction = Direction::kAtMost;
  latency.target = 20;
  PaperLoop loop(latency);
  EXPECT_EQ(loop.look(input(40)).limit_milli, 4225);
  EXPECT_EQ(loop.look(input(10)).limit_milli, 3550);
  EXPECT_EQ(loop.look(input(20)).limit_milli, std::nullopt);
}

TEST(PaperLoop, KeepsItsBounds) {
  ServiceTarget narrow = kMillion;
  narrow.min_milli = 3900;
  narrow.max_milli = 4100;
  PaperLoop loop(narrow);
  EXPECT_EQ(loop.look(input(1e5)).limit_milli, 4100);
  EXPECT_EQ(loop.look(input(3e6)).limit_milli, 3900);
}

}  // namespace
}  // namespace pinion::cluster
