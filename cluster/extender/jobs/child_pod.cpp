#include "cluster/extender/jobs/child_pod.h"

#include <charconv>
#include <string>

#include "base/utf8.h"
#include "cluster/extender/jobs/decision.h"
#include "cluster/extender/jobs/hostfile.h"
#include "cluster/extender/jobs/template_editor.h"
#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"
#include "policy/policy.h"

namespace pinion::cluster::jobs {
namespace {

using kube::json_text;
using nlohmann::json;

// Already counted from the launcher on, where that is a worker too.
constexpr const char* kReplicaIndex = "training.kubeflow.org/replica-index";
constexpr const char* kTaskIndex = "volcano.sh/task-index";
constexpr const char* kCompletionIndex = "batch.kubernetes.io/job-completion-index";
constexpr const char* kJobIndex = "jobset.sigs.k8s.io/job-index";
constexpr const char* kReplicatedJobReplicas = "jobset.sigs.k8s.io/replicatedjob-replicas";
constexpr const char* kMpiRole = "training.kubeflow.org/job-role";

std::optional<int> number_in(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  const bool sound = read.ec == std::errc() && read.ptr == end && value >= 0 && value <= kMaxTasks;
  return sound ? std::optional(value) : std::nullopt;
}

std::optional<int> label_number(const json& pod, const char* name) {
  return number_in(json_text(pod, "metadata", "labels", name));
}

std::optional<int> annotation_number(const json& pod, const char* name) {
  return number_in(json_text(pod, "metadata", "annotations", name));
}

void name_group(json& pod) {
  const auto groups = annotation_number(pod, annotation::kTaskGroups);
  const auto index = worker_index(pod);
  const std::string job = json_text(pod, "metadata", "annotations", annotation::kJob);
  if (groups.value_or(0) < 1 || !index || job.empty()) return;
  json& annotations = pod["metadata"]["annotations"];
  if (annotations.contains(annotation::kTaskGroup)) return;
  annotations[annotation::kTaskGroup] = group_name(job, *index, *groups);
}

// The operator's own hostfile is of equal slots.
void use_hostfile(json& variable) {
  const std::string name = json_text(variable, "name");
  const std::string folder = std::string(kHostfileFolder) + "/";
  if (json_text(variable, "value") != "/etc/mpi/hostfile") return;
  if (name == "OMPI_MCA_orte_default_hostfile") variable["value"] = folder + kHostfileKey;
  if (name == "I_MPI_HYDRA_HOST_FILE" || name == "HYDRA_HOST_FILE") {
    variable["value"] = folder + kMachinefileKey;
  }
}

void edit_launcher(json& pod) {
  const json::json_pointer at("/spec/containers/0/env");
  const bool wanted = !json_text(pod, "metadata", "annotations", annotation::kHostfile).empty();
  if (!wanted || !pod.contains(at) || !pod.at(at).is_array()) return;
  json& variables = pod.at(at);
  for (json& variable : variables) use_hostfile(variable);
  // So many for every host, which the hostfile says for each by itself.
  for (std::size_t i = variables.size(); i-- > 0;) {
    if (json_text(variables[i], "name") == "I_MPI_PERHOST") variables.erase(i);
  }
}

}  // namespace

std::optional<int> worker_index(const json& pod) {
  for (const char* label : {kReplicaIndex, kTaskIndex}) {
    if (const auto index = label_number(pod, label)) return index;
  }
  const auto index = label_number(pod, kCompletionIndex);
  const auto part = label_number(pod, kJobIndex);
  const auto parts = label_number(pod, kReplicatedJobReplicas);
  const auto size = annotation_number(pod, annotation::kGangSize);
  if (!index || !part || parts.value_or(0) < 1 || !size) return index;
  return *part * (*size / *parts) + *index;
}

std::string group_name(const std::string& job, int index, int groups) {
  const std::string number = "-" + std::to_string(group_of(index, groups));
  return std::string(cut_utf8(job, policy::kLongestName - number.size())) + number;
}

void edit_child_pod(json& pod) {
  name_group(pod);
  if (json_text(pod, "metadata", "labels", kMpiRole) == "launcher") edit_launcher(pod);
}

}  // namespace pinion::cluster::jobs
