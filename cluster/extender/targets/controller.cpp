#include "cluster/extender/targets/controller.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "policy/annotations.h"

namespace pinion::cluster::targets {
namespace {

constexpr std::int64_t kTellAgainMs = 600'000;  // what lasts
constexpr std::int64_t kTellResizeMs = 60'000;  // resizes come and go
constexpr std::int64_t kFirstRestMs = 60'000;
constexpr std::int64_t kLongestRestMs = 960'000;
constexpr std::int64_t kLongestDeferredMs = 60'000;
constexpr double kShortBelow = 0.97;    // of the target
constexpr int kLooksWithoutMetric = 3;  // before it is told

constexpr const char* kResized = "ServiceResized";

std::string figure(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string cpus(std::int64_t milli) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.2f", static_cast<double>(milli) / 1000);
  return text.data();
}

std::string measured_text(const ServicePod& service, const Reading& reading) {
  if (nobody_served(service.target, reading.metric)) return "nobody asks anything";
  return "measured " + figure(reading.metric.value_or(0)) + ", target " +
         (service.target.direction == Direction::kAtLeast ? "at least " : "at most ") +
         figure(service.target.target);
}

kube::PodEvent warning(const char* reason, std::string note) {
  return {.warning = true, .reason = reason, .action = "Resizing", .note = std::move(note)};
}

kube::PodEvent impossible(const ServicePod& service, const Reading& reading) {
  return warning("ServiceTargetImpossible",
                 "the target is not reached with the most CPUs that the service may have, " +
                     cpus(service.target.max_milli) + ": " + measured_text(service, reading) +
                     ". Raise the maximum in " + annotation::kServiceCpu +
                     ", or change the target");
}

kube::PodEvent full(const ServicePod& service, const Reading& reading,
                    const ServiceDecision& decision) {
  const std::string node = "node " + service.node + " has no room for the " +
                           cpus(decision.wanted_milli) +
                           " CPUs that it needs: " + measured_text(service, reading) + ". ";
  if (decision.ask == ServiceAsk::kReplicas) {
    return warning("ServiceNeedsReplicas",
                   node +
                       "No node has so many: give it another replica, and each its part of the "
                       "target");
  }
  return warning("ServiceNeedsMove", node +
                                         "Delete the pod, so that it goes to another node, or "
                                         "give it another replica");
}

kube::PodEvent idle(const ServicePod& service, const Reading& reading) {
  const std::string note =
      nobody_served(service.target, reading.metric)
          ? "no request has ended, and it uses almost no CPUs. What it does not use is taken back, "
            "down to the least in " +
                std::string(annotation::kServiceCpu)
          : "more CPUs would not help: it does not use those that it has. Too little is asked of "
            "it, or something else holds it back";
  return {.reason = "ServiceIdle",
          .action = "Resizing",
          .note = note + "; " + measured_text(service, reading)};
}

kube::PodEvent without_metric(const ServicePod& service, const Reading& reading) {
  std::string given = "no number";
  if (!reading.trouble.empty()) given = "nothing: " + reading.trouble;
  if (nobody_served(service.target, reading.metric)) given = "no latency: no request has ended";
  return warning("ServiceMetricMissing", "its CPUs stay as they are, as the query in " +
                                             std::string(annotation::kServiceMetric) + " gives " +
                                             given);
}

kube::PodEvent resized(const ServicePod& service, const Reading& reading, std::int64_t limit,
                       ServiceReason reason) {
  return {.reason = kResized,
          .action = "Resizing",
          .note = "CPU limit of container " + service.container + " from " +
                  cpus(service.present_limit()) + " to " + cpus(limit) + " (" +
                  std::string(to_string(reason)) + "): " + measured_text(service, reading)};
}

// By how much the limit may rise: so much that what it requests then fits, and no container can use
// more CPUs than it sees.
std::int64_t room_of(const ServicePod& service, const NodeRoom& room) {
  const std::int64_t spare = std::clamp<std::int64_t>(room.spare_milli, 0, 10'000'000);
  const std::int64_t limit = service.present_limit();
  return std::min(spare * limit / std::max<std::int64_t>(service.present_request(), 1),
                  room.shared_milli - limit);
}

}  // namespace

Step Controller::look(const ServicePod& service, const Reading& reading, const NodeRoom& room,
                      std::int64_t now_ms) {
  if (loop_ == nullptr || target_ != service.target) {
    target_ = service.target;
    loop_ = make_service_loop(target_);
  }
  if (service.resize != Resize::kDeferred) deferred_ms_.reset();
  if (service.resize == Resize::kDeferred && !deferred_ms_) deferred_ms_ = now_ms;
  const bool in_vain = deferred_ms_ && now_ms - *deferred_ms_ >= kLongestDeferredMs;
  if (service.resize == Resize::kInfeasible || in_vain) return take_back(service, now_ms);
  const bool may_grow = service.resize == Resize::kNone && now_ms >= rest_until_ms_;
  ServiceInput input{.now_ms = now_ms,
                     .measured = reading.metric,
                     .limit_milli = service.present_limit(),
                     .room_milli = may_grow ? room_of(service, room) : 0,
                     .node_milli = room.most_milli};
  if (reading.used_cpus && *reading.used_cpus >= 0 && *reading.used_cpus < 1e6) {
    input.used_milli = std::llround(1000 * *reading.used_cpus);
  }
  ServiceDecision decision = loop_->look(input);
  if (now_ms < refused_until_ms_) decision.limit_milli.reset();
  Step step{.reason = decision.reason};
  step.performance = performance(target_, reading.metric);
  without_metric_ = step.performance ? 0 : without_metric_ + 1;
  if (decision.limit_milli) {
    step.limit_milli = decision.limit_milli;
    step.request_milli = request_for(service, *decision.limit_milli);
    step.event = tell(resized(service, reading, *step.limit_milli, step.reason), now_ms);
  } else if (decision.reason == ServiceReason::kImpossible) {
    step.event = tell(impossible(service, reading), now_ms);
  } else if (decision.reason == ServiceReason::kFull) {
    // It may also be that it rests, that a resize is under way or that the agent is silent.
    if (!may_grow || !room.live) return step;
    step.event = tell(full(service, reading, decision), now_ms);
  } else if (decision.reason == ServiceReason::kIdle) {
    const bool told =
        step.performance ? *step.performance < kShortBelow : without_metric_ >= kLooksWithoutMetric;
    if (told) step.event = tell(idle(service, reading), now_ms);
  } else if (decision.reason == ServiceReason::kNoMetric &&
             without_metric_ >= kLooksWithoutMetric) {
    step.event = tell(without_metric(service, reading), now_ms);
  }
  return step;
}

// What the kubelet will never give would only be counted against the node.
Step Controller::take_back(const ServicePod& service, std::int64_t now_ms) {
  Step step{.reason = ServiceReason::kFull};
  const bool is_back = service.limit_milli == service.applied_limit_milli &&
                       service.request_milli == service.applied_request_milli;
  if (is_back || now_ms < refused_until_ms_) return step;
  rest(now_ms);
  step.limit_milli = service.applied_limit_milli;
  step.request_milli = service.applied_request_milli;
  step.event = tell(warning("ServiceNeedsMove",
                            "the kubelet of node " + service.node + " cannot give it " +
                                cpus(service.limit_milli) +
                                " CPUs, it keeps what it had. Delete the pod, so that it goes to "
                                "another node, or give it another replica"),
                    now_ms);
  return step;
}

std::optional<kube::PodEvent> Controller::refused(const std::string& why, std::int64_t now_ms) {
  rest(now_ms);
  refused_until_ms_ = rest_until_ms_;
  not_made();
  return tell(warning("ServiceNotResized", "the API server refuses to resize it: " + why), now_ms);
}

void Controller::rest(std::int64_t now_ms) {
  const bool again = now_ms < rest_until_ms_ + rest_ms_;
  rest_ms_ = again ? std::min(2 * rest_ms_, kLongestRestMs) : kFirstRestMs;
  rest_until_ms_ = now_ms + rest_ms_;
}

std::optional<kube::PodEvent> Controller::tell(kube::PodEvent event, std::int64_t now_ms) {
  const std::int64_t pause = event.reason == kResized ? kTellResizeMs : kTellAgainMs;
  const auto [told, is_new] = told_ms_.emplace(event.reason, now_ms);
  if (!is_new && now_ms - told->second < pause) return std::nullopt;
  told->second = now_ms;
  return event;
}

std::optional<kube::PodEvent> Controller::senseless(const Error& why, std::int64_t now_ms) {
  return tell(warning("ServiceTargetRefused", why.text), now_ms);
}

}  // namespace pinion::cluster::targets
