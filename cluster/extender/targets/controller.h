// What is done about one service, look by look: its loop's answer as a resize and an Event. Values
// in, values out; ../program/service_targets.h carries it out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cluster/extender/targets/service_pod.h"

namespace pinion::cluster::targets {

struct NodeRoom {
  std::int64_t spare_milli = 0;   // of what its pods may request
  std::int64_t shared_milli = 0;  // of its CPUs, those that no container has for itself
  std::int64_t most_milli = 0;    // the largest share of any node
  bool live = true;               // an agent speaks for the node; else nothing is left of it
};

struct Reading {
  std::optional<double> metric{};
  std::string trouble{};  // why there is no metric; empty: Prometheus has none
  std::optional<double> used_cpus{};
};

struct Step {
  ServiceReason reason = ServiceReason::kOnTarget;
  std::optional<std::int64_t> limit_milli{};  // of the container, from now on
  std::int64_t request_milli = 0;             // beside it
  std::optional<kube::PodEvent> event{};
  std::optional<double> performance{};  // 1: exactly on the target
};

class Controller {
 public:
  // The service as it is now, read at the same moment as the metric. `now_ms`: of any clock that
  // never goes back.
  Step look(const ServicePod& service, const Reading& reading, const NodeRoom& room,
            std::int64_t now_ms);
  // The API server did not take the resize of the last look: what it said, as an Event. Nothing is
  // resized for a while then.
  std::optional<kube::PodEvent> refused(const std::string& why, std::int64_t now_ms);
  // The resize of the last look was not made, or nobody knows: its Event was not told.
  void not_made() { told_ms_.erase("ServiceResized"); }
  // The service cannot be looked after, because of what its owner wrote.
  std::optional<kube::PodEvent> senseless(const Error& why, std::int64_t now_ms);

 private:
  Step take_back(const ServicePod& service, std::int64_t now_ms);
  void rest(std::int64_t now_ms);
  std::optional<kube::PodEvent> tell(kube::PodEvent event, std::int64_t now_ms);

  ServiceTarget target_;
  std::unique_ptr<ServiceLoop> loop_;
  std::int64_t rest_until_ms_ = 0;               // after a refusal it does not grow,
  std::int64_t refused_until_ms_ = 0;            // and after the API server's does not change
  std::optional<std::int64_t> deferred_ms_{};    // since when the kubelet waits for room
  std::int64_t rest_ms_ = 0;                     // the last rest
  std::map<std::string, std::int64_t> told_ms_;  // when, by the event's reason
  int without_metric_ = 0;                       // looks in a row
};

}  // namespace pinion::cluster::targets
