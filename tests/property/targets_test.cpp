// Both loops under services that answer anything: a new limit is within min .. max, above the old
// one by no more than the room; without a metric there is none, but where nobody asks anything, and
// none where something is asked for. Ours changes nothing before the last change has settled, and
// never by more than its factors.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "cluster/targets/learning_loop.h"
#include "cluster/targets/service_loop.h"

namespace pinion::cluster {
namespace {

constexpr std::int64_t kStep = 10;  // to which limits are rounded

ServiceTarget any_target() {
  ServiceTarget target;
  target.direction = *rc::gen::element(Direction::kAtLeast, Direction::kAtMost);
  target.target = *rc::gen::element(0.001, 1.0, 5000.0, 1e12);
  target.min_milli = *rc::gen::inRange<std::int64_t>(1, 3000);
  target.max_milli = target.min_milli + *rc::gen::inRange<std::int64_t>(0, 20'000);
  target.settle_ms = *rc::gen::element<std::int64_t>(0, 10'000, 60'000);
  return target;
}

std::optional<double> any_metric(const ServiceTarget& target) {
  const double ratio = *rc::gen::element(0.0, 1e-9, 0.3, 0.8, 0.95, 1.0, 1.1, 1.5, 4.0, 1e9);
  if (*rc::gen::inRange(0, 8) == 0) {
    return *rc::gen::element<std::optional<double>>(std::nullopt, std::nan(""), HUGE_VAL, -1.0);
  }
  return ratio * target.target;
}

void play(ServicePolicy policy) {
  ServiceTarget target = any_target();
  target.policy = policy;
  const auto loop = make_service_loop(target);
  const bool ours = policy == ServicePolicy::kLearning;
  const LearningKnobs knobs;
  ServiceInput input{.limit_milli = *rc::gen::inRange<std::int64_t>(1, 30'000)};
  std::int64_t changed_ms = -1'000'000;
  const int looks = *rc::gen::inRange(1, 120);
  for (int i = 0; i < looks; ++i) {
    input.now_ms += *rc::gen::element<std::int64_t>(0, 1000, 5000, 600'000);
    if (*rc::gen::inRange(0, 3) == 0) input.measured = any_metric(target);
    input.room_milli = *rc::gen::element<std::int64_t>(-4000, 0, 7, 500, INT64_MAX / 4);
    input.node_milli = *rc::gen::element<std::int64_t>(0, 4000, 64'000);
    input.used_milli = *rc::gen::element<std::optional<std::int64_t>>(
        std::nullopt, 0, input.limit_milli / 2, input.limit_milli, 3 * input.limit_milli);
    const ServiceDecision decision = loop->look(input);
    RC_ASSERT(!to_string(decision.reason).empty());
    if (!decision.limit_milli) continue;
    const std::int64_t limit = *decision.limit_milli;
    const std::int64_t room = std::max<std::int64_t>(input.room_milli, 0);
    RC_ASSERT(limit != input.limit_milli);
    RC_ASSERT(limit >= target.min_milli && limit <= target.max_milli);
    RC_ASSERT(limit - input.limit_milli <= room);
    RC_ASSERT(performance(target, input.measured).has_value() ||
              (ours && nobody_served(target, input.measured)));
    RC_ASSERT(decision.ask == ServiceAsk::kNothing);
    if (ours && decision.reason != ServiceReason::kBounds) {
      RC_ASSERT(input.now_ms - changed_ms >= target.settle_ms);
      const auto before = static_cast<double>(input.limit_milli);
      RC_ASSERT(static_cast<double>(limit - kStep) <= knobs.most_growth * before);
      RC_ASSERT(static_cast<double>(limit) >= knobs.most_shrink * before);
    }
    changed_ms = input.now_ms;
    input.limit_milli = limit;
  }
}

RC_GTEST_PROP(ServiceTargets, ThePapersLoopKeepsBoundsAndRoom, ()) {
  play(ServicePolicy::kPaper);
}

RC_GTEST_PROP(ServiceTargets, OurLoopKeepsBoundsRoomAndRate, ()) {
  play(ServicePolicy::kLearning);
}

}  // namespace
}  // namespace pinion::cluster
