// A pod whose annotations give it a target, as one value.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "cluster/extender/kube/pods.h"
#include "cluster/targets/service_loop.h"

namespace pinion::cluster::targets {

// --- annotations, by the pod's owner; the first makes the pod a service with a target

inline constexpr const char* kMetric = "pinion.dev/service-metric";        // PromQL, one number
inline constexpr const char* kTarget = "pinion.dev/service-target";        // a number above 0
inline constexpr const char* kDirection = "pinion.dev/service-direction";  // at-least | at-most
inline constexpr const char* kCpu = "pinion.dev/service-cpu";              // "500m..8"
inline constexpr const char* kContainer = "pinion.dev/service-container";  // where it has several
inline constexpr const char* kSettle = "pinion.dev/service-settle";        // "20s"

enum class Resize {
  kNone,        // there is none under way, or the kubelet carries it out
  kDeferred,    // the kubelet waits until there is room
  kInfeasible,  // the kubelet will never carry it out on this node
};

struct ServicePod {
  kube::PodRef pod;
  std::string node;  // empty: not bound
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

[[nodiscard]] bool is_service(const nlohmann::json& pod);

// Precondition: is_service(). Errors: kInvalid, naming the annotation or field and what would be
// right. Guaranteed pods must say that they want no cores of their own.
Result<ServicePod> read_service(const nlohmann::json& pod);

// What the pod with this limit requests: the same share of it as now, so that its QoS class stays,
// which a resize may not change. >= 1.
[[nodiscard]] std::int64_t request_for(const ServicePod& service, std::int64_t limit_milli);

}  // namespace pinion::cluster::targets
