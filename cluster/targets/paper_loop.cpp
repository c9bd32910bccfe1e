#include "cluster/targets/paper_loop.h"

#include <algorithm>

namespace pinion::cluster {
namespace {

constexpr double kLow = 0.9;
constexpr double kHigh = 1.2;
constexpr double kMostOutput = 1e6;  // of the PID for CPUs, either way
constexpr double kMilliOfOutput = 0.015;
constexpr std::int64_t kFloorMilli = 500;
constexpr double kNoLoadBelow = 1000;    // of the metric itself, whatever its unit
constexpr std::int64_t kIdleBelow = 50;  // thousandths of a CPU that are used

}  // namespace

ServiceDecision PaperLoop::look(const ServiceInput& input) {
  const auto ratio = performance(target_, input.measured);
  if (!ratio) return {.reason = ServiceReason::kNoMetric, .wanted_milli = input.limit_milli};
  const double output = std::clamp(scale_ * 10'000 * (1 - *ratio), -kMostOutput, kMostOutput);
  const auto delta = static_cast<std::int64_t>(kMilliOfOutput * output);
  if (*ratio < kLow) {
    if (target_.direction == Direction::kAtMost || *input.measured >= kNoLoadBelow) {
      return grow(input, delta);
    }
    const std::int64_t used = input.used_milli.value_or(0);
    const bool fewer = used > 0 && used < kIdleBelow && input.replicas > 1;
    return {.reason = ServiceReason::kIdle,
            .wanted_milli = input.limit_milli,
            .replicas = fewer ? input.replicas - 1 : 0};
  }
  if (*ratio <= kHigh) return {.wanted_milli = input.limit_milli};
  const std::int64_t wanted = std::max(input.limit_milli + delta, kFloorMilli);
  return {.reason = ServiceReason::kSpare,
          .limit_milli = allowed_limit(target_, input, wanted),
          .wanted_milli = wanted};
}

ServiceDecision PaperLoop::grow(const ServiceInput& input, std::int64_t delta) const {
  const std::int64_t wanted = input.limit_milli + delta;
  if (delta < input.room_milli) {
    return {.reason = ServiceReason::kShort,
            .limit_milli = allowed_limit(target_, input, wanted),
            .wanted_milli = wanted};
  }
  const bool fits = wanted <= input.node_milli;
  return {.reason = ServiceReason::kFull,
          .wanted_milli = wanted,
          .ask = fits ? ServiceAsk::kMove : ServiceAsk::kReplicas,
          .replicas = fits ? 0 : 2 * input.replicas};
}

}  // namespace pinion::cluster
