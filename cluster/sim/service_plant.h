// Imagined services under a loop that keeps their target (cluster/targets), second by second. They
// need between about 1 and 8 CPUs. The same seed gives the same.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/targets/service_loop.h"

namespace pinion::sim {

enum class Plant {
  kLinear,      // a throughput that rises as the CPUs do, shown at once and exactly
  kSaturating,  // one that rises less and less: CPUs / (CPUs + 4)
  kDelayed,     // CPUs ^ 0.85; shown as the mean of 30 s with noise of 4 %, changed after 5 s
  // A percentile that rises steeply near full use, as that of a queue before several workers
  // (Sakasegawa 1977); mean of 15 s, noise of 4 %; the CPUs used have noise of 2 %.
  kLatency,
};

enum class PlantLoad {
  kSteps,  // another load every 20 minutes for 4 hours, 0.6 to 1.6 of the usual one
  kDaily,  // a day: 0.6 of it at night, 1.4 at noon, with wind of 2 %
};

struct PlantSettings {
  Plant plant = Plant::kLinear;
  PlantLoad load = PlantLoad::kSteps;
  cluster::ServicePolicy policy = cluster::ServicePolicy::kLearning;
  bool tells_use = true;            // the loop is shown the CPUs that the service uses
  int period_s = 5;                 // between two samples
  std::int64_t settle_ms = 20'000;  // ServiceTarget::settle_ms
  std::uint64_t seed = 1;
};

struct PlantSecond {
  std::int64_t limit_milli = 0;
  double performance = 0;  // 1: exactly on the target, without noise and delay
};

struct PlantRun {
  std::vector<PlantSecond> seconds;
  double on_target = 0;  // share of time within 10 % of the target
  double kept = 0;       // share of time not below 0.9 of it
  // By how much the CPUs went past what is needed, on the far side of it, after a step of the load
  // (a day is one): the mean of the worst of each.
  double overshoot = 0;
  double cpu_seconds = 0;  // that it might use
  int resizes = 0;
};

[[nodiscard]] PlantRun run_plant(const PlantSettings& settings);

}  // namespace pinion::sim
