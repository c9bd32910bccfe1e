#include "cluster/targets/paper_loop.h"

#include <algorithm>

namespace pinion::cluster {
namespace {

constexpr double kLow = 0.9;
constexpr double kHigh = 1.2;
constexpr double kMostRatio = 1e6;  // nothing ends above it
constexpr double kMilliOfOutput = 0.015;
constexpr std::int64_t kFloorMilli = 500;
constexpr double kNoLoadBelow = 1000;    // of the metric itself, whatever its unit
constexpr std::int64_t kIdleBelow = 50;  // thousandths of a CPU that are used

}  // namespace

ServiceDecision PaperLoop::look(const ServiceSight& sight) {
  const auto ratio = performance(target_, sight.measured);
  if (!ratio) return {.reason = ServiceReason::kNoMetric, .wanted_milli = sight.limit_milli};
  const double output = scale_ * 10'000 * (1 - std::min(*ratio, kMostRatio));
  const auto delta = static_cast<std::int64_t>(kMilliOfOutput * output);
  if (*ratio < kLow) {
    if (target_.direction == Direction::kAtMost || *sight.measured >= kNoLoadBelow) {
      return grow(sight, delta);
    }
    const std::int64_t used = sight.used_milli.value_or(0);
    const bool fewer = used > 0 && used < kIdleBelow && sight.replicas > 1;
    return {.reason = ServiceReason::kIdle,
            .wanted_milli = sight.limit_milli,
            .replicas = fewer ? sight.replicas - 1 : 0};
  }
  if (*ratio <= kHigh) return {.wanted_milli = sight.limit_milli};
  const std::int64_t wanted = std::max(sight.limit_milli + delta, kFloorMilli);
  return {.reason = ServiceReason::kSpare,
          .limit_milli = allowed_limit(target_, sight, wanted),
          .wanted_milli = wanted};
}

ServiceDecision PaperLoop::grow(const ServiceSight& sight, std::int64_t delta) const {
  const std::int64_t wanted = sight.limit_milli + delta;
  if (delta < sight.room_milli) {
    return {.reason = ServiceReason::kShort,
            .limit_milli = allowed_limit(target_, sight, wanted),
            .wanted_milli = wanted};
  }
  if (wanted <= sight.node_milli) {
    return {.reason = ServiceReason::kFull, .wanted_milli = wanted, .ask = ServiceAsk::kMove};
  }
  return {.reason = ServiceReason::kFull,
          .limit_milli = allowed_limit(target_, sight, wanted / 2),
          .wanted_milli = wanted / 2,
          .ask = ServiceAsk::kReplicas,
          .replicas = 2 * sight.replicas};
}

}  // namespace pinion::cluster
