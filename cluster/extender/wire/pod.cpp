#include "cluster/extender/wire/pod.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "base/quantity.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "cluster/extender/wire/read_pod.h"
#include "policy/annotations.h"
#include "policy/runtime_pod.h"

namespace pinion::cluster::wire {
namespace {

constexpr std::array<std::string_view, 5> kKeptPrefixes{
    annotation::kPrefix, "batch.kubernetes.io/", "jobset.sigs.k8s.io/", "training.kubeflow.org/",
    "scheduling.x-k8s.io/"};

constexpr std::size_t kLongestRefusal = 700;  // bytes; an event's note has 1024

// All of a pod's labels; the texts are the body's.
using Labels = std::map<std::string_view, std::string_view>;

Status read_labels(PodSpecView& pod, Labels& all, ondemand::value& value, const Where& at) {
  pod.labels.clear();
  all.clear();
  return each_field(value, at, [&](std::string_view key, ondemand::value& text) -> Status {
    Status good = read_string(all[key], text, Where::entry(at, key));
    if (good && kept_key(key)) pod.labels[std::string(key)] = all[key];
    return good;
  });
}

Status read_kept(std::map<std::string, std::string>& to, ondemand::value& value, const Where& at) {
  to.clear();
  return each_field(value, at, [&](std::string_view key, ondemand::value& text) -> Status {
    if (!kept_key(key)) return {};
    std::string& value_of = to[std::string(key)];
    Status good = read_text(value_of, text, Where::entry(at, key));
    if (good) value_of = clean_text(value_of);  // as agents do: a job has one name everywhere
    return good;
  });
}

Status read_owner(std::optional<Controller>& to, ondemand::value& value, const Where& at) {
  Controller owner;
  bool controls = false;
  Status good = each_field(value, at, [&](std::string_view key, ondemand::value& field) -> Status {
    const Where here(at, key);
    if (same_key(key, "kind")) return read_text(owner.kind, field, here);
    if (same_key(key, "name")) return read_text(owner.name, field, here);
    if (same_key(key, "uid")) return read_text(owner.uid, field, here);
    if (same_key(key, "controller")) return read_bool(controls, field, here);
    return {};
  });
  if (controls) to = std::move(owner);
  return good;
}

Status read_owners(std::optional<Controller>& to, ondemand::value& value, const Where& at) {
  to.reset();
  return each_item(value, at, [&](ondemand::value& owner, const Where& here) {
    return read_owner(to, owner, here);
  });
}

// "2026-11-24T15:21:31Z"; what is no time is none.
Status read_time(std::int64_t& to_ms, ondemand::value& value, const Where& at) {
  std::string text;
  Status good = read_text(text, value, at);
  to_ms = rfc3339_ms(text).value_or(0);
  return good;
}

Status read_metadata(PodSpecView& pod, Labels& labels, ondemand::value& value, const Where& at) {
  return each_field(value, at, [&](std::string_view key, ondemand::value& field) -> Status {
    const Where here(at, key);
    if (same_key(key, "name")) return read_text(pod.name, field, here);
    if (same_key(key, "namespace")) return read_text(pod.name_space, field, here);
    if (same_key(key, "uid")) return read_text(pod.uid, field, here);
    if (same_key(key, "labels")) return read_labels(pod, labels, field, here);
    if (same_key(key, "annotations")) return read_kept(pod.annotations, field, here);
    if (same_key(key, "ownerReferences")) return read_owners(pod.controller, field, here);
    if (same_key(key, "creationTimestamp")) return read_time(pod.created_ms, field, here);
    if (same_key(key, "deletionTimestamp")) {
      std::string_view time;
      Status good = read_string(time, field, here);
      pod.deleting = !time.empty();
      return good;
    }
    return {};
  });
}

// Quantities are strings; whoever writes JSON by hand writes numbers, which Go takes as well.
Status read_quantity(std::optional<std::int64_t>& to, ondemand::value& value, const Where& at,
                     Result<std::int64_t> (*parse)(std::string_view)) {
  to.reset();
  ondemand::json_type type{};
  if (const auto code = value.type().get(type)) return at.broken(code);
  if (type == ondemand::json_type::null) return {};
  std::string_view text;
  if (type == ondemand::json_type::number) {
    text = value.raw_json_token();
    text = text.substr(0, text.find_first_of(" \t\r\n"));
  } else if (Status good = read_string(text, value, at); !good) {
    return good;
  }
  const auto amount = parse(text);
  if (!amount) return failure(amount.error().within(at.text()));
  if (*amount < 0) return at.fail("a negative amount");
  to = *amount;
  return {};
}

Status read_amounts(Amounts& to, ondemand::value& value, const Where& at) {
  to = {};
  return each_field(value, at, [&](std::string_view key, ondemand::value& amount) -> Status {
    const Where here = Where::entry(at, key);
    if (key == "cpu") return read_quantity(to.cpu_milli, amount, here, capped_milli_quantity);
    if (key == "memory") return read_quantity(to.memory_bytes, amount, here, capped_whole_quantity);
    return {};
  });
}

Status read_resources(Resources& to, ondemand::value& value, const Where& at) {
  to = {};
  return each_field(value, at, [&](std::string_view key, ondemand::value& amounts) -> Status {
    const Where here(at, key);
    if (same_key(key, "requests")) return read_amounts(to.requests, amounts, here);
    if (same_key(key, "limits")) return read_amounts(to.limits, amounts, here);
    return {};
  });
}

Status read_pod_level(std::optional<Resources>& to, ondemand::value& value, const Where& at) {
  to.reset();
  if (is_null(value)) return {};
  Status good = read_resources(to.emplace(), value, at);
  if (*to == Resources()) to.reset();  // the API server takes no account of an empty one
  return good;
}

Status read_container(ContainerView& container, ondemand::value& value, const Where& at) {
  Status good = each_field(value, at, [&](std::string_view key, ondemand::value& field) -> Status {
    const Where here(at, key);
    if (same_key(key, "name")) return read_text(container.name, field, here);
    if (same_key(key, "resources")) return read_resources(container.resources, field, here);
    if (same_key(key, "restartPolicy") && container.kind != ContainerView::Kind::kMain) {
      std::string_view policy;
      Status read = read_string(policy, field, here);
      if (policy == "Always") container.kind = ContainerView::Kind::kSidecar;
      return read;
    }
    return {};
  });
  if (good && container.name.empty()) return Where(at, "name").fail("missing");
  return good;
}

Status read_containers(std::vector<ContainerView>& to, ContainerView::Kind kind,
                       ondemand::value& value, const Where& at) {
  to.clear();
  return each_item(value, at, [&](ondemand::value& container, const Where& here) {
    to.push_back({.name = {}, .kind = kind, .resources = {}});
    return read_container(to.back(), container, here);
  });
}

Status read_priority(std::int32_t& to, ondemand::value& value, const Where& at) {
  std::int64_t wide = 0;
  if (Status good = read_integer(wide, value, at); !good) return good;
  if (!std::in_range<std::int32_t>(wide)) return at.fail("not an integer of 32 bits");
  to = static_cast<std::int32_t>(wide);
  return {};
}

// Seconds; what can be no length of time is none.
Status read_seconds(std::int32_t& to, ondemand::value& value, const Where& at) {
  std::int64_t wide = 0;
  Status good = read_integer(wide, value, at);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  to = static_cast<std::int32_t>(std::clamp<std::int64_t>(wide, 0, most));
  return good;
}

Status read_gates(PodSpecView& pod, ondemand::value& value, const Where& at) {
  pod.gang_gate = pod.other_gates = false;
  return each_item(value, at, [&](ondemand::value& gate, const Where& here) {
    return each_field(gate, here, [&](std::string_view key, ondemand::value& field) -> Status {
      if (!same_key(key, "name")) return {};
      std::string_view name;
      Status good = read_string(name, field, Where(here, key));
      (name == kGangGate ? pod.gang_gate : pod.other_gates) = true;
      return good;
    });
  });
}

Status read_texts(std::vector<std::string>& to, ondemand::value& value, const Where& at) {
  to.clear();
  return each_item(value, at, [&](ondemand::value& text, const Where& here) {
    return read_text(to.emplace_back(), text, here);
  });
}

Status read_requirements(std::vector<NodeRequirement>& to, ondemand::value& value,
                         const Where& at) {
  to.clear();
  return each_item(value, at, [&](ondemand::value& item, const Where& here) {
    NodeRequirement& it = to.emplace_back();
    return each_field(item, here, [&](std::string_view key, ondemand::value& field) -> Status {
      const Where inner(here, key);
      if (same_key(key, "key")) return read_text(it.key, field, inner);
      if (same_key(key, "operator")) return read_text(it.op, field, inner);
      if (same_key(key, "values")) return read_texts(it.values, field, inner);
      return {};
    });
  });
}

Status read_node_terms(std::optional<std::vector<NodeTerm>>& to, ondemand::value& value,
                       const Where& at) {
  to.reset();
  if (is_null(value)) return {};
  auto& terms = to.emplace();
  return each_item(value, at, [&](ondemand::value& item, const Where& here) {
    NodeTerm& term = terms.emplace_back();
    return each_field(item, here, [&](std::string_view key, ondemand::value& field) -> Status {
      const Where inner(here, key);
      if (same_key(key, "matchExpressions")) return read_requirements(term.labels, field, inner);
      if (same_key(key, "matchFields")) return read_requirements(term.fields, field, inner);
      return {};
    });
  });
}

Status read_selector(std::map<std::string, std::string>& to, ondemand::value& value,
                     const Where& at) {
  to.clear();
  return each_field(value, at, [&](std::string_view key, ondemand::value& text) {
    return read_text(to[std::string(key)], text, Where::entry(at, key));
  });
}

struct LabelSelector {
  bool given = false;
  std::map<std::string, std::string> equal;
  std::vector<NodeRequirement> labels;

