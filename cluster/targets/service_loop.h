// A service that is to keep a target: how many CPUs it may use. One loop looks after one service:
// it is shown what is seen of the service now, and says what to do. Pure: the time is an argument,
// and whoever shows it things carries out what it says, and shows it what came of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/words.h"

namespace pinion::cluster {

enum class Direction {
  kAtLeast,  // more is better: a throughput
  kAtMost,   // less is better: a latency
};

enum class ServicePolicy {
  kLearning,  // learning_loop.h: ours
  kPaper,     // paper_loop.h
};
inline constexpr std::array kServicePolicyWords{
    Word<ServicePolicy>{"paper", ServicePolicy::kPaper},
    Word<ServicePolicy>{"ours", ServicePolicy::kLearning}};

// What the service's owner wants. CPUs are in thousandths.
struct ServiceTarget {
  Direction direction = Direction::kAtLeast;
  double target = 0;  // > 0, in the metric's own unit
  std::int64_t min_milli = 0;
  std::int64_t max_milli = 0;  // 0 < min <= max
  // After a change of its CPUs, the metric is of the time before for so long.
  std::int64_t settle_ms = 20'000;
  ServicePolicy policy = ServicePolicy::kLearning;

  bool operator==(const ServiceTarget&) const = default;
};

struct ServiceInput {
  std::int64_t now_ms = 0;  // of any clock that never goes back
  // Nothing, or no finite number >= 0: the metric has vanished. NaN: it is that of no request.
  std::optional<double> measured{};
  std::int64_t limit_milli = 0;              // > 0: that it may use now
  std::optional<std::int64_t> used_milli{};  // that it does use
  std::int64_t room_milli = 0;  // by so much its limit may rise on its node; none: <= 0
  std::int64_t node_milli = 0;  // the most that a service could have on any node
  int replicas = 1;             // of the service; target, CPUs and metric are one replica's
};

enum class ServiceReason {
  kOnTarget,    // nothing is to be done
  kShort,       // it needs more, and gets it
  kSpare,       // it needs less
  kLoad,        // it uses more CPUs, or fewer: what it needs is known before its metric shows it
  kBounds,      // its limit is outside min .. max
  kSettling,    // the metric does not show the last change yet, or too few samples of it
  kIdle,        // too little is asked of it to reach the target; what it does not use is taken back
  kNoMetric,    // hold on to what there is
  kImpossible,  // at its maximum for a while, and short of the target
  kFull,        // its node has no room for what it needs
};
[[nodiscard]] std::string_view to_string(ServiceReason reason);

// What the loop cannot do itself, where the node is full; the limit then stays.
enum class ServiceAsk {
  kNothing,
  kMove,      // to a node that has room for `wanted_milli`
  kReplicas,  // no node has: `replicas` of them, each with its part of the target
};

struct ServiceDecision {
  ServiceReason reason = ServiceReason::kOnTarget;
  // The new limit: within min .. max, and above the old one by no more than the room.
  std::optional<std::int64_t> limit_milli{};
  std::int64_t wanted_milli = 0;  // that it should have, also where that is more than it gets
  ServiceAsk ask = ServiceAsk::kNothing;
  int replicas = 0;  // of kReplicas, or fewer than before for a service without load; 0: as it is

  bool operator==(const ServiceDecision&) const = default;
};

// How well the target is kept: 1 exactly, less: too badly. Nothing: there is no usable metric.
[[nodiscard]] std::optional<double> performance(const ServiceTarget& target,
                                                const std::optional<double>& measured);

// Of a latency: no request has ended, so that there is none.
[[nodiscard]] bool nobody_served(const ServiceTarget& target,
                                 const std::optional<double>& measured);

class ServiceLoop {
 public:
  virtual ~ServiceLoop() = default;
  // What is to be done now. Samples come every few seconds, in order of time.
  virtual ServiceDecision look(const ServiceInput& input) = 0;
};

[[nodiscard]] std::unique_ptr<ServiceLoop> make_service_loop(const ServiceTarget& target);

// --- for loops

// `wanted` within min .. max and, above the present limit, within the room. nullopt: that is the
// present limit.
[[nodiscard]] std::optional<std::int64_t> allowed_limit(const ServiceTarget& target,
                                                        const ServiceInput& input,
                                                        std::int64_t wanted_milli);

}  // namespace pinion::cluster
