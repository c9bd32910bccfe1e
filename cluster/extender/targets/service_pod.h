// A pod whose annotations (policy/annotations.h) give it a target, as one value.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "cluster/extender/kube/pods.h"
#include "cluster/targets/service_loop.h"

namespace pinion::cluster::targets {

enum class Resize {
  kNone,        // there is none under way, or the kubelet carries it out
  kDeferred,    // the kubelet waits until there is room
  kInfeasible,  // the kubelet will never carry it out on this node
};

struct ServicePod {
  kube::PodRef pod;
  std::string resource_version;  // of the pod as it was read
  std::string node;              // empty: not bound
  bool running = false;
  std::string container;
  std::string metric;  // PromQL, with the pod's own names in it
  std::string use;     // PromQL: CPUs that the container uses
  ServiceTarget target;
  // Thousandths of a CPU, > 0: as wanted, and as the kubelet has it while it refuses a resize.
  std::int64_t limit_milli = 0;
  std::int64_t request_milli = 0;
  std::int64_t applied_limit_milli = 0;
  std::int64_t applied_request_milli = 0;
  Resize resize = Resize::kNone;

  // Of a resize that the kubelet has not carried out the limit does not count.
  [[nodiscard]] std::int64_t present_limit() const {
    return resize == Resize::kNone ? limit_milli : applied_limit_milli;
  }
  [[nodiscard]] std::int64_t present_request() const {
    return resize == Resize::kNone ? request_milli : applied_request_milli;
  }
};

// Whether it names a metric.
[[nodiscard]] bool is_service(const nlohmann::json& pod);

// Precondition: is_service(). Errors: kInvalid, naming the annotation or field and what would be
// right. Guaranteed pods must say that they want no cores of their own.
Result<ServicePod> read_service(const nlohmann::json& pod);

// What the pod with this limit requests: the same share of it as now, so that its QoS class stays,
// which a resize may not change. >= 1.
[[nodiscard]] std::int64_t request_for(const ServicePod& service, std::int64_t limit_milli);

}  // namespace pinion::cluster::targets