  [[nodiscard]] bool selects_all() const { return given && equal.empty() && labels.empty(); }
  [[nodiscard]] bool selects_some() const { return given && !selects_all(); }
};

Status read_label_selector(LabelSelector& to, ondemand::value& value, const Where& at) {
  to.given = !is_null(value);
  return each_field(value, at, [&](std::string_view key, ondemand::value& field) -> Status {
    const Where here(at, key);
    if (same_key(key, "matchLabels")) return read_selector(to.equal, field, here);
    if (same_key(key, "matchExpressions")) return read_requirements(to.labels, field, here);
    return {};
  });
}

// Of which pods a pod keeps away, and where.
struct PodTerm {
  LabelSelector pods;                    // not given: of none
  std::vector<std::string> name_spaces;  // empty: its own
  LabelSelector more_name_spaces;        // by their labels
  std::string topology_key;
};

Status read_pod_terms(std::vector<PodTerm>& to, ondemand::value& value, const Where& at) {
  to.clear();
  return each_item(value, at, [&](ondemand::value& item, const Where& here) {
    PodTerm& term = to.emplace_back();
    return each_field(item, here, [&](std::string_view key, ondemand::value& field) -> Status {
      const Where inner(here, key);
      if (same_key(key, "labelSelector")) return read_label_selector(term.pods, field, inner);
      if (same_key(key, "namespaces")) return read_texts(term.name_spaces, field, inner);
      if (same_key(key, "topologyKey")) return read_text(term.topology_key, field, inner);
      if (same_key(key, "namespaceSelector")) {
        return read_label_selector(term.more_name_spaces, field, inner);
      }
      return {};
    });
  });
}

bool holds(const NodeRequirement& it, const Labels& labels) {
  const auto label = labels.find(it.key);
  const bool there = label != labels.end();
  const bool listed =
      there && std::find(it.values.begin(), it.values.end(), label->second) != it.values.end();
  if (it.op == "In") return listed;
  if (it.op == "NotIn") return !listed;
  return it.op == "Exists" ? there : it.op == "DoesNotExist" && !there;
}

// Whether it keeps the pod off nodes with others of the pod's own labels. Namespaces by their
// labels are not looked at.
bool keeps_apart(const PodTerm& term, const Labels& labels, const PodSpecView& pod) {
  const auto& names = term.name_spaces;
  const bool named = names.empty()
                         ? !term.more_name_spaces.selects_some()
                         : std::find(names.begin(), names.end(), pod.name_space) != names.end();
  const bool here = term.more_name_spaces.selects_all() || named;
  return term.pods.given && here && term.topology_key == "kubernetes.io/hostname" &&
         std::all_of(term.pods.equal.begin(), term.pods.equal.end(),
                     [&](const auto& entry) {
                       const auto label = labels.find(entry.first);
                       return label != labels.end() && label->second == entry.second;
                     }) &&
         std::all_of(term.pods.labels.begin(), term.pods.labels.end(),
                     [&](const NodeRequirement& it) { return holds(it, labels); });
}

// spec.affinity, of which what is only preferred plays no part.
Status read_affinity(NodeDemand& to, std::vector<PodTerm>& away, ondemand::value& value,
                     const Where& at) {
  return each_field(value, at, [&](std::string_view kind, ondemand::value& of) -> Status {
    const Where affinity(at, kind);
    const bool anti = same_key(kind, "podAntiAffinity");
    if (!anti && !same_key(kind, "nodeAffinity")) return {};
    return each_field(of, affinity, [&](std::string_view when, ondemand::value& field) -> Status {
      const Where required(affinity, when);
      if (!same_key(when, "requiredDuringSchedulingIgnoredDuringExecution")) return {};
      if (anti) return read_pod_terms(away, field, required);
      return each_field(field, required, [&](std::string_view key, ondemand::value& terms) {
        return same_key(key, "nodeSelectorTerms")
                   ? read_node_terms(to.affinity, terms, Where(required, key))
                   : Status();
      });
    });
  });
}

// The admission plugin DefaultTolerationSeconds gives all pods two: for a node that fails under
// them.
bool is_for_failing_nodes(const Toleration& one) {
  return one.effect == "NoExecute" &&
         (one.key == "node.kubernetes.io/not-ready" || one.key == "node.kubernetes.io/unreachable");
}

Status read_tolerations(std::vector<Toleration>& to, ondemand::value& value, const Where& at) {
  to.clear();
  return each_item(value, at, [&](ondemand::value& item, const Where& here) -> Status {
    Toleration it;
    Status good =
        each_field(item, here, [&](std::string_view key, ondemand::value& field) -> Status {
          const Where inner(here, key);
          if (same_key(key, "key")) return read_text(it.key, field, inner);
          if (same_key(key, "operator")) return read_text(it.op, field, inner);
          if (same_key(key, "value")) return read_text(it.value, field, inner);
          if (same_key(key, "effect")) return read_text(it.effect, field, inner);
          return {};
        });
    if (good && !is_for_failing_nodes(it)) to.push_back(std::move(it));
    return good;
  });
}

Status read_scheduling_group(std::string& to, ondemand::value& value, const Where& at) {
  to.clear();
  return each_field(value, at, [&](std::string_view key, ondemand::value& name) {
    return same_key(key, "podGroupName") ? read_text(to, name, Where(at, key)) : Status();
  });
}

Status read_spec(PodSpecView& pod, std::vector<PodTerm>& away, ondemand::value& value,
                 const Where& at) {
  using Kind = ContainerView::Kind;
  pod.containers.clear();
  std::vector<ContainerView> mains;
  Status good = each_field(value, at, [&](std::string_view key, ondemand::value& field) -> Status {
    const Where here(at, key);
    if (same_key(key, "initContainers")) {
      return read_containers(pod.containers, Kind::kInit, field, here);
    }
    if (same_key(key, "containers")) return read_containers(mains, Kind::kMain, field, here);
    if (same_key(key, "resources")) return read_pod_level(pod.pod_level, field, here);
    if (same_key(key, "overhead")) return read_amounts(pod.overhead, field, here);
    if (same_key(key, "nodeSelector")) return read_selector(pod.nodes.selector, field, here);
    if (same_key(key, "affinity")) return read_affinity(pod.nodes, away, field, here);
    if (same_key(key, "tolerations")) return read_tolerations(pod.nodes.tolerations, field, here);
    if (same_key(key, "priority")) return read_priority(pod.priority, field, here);
    if (same_key(key, "priorityClassName")) return read_text(pod.priority_class, field, here);
    if (same_key(key, "schedulerName")) return read_text(pod.scheduler_name, field, here);
    if (same_key(key, "runtimeClassName")) return read_text(pod.runtime_class, field, here);
    if (same_key(key, "nodeName")) return read_text(pod.node_name, field, here);
    if (same_key(key, "activeDeadlineSeconds")) {
      return read_seconds(pod.active_deadline_s, field, here);
    }
    if (same_key(key, "terminationGracePeriodSeconds")) {
      return read_seconds(pod.termination_grace_s, field, here);
    }
    if (same_key(key, "schedulingGates")) return read_gates(pod, field, here);
    if (same_key(key, "schedulingGroup")) {
      return read_scheduling_group(pod.scheduling_group, field, here);
    }
    return {};
  });
  std::move(mains.begin(), mains.end(), std::back_inserter(pod.containers));
  return good;
}

// The class as the API server has written it down, for it never changes.
Status read_qos(std::optional<policy::Qos>& to, ondemand::value& value, const Where& at) {
  std::string_view name;
  Status good = read_string(name, value, at);
  to.reset();
  for (const auto qos :
       {policy::Qos::kGuaranteed, policy::Qos::kBurstable, policy::Qos::kBestEffort}) {
    if (name == policy::to_string(qos)) to = qos;
  }
  return good;
}

// A container's status. The kubelet quotes the agent's refusal in the middle of its message.
Status read_refusal(std::string& to, ondemand::value& value, const Where& at) {
  std::string_view message;
  Status good = each_field(value, at, [&](std::string_view key, ondemand::value& state) -> Status {
    const Where here(at, key);
    if (!same_key(key, "state")) return {};
    return each_field(state, here, [&](std::string_view kind, ondemand::value& fields) -> Status {
      const Where inner(here, kind);
      if (!same_key(kind, "waiting")) return {};
      return each_field(fields, inner, [&](std::string_view name, ondemand::value& text) -> Status {
        return same_key(name, "message") ? read_string(message, text, Where(inner, name))
                                         : Status();
      });
    });
  });
  const std::size_t begin = message.find(policy::kRefusalBegins);
  if (begin != std::string_view::npos && to.empty()) to = message.substr(begin, kLongestRefusal);
  return good;
}

Status read_refusals(std::string& to, ondemand::value& value, const Where& at) {
  return each_item(value, at, [&](ondemand::value& container, const Where& here) {
    return read_refusal(to, container, here);
  });
}

// That no node was found for it (one that waits at a gate has another reason), and that its init
// containers are over.
Status read_conditions(PodSpecView& pod, ondemand::value& value, const Where& at) {
  return each_item(value, at, [&](ondemand::value& condition, const Where& here) -> Status {
    std::string_view type;
    std::string_view reason;
    std::string_view status;
    Status good =
        each_field(condition, here, [&](std::string_view key, ondemand::value& text) -> Status {
          if (same_key(key, "type")) return read_string(type, text, Where(here, key));
          if (same_key(key, "reason")) return read_string(reason, text, Where(here, key));
          if (same_key(key, "status")) return read_string(status, text, Where(here, key));
          return {};
        });
    if (type == "PodScheduled" && reason == "Unschedulable") pod.unschedulable = true;
    if (type == "Initialized" && status == "True") pod.initialized = true;
    return good;
  });
}

Status check(const PodSpecView& pod, const Where& at) {
  const Where metadata(at, "metadata");
  if (pod.uid.empty()) return Where(metadata, "uid").fail("missing");
  if (pod.name_space.empty()) return Where(metadata, "namespace").fail("missing");
  if (pod.name.empty()) return Where(metadata, "name").fail("missing");
  return {};
}

// Of a value or of an object.
template <class Json>
Status read_whole_pod(PodSpecView& pod, Json json, const Where& at) {
  pod = {};
  std::optional<policy::Qos> stated;
  Labels labels;
  std::vector<PodTerm> away;
  const auto read_status = [&](std::string_view key, ondemand::value& field,
                               const Where& here) -> Status {
    if (same_key(key, "phase")) return read_text(pod.phase, field, Where(here, key));
    if (same_key(key, "qosClass")) return read_qos(stated, field, Where(here, key));
    if (same_key(key, "startTime")) return read_time(pod.started_ms, field, Where(here, key));
    if (same_key(key, "nominatedNodeName")) {
      return read_text(pod.nominated_node, field, Where(here, key));
    }
    if (same_key(key, "conditions")) {
      return read_conditions(pod, field, Where(here, key));
    }
    if (same_key(key, "containerStatuses") || same_key(key, "initContainerStatuses")) {
      return read_refusals(pod.refused, field, Where(here, key));
    }
    return {};
  };
  Status good = each_field(json, at, [&](std::string_view key, ondemand::value& part) -> Status {
    const Where here(at, key);
    if (same_key(key, "metadata")) return read_metadata(pod, labels, part, here);
    if (same_key(key, "spec")) return read_spec(pod, away, part, here);
    if (!same_key(key, "status")) return {};
    return each_field(part, here, [&](std::string_view name, ondemand::value& field) {
      return read_status(name, field, here);
    });
  });
  if (!good) return good;
  pod.qos = stated ? *stated : qos_by_resources(pod);
  pod.apart = std::any_of(away.begin(), away.end(),
                          [&](const PodTerm& term) { return keeps_apart(term, labels, pod); });
  return check(pod, at);
}

}  // namespace

bool kept_key(std::string_view key) {
  return std::any_of(kKeptPrefixes.begin(), kKeptPrefixes.end(),
                     [&](std::string_view prefix) { return key.starts_with(prefix); });
}

Status read_pod(PodSpecView& pod, ondemand::value& value, const Where& at) {
  return read_whole_pod(pod, value, at);
}

Status read_pod(PodSpecView& pod, ondemand::object object, const Where& at) {
  return read_whole_pod(pod, object, at);
}

Status read_pod_uid(std::string& uid, ondemand::value& value, const Where& at) {
  uid.clear();
  Status good = each_field(value, at, [&](std::string_view key, ondemand::value& part) -> Status {
    if (!same_key(key, "metadata")) return {};
    const Where metadata(at, key);
    return each_field(part, metadata, [&](std::string_view name, ondemand::value& field) -> Status {
      return same_key(name, "uid") ? read_text(uid, field, Where(metadata, name)) : Status();
    });
  });
  if (good && uid.empty()) return Where(Where(at, "metadata"), "uid").fail("missing");
  return good;
}

}  // namespace pinion::cluster::wire
