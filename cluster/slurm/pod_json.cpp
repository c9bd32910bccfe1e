#include "cluster/slurm/pod_json.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"

namespace pinion::slurm {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;

constexpr std::string_view kNode = "{node}";
constexpr const char* kContainer = "cores";
constexpr const char* kHostname = "kubernetes.io/hostname";

// No two of a job on one node, and none where Slurm does not start the job.
json affinity_of(const PodTemplate& all, const Create& wanted) {
  json affinity = json::object();
  if (wanted.pod.size != 1) {
    const json same = {{"matchLabels", {{label::kSlurmAttempt, wanted.pod.attempt}}}};
    affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json::array({{{"labelSelector", same}, {"topologyKey", kHostname}}});
  }
  json names = json::array();
  for (const std::string& node : *wanted.nodes) {
    std::string name = kubernetes_node(all, node);
    if (!name.empty()) names.push_back(std::move(name));
  }
  const json one_of = {{"key", kHostname}, {"operator", "In"}, {"values", std::move(names)}};
  affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
      json::array({{{"matchExpressions", json::array({one_of})}}});
  return affinity;
}

json annotations_of(const PodTemplate& all, const Create& wanted) {
  const Placeholder& pod = wanted.pod;
  json annotations = {{annotation::kJob, all.cluster + "-" + pod.attempt},
                      // Each is a group of its own: they go to different nodes.
                      {annotation::kTaskGroup, std::to_string(pod.index)},
                      {annotation::kStrength, all.required ? "required" : "preferred"},
                      {annotation::kSlurmIndex, std::to_string(pod.index)},
                      {annotation::kSlurmNodes, pod.list}};
  if (pod.size > 0) annotations[annotation::kGangSize] = std::to_string(pod.size);
  if (!pod.partition.empty()) annotations[annotation::kSlurmPartition] = pod.partition;
  if (!wanted.shape.profile.empty()) annotations[annotation::kProfile] = wanted.shape.profile;
  if (!all.lend_to.empty()) annotations[annotation::kLendTo] = all.lend_to;
  return annotations;
}

json spec_of(const PodTemplate& all, const Create& wanted) {
  json spec = placeholder_spec(all, wanted.shape);
  if (all.gates && wanted.pod.size > 1) {
    spec["schedulingGates"] = json::array({{{"name", kGangGate}}});
  }
  spec["affinity"] = affinity_of(all, wanted);
  return spec;
}

template <class T>
std::optional<T> number_in(const std::string& text) {
  T number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

Placeholder::Phase phase_of(const json& pod) {
  const std::string phase = json_text(pod, "status", "phase");
  if (phase == "Failed" || phase == "Succeeded") return Placeholder::Phase::kLost;
  return phase == "Running" ? Placeholder::Phase::kRunning : Placeholder::Phase::kWaiting;
}

// Of "cores=0-3,8" and others with blanks between; nothing else than a list of CPUs, as it comes
// into a script.
std::string planned_cpus(const std::string& planned) {
  const std::string begin = std::string(kContainer) + "=";
  for (std::size_t at = 0; at < planned.size();) {
    const std::size_t end = std::min(planned.find(' ', at), planned.size());
    if (planned.compare(at, begin.size(), begin) == 0) {
      std::string list = planned.substr(at + begin.size(), end - at - begin.size());
      return list.find_first_not_of("0123456789,-") == std::string::npos ? list : "";
    }
    at = end + 1;
  }
  return "";
}

std::string why_unscheduled(const json& pod) {
  for (const json& condition : json_at(pod, "status", "conditions")) {
    if (json_text(condition, "type") == "PodScheduled" &&
        json_text(condition, "reason") == "Unschedulable") {
      return json_text(condition, "message");
    }
  }
  return "";
}

// It has a node and does not start there: its image, or the node's agent refuses it.
std::string why_not_started(const json& pod) {
  for (const json& container : json_at(pod, "status", "containerStatuses")) {
    std::string why = json_text(container, "state", "waiting", "reason");
    const std::string text = json_text(container, "state", "waiting", "message");
    if (why.empty() || why == "ContainerCreating") continue;
    if (!text.empty()) why.append(": ").append(text);
    return why;
  }
  return "";
}

}  // namespace

json placeholder_spec(const PodTemplate& all, const Shape& shape) {
  const json amounts = {{"cpu", std::to_string(shape.cpus)},
                        {"memory", std::to_string(shape.memory_mib) + "Mi"}};
  const json container = {
      {"name", kContainer},
      {"image", all.image},
      {"resources", {{"requests", amounts}, {"limits", amounts}}},
      {"securityContext",
       {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", json::array({"ALL"})}}}}}};
  json spec = {{"restartPolicy", "Always"},
               {"terminationGracePeriodSeconds", 1},
               {"automountServiceAccountToken", false},
               {"enableServiceLinks", false},
               {"containers", json::array({container})}};
  if (!all.scheduler.empty()) spec["schedulerName"] = all.scheduler;
  if (!all.priority_class.empty()) spec["priorityClassName"] = all.priority_class;
  if (!all.node_labels.empty()) spec["nodeSelector"] = all.node_labels;
  if (!all.tolerations.empty()) spec["tolerations"] = all.tolerations;
  return spec;
}

json placeholder_labels(const PodTemplate& all, std::uint32_t job, const std::string& attempt) {
  return {{"app.kubernetes.io/name", "pinion-placeholder"},
          {"app.kubernetes.io/managed-by", "pinion-slurm"},
          {label::kSlurmCluster, all.cluster},
          {label::kSlurmJob, std::to_string(job)},
          {label::kSlurmAttempt, attempt}};
}

json pod_object(const PodTemplate& all, const Create& wanted) {
  const Placeholder& pod = wanted.pod;
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", pod.name},
            {"namespace", all.name_space},
            {"labels", placeholder_labels(all, pod.job, pod.attempt)},
            {"annotations", annotations_of(all, wanted)}}},
          {"spec", spec_of(all, wanted)}};
}

std::optional<Placeholder> placeholder_of(const PodTemplate& all, const json& pod) {
  if (json_text(pod, "metadata", "labels", label::kSlurmCluster) != all.cluster)
    return std::nullopt;
  const auto job = number_in<std::uint32_t>(json_text(pod, "metadata", "labels", label::kSlurmJob));
  Placeholder read;
  read.name = json_text(pod, "metadata", "name");
  read.uid = json_text(pod, "metadata", "uid");
  read.job = job.value_or(0);  // of a broken label: no job has it, and it is deleted
  read.attempt = json_text(pod, "metadata", "labels", label::kSlurmAttempt);
  read.index = number_in<int>(json_text(pod, "metadata", "annotations", annotation::kSlurmIndex))
                   .value_or(-1);
  const std::string size = json_text(pod, "metadata", "annotations", annotation::kGangSize);
  read.size = size.empty() ? 0 : number_in<int>(size).value_or(-1);
  read.phase = phase_of(pod);
  read.leaving = !json_text(pod, "metadata", "deletionTimestamp").empty();
  if (read.leaving) read.phase = Placeholder::Phase::kLost;
  const json& containers = json_at(pod, "spec", "containers");
  const std::string cpus = containers.is_array() && !containers.empty()
                               ? json_text(containers.at(0), "resources", "limits", "cpu")
                               : "";
  const auto whole = whole_quantity(cpus);
  read.cpus = whole && *whole <= std::numeric_limits<int>::max() ? static_cast<int>(*whole) : -1;
  const std::string node = json_text(pod, "spec", "nodeName");
  if (!node.empty()) read.node = slurm_node(all, node);
  // What was asked for: somebody else may have changed the affinity.
  read.list = json_text(pod, "metadata", "annotations", annotation::kSlurmNodes);
  read.partition = json_text(pod, "metadata", "annotations", annotation::kSlurmPartition);
  read.cpu_list = planned_cpus(json_text(pod, "metadata", "annotations", annotation::kPlanned));
  if (read.phase == Placeholder::Phase::kWaiting) {
    read.why = node.empty() ? why_unscheduled(pod) : why_not_started(pod);
  }
  return read;
}

std::string slurm_node(const PodTemplate& all, const std::string& node) {
  std::string name = all.node_name;
  const auto at = name.find(kNode);
  return at == std::string::npos ? name : name.replace(at, kNode.size(), node);
}

std::string kubernetes_node(const PodTemplate& all, const std::string& node) {
  const auto at = all.node_name.find(kNode);
  if (at == std::string::npos) return "";
  const std::string head = all.node_name.substr(0, at);
  const std::string tail = all.node_name.substr(at + kNode.size());
  if (node.size() <= head.size() + tail.size() || node.compare(0, head.size(), head) != 0 ||
      node.compare(node.size() - tail.size(), tail.size(), tail) != 0) {
    return "";
  }
  return node.substr(head.size(), node.size() - head.size() - tail.size());
}

}  // namespace pinion::slurm
