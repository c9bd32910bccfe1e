// What the extender reads of a v1 Pod, as values. The scheduler sends the whole object, without
// apiVersion and kind; everything else in it is skipped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/extender/scheduling/node_demand.h"
#include "policy/policy.h"

namespace pinion::cluster::wire {

// What is asked of one side of `resources`. Not set: not stated, which for requests on the wire
// means that there is no limit either, as the API server fills requests in from limits.
struct Amounts {
  std::optional<std::int64_t> cpu_milli;     // thousandths of a CPU, >= 0
  std::optional<std::int64_t> memory_bytes;  // >= 0

  bool operator==(const Amounts&) const = default;
};

struct Resources {
  Amounts requests;
  Amounts limits;

  bool operator==(const Resources&) const = default;
};

struct ContainerView {
  enum class Kind {
    kMain,
    kInit,     // runs to its end before the next one starts
    kSidecar,  // an init container with restartPolicy Always: stays for the life of the pod
  };
  std::string name;
  Kind kind = Kind::kMain;
  Resources resources;

  bool operator==(const ContainerView&) const = default;
};

// Who made the pod: the owner reference that says it is the controller.
struct Controller {
  std::string kind;  // "Job"
  std::string name;
  std::string uid;

  bool operator==(const Controller&) const = default;
};

struct PodSpecView {
  std::string uid;  // never empty, as the two below
  std::string name_space;
  std::string name;
  std::map<std::string, std::string> labels;       // those that kept_key() keeps
  std::map<std::string, std::string> annotations;  // the same
  std::optional<Controller> controller;
  std::int64_t created_ms = 0;           // since 1970; 0: not stated
  std::int64_t started_ms = 0;           // status.startTime: a kubelet has it; as above
  std::int32_t active_deadline_s = 0;    // 0: not stated
  std::int32_t termination_grace_s = 0;  // the same
  bool deleting = false;                 // has a deletion timestamp
  bool gang_gate = false;                // has the scheduling gate kGangGate
  bool other_gates = false;              // has others
  std::int32_t priority = 0;
  std::string priority_class;  // spec.priorityClassName; empty: none
  std::string scheduler_name;
  std::string scheduling_group;  // spec.schedulingGroup.podGroupName; empty: none
  std::string runtime_class;     // spec.runtimeClassName; empty: the default
  std::string node_name;         // empty: not bound
  std::string phase;             // "Pending"; empty: not stated
  std::string nominated_node;    // of its status
  bool unschedulable = false;    // a scheduler says so, with PodScheduled
  bool initialized = false;      // its kubelet says so
  std::string refused;           // what its agent said, where a container waits for cores in vain
  std::vector<ContainerView> containers;  // init containers and sidecars first, in their order
  std::optional<Resources> pod_level;     // spec.resources, which goes before the containers'
  Amounts overhead;                       // beside those of the containers
  NodeDemand nodes;
  // It must not be on a node with another pod of its own labels: by required anti-affinity to them.
  bool apart = false;
  policy::Qos qos = policy::Qos::kBestEffort;  // never kUnknown

  bool operator==(const PodSpecView&) const = default;
};

// Whether a label or annotation of this name is read: ours (pinion.dev/) and those by which jobs
// and gangs mark their pods (batch.kubernetes.io/, jobset.sigs.k8s.io/, training.kubeflow.org/,
// scheduling.x-k8s.io/).
[[nodiscard]] bool kept_key(std::string_view key);

// The class by the rules of k8s.io/kubernetes/pkg/apis/core/v1/helper/qos: from spec.resources
// where there are any, else from all containers, init containers and sidecars included; an amount
// of 0 counts as not stated.
[[nodiscard]] policy::Qos qos_by_resources(const PodSpecView& pod);

}  // namespace pinion::cluster::wire
