// A pod as the API server and the scheduler tell it, as far as its cores go.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/extender/scheduling/node_demand.h"
#include "policy/policy.h"
#include "topology/topology.h"

namespace pinion::cluster {

// Of which API a PodGroup is. The gangs of kNative are kube-scheduler's own (Kubernetes 1.37,
// feature gate GenericWorkload): it asks about all members, one after another, before it binds any.
enum class PodGroupApi {
  kSigs,    // scheduling.x-k8s.io, which a label names
  kNative,  // scheduling.k8s.io, which spec.schedulingGroup names
};

// Names a PodGroup: "NAMESPACE/NAME", and of kNative "native:NAMESPACE/NAME", which is nobody
// else's, as no namespace has a colon.
[[nodiscard]] inline std::string group_key(PodGroupApi api, const std::string& name_space,
                                           const std::string& name) {
  return (api == PodGroupApi::kNative ? "native:" : "") + name_space + "/" + name;
}

struct PodContainer {
  enum class Kind {
    kMain,
    kInit,     // runs to its end before the next one starts
    kSidecar,  // starts among those, and stays for the life of the pod
  };
  std::string name;
  // As the kubelet will tell the runtime: the limit in thousandths, of a container without one that
  // of its pod; nullopt: none. The request is its own, nullopt: not stated.
  std::optional<std::int64_t> milli_cpus;
  std::optional<std::int64_t> requested_milli = {};
  topology::Bytes memory = 0;  // the limit likewise; 0: none
  Kind kind = Kind::kMain;
};

struct Pod {
  std::string uid;
  std::string name_space;
  std::string name;
  policy::Qos qos = policy::Qos::kUnknown;
  std::map<std::string, std::string> annotations;  // at least those under pinion.dev/
  std::string owner;          // uid of whoever made it with the others of its job; empty: not known
  std::string runtime_class;  // empty: the default
  std::string group;          // its PodGroup's name; empty: none
  PodGroupApi group_api = PodGroupApi::kSigs;
  std::vector<PodContainer> containers;         // in the order in which they start
  std::optional<std::int64_t> milli_cpus = {};  // its limit as a whole (spec.resources)
  NodeDemand nodes;
  bool apart = false;          // must not be on a node with another pod of its labels
  ResourceList requests;       // as the scheduler counts them; nothing when it has finished
  std::string node;            // empty: not bound
  std::string nominated;       // the node that its status names, or empty
  bool unschedulable = false;  // as the scheduler says in its status
  bool initialized = false;    // its init containers are over
  bool gang_gate = false;      // has Pinion's scheduling gate
  bool other_gates = false;    // has others
  std::int32_t priority = 0;
  std::int64_t created_ms = 0;  // since 1970; 0: not known
  std::int64_t started_ms = 0;  // a kubelet has it; since 1970; 0: not yet, or not known
  std::int64_t run_ms = 0;      // it is over so long after that at the latest; 0: not said
  bool over = false;            // has finished
  bool deleting = false;        // has been asked to end; one that is bound may still start
};

// What names a pod to the API server.
struct PodRef {
  std::string name_space;
  std::string name;
  std::string uid;

  bool operator==(const PodRef&) const = default;
};
[[nodiscard]] inline PodRef ref_of(const Pod& pod) {
  return {.name_space = pod.name_space, .name = pod.name, .uid = pod.uid};
}

}  // namespace pinion::cluster
