#include "cluster/sim/service_plant.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numbers>
#include <random>

namespace pinion::sim {
namespace {

using cluster::Direction;

constexpr int kStepSeconds = 1200;
constexpr int kSteps = 12;
constexpr int kDaySeconds = 86'400;
constexpr double kThroughput = 1e6;  // wanted, requests a second
constexpr double kLatency = 25;      // wanted, ms
constexpr std::int64_t kMinMilli = 500;
constexpr std::int64_t kMaxMilli = 16'000;
constexpr std::int64_t kFirstMilli = 1000;
constexpr double kNear = 0.1;

// How a service answers.
struct Answering {
  Plant plant;
  int mean_s = 1;     // the metric is the mean of so long
  double noise = 0;   // of it, relative
  int applied_s = 0;  // until a change of its limit has an effect

  [[nodiscard]] bool is_latency() const { return plant == Plant::kLatency; }
  // The figure itself. Throughputs: each request costs `load` times as much; latency: so many more
  // requests come.
  [[nodiscard]] double figure(double cpus, double load) const {
    switch (plant) {
      case Plant::kLinear:
        return kThroughput / 4 * cpus / load;
      case Plant::kSaturating:
        return 2.4 * kThroughput * cpus / (cpus + 4) / load;
      case Plant::kDelayed:
        return kThroughput * std::pow(cpus / 4, 0.85) / load;
      case Plant::kLatency:
        break;
    }
    const double use = std::min(3.3 * load / cpus, 0.99);
    return kLatency / 2.5 * (1 + 0.37 * std::pow(use, 2.16) / (1 - use));
  }
  [[nodiscard]] double performance(double cpus, double load) const {
    return is_latency() ? kLatency / figure(cpus, load) : figure(cpus, load) / kThroughput;
  }
  [[nodiscard]] double used(double cpus, double load) const {
    return is_latency() ? std::min(3.3 * load, cpus) : cpus;
  }
  // With which it is exactly on the target.
  [[nodiscard]] double needs(double load) const {
    double least = 0.01;
    double most = 100;
    for (int i = 0; i < 60; ++i) {
      const double middle = (least + most) / 2;
      (performance(middle, load) < 1 ? least : most) = middle;
    }
    return most;
  }
};

Answering answering_of(Plant plant) {
  switch (plant) {
    case Plant::kDelayed:
      return {.plant = plant, .mean_s = 30, .noise = 0.04, .applied_s = 5};
    case Plant::kLatency:
      return {.plant = plant, .mean_s = 15, .noise = 0.04};
    default:
      return {.plant = plant};
  }
}

// What is asked of it, second by second.
std::vector<double> loads_of(PlantLoad kind, std::mt19937_64& random) {
  std::vector<double> loads;
  if (kind == PlantLoad::kSteps) {
    std::uniform_real_distribution<double> level(0.6, 1.6);
    for (int step = 0; step < kSteps; ++step) {
      loads.insert(loads.end(), kStepSeconds, step == 0 ? 1.0 : level(random));
    }
    return loads;
  }
  std::normal_distribution<double> gust(0, 1);
  double wind = 0;  // with a memory of some five minutes
  for (int second = 0; second < kDaySeconds; ++second) {
    wind = wind * (1 - 1.0 / 300) + gust(random) * 0.02 * std::sqrt(2.0 / 300);
    const double day = std::cos(2 * std::numbers::pi * second / kDaySeconds);
    loads.push_back((1 - 0.4 * day) * (1 + wind));
  }
  return loads;
}

// How far the CPUs go past what is needed.
class Overshoot {
 public:
  void step() {
    if (side_ != 0) {
      sum_ += worst_;
      ++steps_;
    }
    side_ = 0;
    worst_ = 0;
    crossed_ = false;
  }
  void see(double cpus, double needs) {
    const double off = cpus / needs - 1;
    if (side_ == 0 && std::abs(off) > kNear) side_ = off < 0 ? -1 : 1;
    if (side_ == 0) return;
    if (off * side_ < 0) crossed_ = true;
    if (crossed_) worst_ = std::max(worst_, -off * side_);
  }
  [[nodiscard]] double mean() const { return steps_ == 0 ? 0 : sum_ / steps_; }

