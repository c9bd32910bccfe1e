#include "cluster/extender/pods/pod_of.h"

namespace pinion::cluster {
namespace {

// The Jobs of a JobSet are one job.
constexpr std::string_view kJobSetUid = "jobset.sigs.k8s.io/jobset-uid";
// An MPIJob owns its workers, and a Job of its own the launcher, which may be a worker too.
constexpr std::string_view kMpiJobName = "training.kubeflow.org/job-name";
constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";

PodContainer::Kind kind_of(wire::ContainerView::Kind kind) {
  switch (kind) {
    case wire::ContainerView::Kind::kInit:
      return PodContainer::Kind::kInit;
    case wire::ContainerView::Kind::kSidecar:
      return PodContainer::Kind::kSidecar;
    case wire::ContainerView::Kind::kMain:
      break;
  }
  return PodContainer::Kind::kMain;
}

std::string owner_of(const wire::PodSpecView& view) {
  if (view.labels.contains(std::string(kMpiJobName))) return {};
  const auto job_set = view.labels.find(std::string(kJobSetUid));
  if (job_set != view.labels.end()) return job_set->second;
  return view.controller ? view.controller->uid : std::string();
}

}  // namespace

Pod pod_of(const wire::PodSpecView& view) {
  Pod pod;
  pod.uid = view.uid;
  pod.name_space = view.name_space;
  pod.name = view.name;
  pod.qos = view.qos;
  pod.annotations = view.annotations;
  pod.owner = owner_of(view);
  pod.runtime_class = view.runtime_class;
  const auto group = view.labels.find(std::string(kPodGroupLabel));
  if (group != view.labels.end()) pod.group = group->second;
  pod.node = view.node_name;
  pod.nominated = view.nominated_node;
  pod.gang_gate = view.gang_gate;
  pod.other_gates = view.other_gates;
  pod.priority = view.priority;
  pod.over = view.deleting || view.phase == "Succeeded" || view.phase == "Failed";
  for (const wire::ContainerView& container : view.containers) {
    const wire::Amounts& limits = container.resources.limits;
    pod.containers.push_back(
        {.name = container.name,
         .milli_cpus = limits.cpu_milli,
         .memory = static_cast<topology::Bytes>(limits.memory_bytes.value_or(0)),
         .kind = kind_of(container.kind)});
  }
  return pod;
}

}  // namespace pinion::cluster
