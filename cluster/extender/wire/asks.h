// What kube-scheduler asks of an extender (k8s.io/kube-scheduler/extender/v1), as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/extender/wire/pod.h"

namespace pinion::cluster::wire {

struct Label {
  std::string_view name;
  std::string_view value;

  bool operator==(const Label&) const = default;
};

struct NodeObject {
  std::string_view json;  // all of it, as it came
  std::vector<Label> labels;

  bool operator==(const NodeObject&) const = default;
};

// Whether the scheduler sends names (nodeCacheCapable: true) or whole objects. It reads the answer
// in the same form only.
enum class NodeForm { kNames, kObjects };

// For filter and for prioritize (ExtenderArgs). The views end with the Reader's next body.
struct FilterAsk {
  PodSpecView pod;
  NodeForm form = NodeForm::kNames;
  std::vector<std::string_view> names;  // of the nodes, in the order in which they came
  std::vector<NodeObject> objects;      // of the same nodes; none where only names were sent
};

// ExtenderBindingArgs. No member is empty.
struct BindAsk {
  std::string pod_uid;
  std::string pod_namespace;
  std::string pod_name;
  std::string node;

  bool operator==(const BindAsk&) const = default;
};

// Pods that would be evicted from one node.
struct Victims {
  std::string node;
  std::vector<std::string> uids;    // none empty
  std::int64_t pdb_violations = 0;  // of disruption budgets

  bool operator==(const Victims&) const = default;
};

// ExtenderPreemptionArgs, of either form: from pod objects the uids are taken.
struct PreemptAsk {
  PodSpecView pod;
  std::vector<Victims> nodes;  // in the order in which they came
};

}  // namespace pinion::cluster::wire