 private:
  int side_ = 0;  // where it began: -1 with too few, 1 with too many
  bool crossed_ = false;
  double worst_ = 0;
  double sum_ = 0;
  int steps_ = 0;
};

// The mean of the last seconds, with noise.
class Metric {
 public:
  Metric(int mean_s, double noise, std::mt19937_64& random)
      : seconds_(static_cast<std::size_t>(mean_s)), noise_(noise), random_(random) {}

  void see(double figure) {
    last_.push_back(figure);
    sum_ += figure;
    if (last_.size() <= seconds_) return;
    sum_ -= last_.front();
    last_.pop_front();
  }
  double read() {
    const double mean = sum_ / static_cast<double>(last_.size());
    return mean * std::max(0.1, 1 + noise_ * normal_(random_));
  }

 private:
  const std::size_t seconds_;
  const double noise_;
  std::mt19937_64& random_;
  std::normal_distribution<double> normal_{0, 1};
  std::deque<double> last_;
  double sum_ = 0;
};

}  // namespace

PlantRun run_plant(const PlantSettings& settings) {
  std::mt19937_64 random(settings.seed);
  const Answering service = answering_of(settings.plant);
  const std::vector<double> loads = loads_of(settings.load, random);
  const cluster::ServiceTarget target{
      .direction = service.is_latency() ? Direction::kAtMost : Direction::kAtLeast,
      .target = service.is_latency() ? kLatency : kThroughput,
      .min_milli = kMinMilli,
      .max_milli = kMaxMilli,
      .settle_ms = settings.settle_ms,
      .policy = settings.policy};
  const auto loop = cluster::make_service_loop(target);
  Metric metric(service.mean_s, service.noise, random);
  Metric use(service.mean_s, service.noise / 2, random);
  Overshoot overshoot;
  PlantRun run;
  std::int64_t limit = kFirstMilli;
  std::int64_t applied = limit;
  std::deque<std::pair<int, std::int64_t>> changes;  // when, to what
  int near = 0;
  int kept = 0;
  for (int second = 0; second < static_cast<int>(loads.size()); ++second) {
    const double load = loads[static_cast<std::size_t>(second)];
    for (; !changes.empty() && changes.front().first <= second; changes.pop_front()) {
      applied = changes.front().second;
    }
    const double cpus = static_cast<double>(applied) / 1000;
    const double performance = service.performance(cpus, load);
    metric.see(service.figure(cpus, load));
    use.see(1000 * service.used(cpus, load));
    if (settings.load == PlantLoad::kSteps && second % kStepSeconds == 0) overshoot.step();
    overshoot.see(cpus, service.needs(load));
    run.seconds.push_back({.limit_milli = limit, .performance = performance});
    run.cpu_seconds += static_cast<double>(limit) / 1000;
    near += std::abs(performance - 1) <= kNear ? 1 : 0;
    kept += performance >= 1 - kNear ? 1 : 0;
    if (second % settings.period_s != 0) continue;
    const auto decision = loop->look(
        {.now_ms = std::int64_t{second} * 1000,
         .measured = metric.read(),
         .limit_milli = limit,
         .used_milli = settings.tells_use ? std::optional(std::llround(use.read())) : std::nullopt,
         .room_milli = kMaxMilli,
         .node_milli = 2 * kMaxMilli});
    if (!decision.limit_milli) continue;
    limit = *decision.limit_milli;
    changes.emplace_back(second + 1 + service.applied_s, limit);
    ++run.resizes;
  }
  overshoot.step();
  run.on_target = near / static_cast<double>(loads.size());
  run.kept = kept / static_cast<double>(loads.size());
  run.overshoot = overshoot.mean();
  return run;
}

}  // namespace pinion::sim
