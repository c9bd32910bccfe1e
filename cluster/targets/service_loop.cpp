#include "cluster/targets/service_loop.h"

#include <algorithm>
#include <cmath>

#include "cluster/targets/learning_loop.h"
#include "cluster/targets/paper_loop.h"

namespace pinion::cluster {
namespace {

constexpr std::array kReasonWords{Word<ServiceReason>{"on_target", ServiceReason::kOnTarget},
                                  Word<ServiceReason>{"short", ServiceReason::kShort},
                                  Word<ServiceReason>{"spare", ServiceReason::kSpare},
                                  Word<ServiceReason>{"load", ServiceReason::kLoad},
                                  Word<ServiceReason>{"bounds", ServiceReason::kBounds},
                                  Word<ServiceReason>{"settling", ServiceReason::kSettling},
                                  Word<ServiceReason>{"idle", ServiceReason::kIdle},
                                  Word<ServiceReason>{"no_metric", ServiceReason::kNoMetric},
                                  Word<ServiceReason>{"impossible", ServiceReason::kImpossible},
                                  Word<ServiceReason>{"full", ServiceReason::kFull}};

}  // namespace

std::string_view to_string(ServiceReason reason) {
  return word_of(reason, kReasonWords);
}

std::optional<double> performance(const ServiceTarget& target,
                                  const std::optional<double>& measured) {
  if (!measured || !std::isfinite(*measured) || *measured < 0) return std::nullopt;
  if (target.direction == Direction::kAtLeast) return *measured / target.target;
  if (*measured == 0) return std::nullopt;  // nobody_served()
  return target.target / *measured;
}

bool nobody_served(const ServiceTarget& target, const std::optional<double>& measured) {
  return target.direction == Direction::kAtMost && measured &&
         (std::isnan(*measured) || *measured == 0);
}

std::unique_ptr<ServiceLoop> make_service_loop(const ServiceTarget& target) {
  if (target.policy == ServicePolicy::kPaper) return std::make_unique<PaperLoop>(target);
  return std::make_unique<LearningLoop>(target);
}

std::optional<std::int64_t> allowed_limit(const ServiceTarget& target, const ServiceInput& input,
                                          std::int64_t wanted_milli) {
  const std::int64_t bounded = std::clamp(wanted_milli, target.min_milli, target.max_milli);
  const std::int64_t room = std::max<std::int64_t>(input.room_milli, 0);
  const std::int64_t most = input.limit_milli > target.max_milli - std::min(room, target.max_milli)
                                ? target.max_milli
                                : input.limit_milli + room;
  const std::int64_t limit = std::min(bounded, most);
  // Below its minimum, and no room to reach it: what there is.
  if (limit == input.limit_milli || limit < target.min_milli) return std::nullopt;
  return limit;
}

}  // namespace pinion::cluster
