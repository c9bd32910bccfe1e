// Imagined services under the paper's loop and ours: what ours is to be better at.
#include "cluster/sim/service_plant.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pinion::sim {
namespace {

using cluster::ServicePolicy;

struct Sums {
  double on_target = 0;
  double kept = 0;
  double overshoot = 0;
  double cpu_seconds = 0;  // where the paper's keeps the target
  int resizes = 0;
};

struct Both {
  Sums paper;
  Sums ours;
};

// CPU seconds of `run` in the seconds in which `other` keeps its target.
double cpu_seconds_where_kept(const PlantRun& run, const PlantRun& other) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(run.seconds.size(), other.seconds.size()); ++i) {
    if (other.seconds[i].performance < 1) continue;
    sum += static_cast<double>(run.seconds[i].limit_milli) / 1000;
  }
  return sum;
}

// Of six seeds.
Both play(Plant plant, PlantLoad load) {
  Both both;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    PlantSettings settings{
        .plant = plant, .load = load, .policy = ServicePolicy::kPaper, .seed = seed};
    const PlantRun paper = run_plant(settings);
    settings.policy = ServicePolicy::kLearning;
    const PlantRun ours = run_plant(settings);
    const auto add = [&](Sums& sums, const PlantRun& run) {
      sums.on_target += run.on_target / 6;
      sums.kept += run.kept / 6;
      sums.overshoot += run.overshoot / 6;
      sums.cpu_seconds += cpu_seconds_where_kept(run, paper);
      sums.resizes += run.resizes;
    };
    add(both.paper, paper);
    add(both.ours, ours);
  }
  return both;
}

struct Bounds {
  double on_target = 0;        // at least
  double steps_overshoot = 0;  // at most
};

// After a step the paper's loop often ends below the target, short of what is needed: there it goes
// past it less than ours, which ends on it, and bounds stand in for it.
void expect_better(Plant plant, const Bounds& bounds) {
  for (const PlantLoad load : {PlantLoad::kSteps, PlantLoad::kDaily}) {
    const Both both = play(plant, load);
    EXPECT_GE(both.ours.on_target, both.paper.on_target);
    EXPECT_GE(both.ours.on_target, bounds.on_target);
    EXPECT_LE(both.ours.cpu_seconds, both.paper.cpu_seconds);
    EXPECT_LT(both.ours.resizes, both.paper.resizes);
    EXPECT_LE(both.ours.overshoot,
              load == PlantLoad::kSteps ? bounds.steps_overshoot : both.paper.overshoot);
    // Of a latency over a day it is below a little more often.
    EXPECT_GE(both.ours.kept, both.paper.kept - 0.01);
  }
}

TEST(ServicePlant, OursKeepsALinearService) {
  expect_better(Plant::kLinear, {.on_target = 0.98, .steps_overshoot = 0.02});
}

TEST(ServicePlant, OursKeepsASaturatingService) {
  expect_better(Plant::kSaturating, {.on_target = 0.95, .steps_overshoot = 0.02});
}

TEST(ServicePlant, OursKeepsAServiceWithDelayAndNoise) {
  expect_better(Plant::kDelayed, {.on_target = 0.95, .steps_overshoot = 0.06});
}

TEST(ServicePlant, OursKeepsALatency) {
  expect_better(Plant::kLatency, {.on_target = 0.9, .steps_overshoot = 0.08});
}

TEST(ServicePlant, TheSameSeedGivesTheSame) {
  PlantSettings settings{.plant = Plant::kLatency, .seed = 7};
  const PlantRun one = run_plant(settings);
  const PlantRun again = run_plant(settings);
  settings.seed = 8;
  const PlantRun other = run_plant(settings);
  EXPECT_EQ(one.cpu_seconds, again.cpu_seconds);
  EXPECT_EQ(one.resizes, again.resizes);
  EXPECT_NE(one.cpu_seconds, other.cpu_seconds);
}

}  // namespace
}  // namespace pinion::sim
