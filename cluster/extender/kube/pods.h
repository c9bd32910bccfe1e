// What is done to pods: bound to a node, annotated, nominated, let through a scheduling gate,
// resized, evicted, deleted, told about in events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cluster/extender/kube/api.h"

namespace pinion::kube {

// Reasons of the events by which a pod's user is told why it waits, and that it waits in vain.
inline constexpr const char* kGangWaits = "GangWaits";
inline constexpr const char* kNeverFits = "NeverFits";

// One pod, not another one of the same name: with a uid every call says kConflict when the name
// belongs to a younger pod by now.
struct PodRef {
  std::string name_space;
  std::string name;
  std::string uid;  // may be empty, except for events
};

struct Bound {
  std::string node;      // where the pod is bound now
  bool already = false;  // it was before this call, perhaps to another node than asked for
};

// The pod gets the annotations with the binding, in one step. Errors: as api.h; kConflict when the
// name is another pod's, or the pod is not bound and refused all the same (it is being deleted).
// kUnavailable: unknown; asking again tells.
Result<Bound> bind_pod(Api& api, const PodRef& pod, const std::string& node,
                       const std::map<std::string, std::string>& annotations = {},
                       const Call& how = {});

// Sets annotations, and removes those without a value. Others stay. Errors: as api.h.
Status annotate_pod(Api& api, const PodRef& pod,
                    const std::map<std::string, std::optional<std::string>>& annotations,
                    const Call& how = {});

// The same for labels.
Status label_pod(Api& api, const PodRef& pod,
                 const std::map<std::string, std::optional<std::string>>& labels,
                 const Call& how = {});

// status.nominatedNodeName: where it will go when there is room; an empty name takes it back.
// Errors: as api.h.
Status nominate_pod(Api& api, const PodRef& pod, const std::string& node, const Call& how = {});

// Takes this scheduling gate off, others stay; one that is off already is no error. Errors: as
// api.h.
Status ungate_pod(Api& api, const PodRef& pod, std::string_view gate, const Call& how = {});

// Thousandths of a CPU, > 0.
struct CpuAmounts {
  std::int64_t limit_milli = 0;
  std::int64_t request_milli = 0;
};

// Other CPUs for a container of a running pod, in place, by the subresource `resize` (Kubernetes
// 1.33; 1.27 to 1.32 with InPlacePodVerticalScaling, where the pod itself is patched, do not have
// it: kNotFound). `resource_version`: of the pod that this was decided of, kConflict where it has
// changed since; empty: whatever it is. Errors: as api.h; kInvalid where it would change the pod's
// QoS class.
Status resize_pod(Api& api, const PodRef& pod, const std::string& container,
                  const CpuAmounts& amounts, const std::string& resource_version,
                  const Call& how = {});

// Through the Eviction interface of policy/v1, with the pod's own grace period. Errors: as api.h;
// kUnavailable also where a disruption budget forbids it now.
Status evict_pod(Api& api, const PodRef& pod, const Call& how = {});

// With the pod's own grace period. One that is gone already, or whose name is another pod's by now,
// is no error. Errors: as api.h.
Status delete_pod(Api& api, const PodRef& pod, const Call& how = {});

struct PodEvent {
  bool warning = false;  // else Normal
  std::string reason;    // CamelCase, up to 128 characters: "GangRefused"
  std::string action;    // what was done or tried: "Planning", up to 128
  std::string note;      // for people, cut to 1024 bytes
};

struct Reporter {
  std::string controller = "pinion.dev/extender";
  std::string instance;  // which of its replicas: the pod's name
};

// An event of events.k8s.io/v1 about the pod, seen now. Errors: as api.h.
Status report_on_pod(Api& api, const Reporter& reporter, const PodRef& pod, const PodEvent& event,
                     const Call& how = {});

}  // namespace pinion::kube
