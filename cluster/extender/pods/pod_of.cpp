#include "cluster/extender/pods/pod_of.h"
#include "policy/annotations.h"

#include <algorithm>

namespace pinion::cluster {
namespace {

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

// Far above any node, and so that those of all its pods can be added up.
constexpr std::int64_t kMost = std::int64_t{1} << 53;

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return a > kMost - b ? kMost : a + b;
}

std::int64_t requested(const wire::Resources& resources,
                       std::optional<std::int64_t> wire::Amounts::*amount) {
  const auto& stated = resources.requests.*amount;
  return stated ? *stated : (resources.limits.*amount).value_or(0);
}

std::int64_t most_of(const wire::PodSpecView& view,
                     std::optional<std::int64_t> wire::Amounts::*amount) {
  const bool whole =
      view.pod_level && (view.pod_level->requests.*amount || view.pod_level->limits.*amount);
  return sum(whole ? requested(*view.pod_level, amount) : containers_request(view, amount),
             (view.overhead.*amount).value_or(0));
}

ResourceList requests_of(const wire::PodSpecView& view) {
  if (view.phase == "Succeeded" || view.phase == "Failed") return {};
  return {.milli_cpus = most_of(view, &wire::Amounts::cpu_milli),
          .memory = most_of(view, &wire::Amounts::memory_bytes),
          .members = 1};
}

std::string owner_of(const wire::PodSpecView& view) {
  if (view.labels.contains(std::string(kMpiJobName))) {
    // The MPIJob owns its workers, and a Job of its own the launcher, which may be a worker, too.
    if (view.controller && view.controller->kind == "MPIJob") return view.controller->uid;
    const auto told = view.annotations.find(annotation::kOwnerUid);
    return told == view.annotations.end() ? std::string() : told->second;
  }
  const auto job_set = view.labels.find(std::string(kJobSetUid));
  if (job_set != view.labels.end()) return job_set->second;
  return view.controller ? view.controller->uid : std::string();
}

}  // namespace

std::int64_t containers_request(const wire::PodSpecView& view,
                                std::optional<std::int64_t> wire::Amounts::*amount) {
  std::int64_t stay = 0;
  std::int64_t most = 0;
  for (const wire::ContainerView& container : view.containers) {
    const std::int64_t one = requested(container.resources, amount);
    if (container.kind == wire::ContainerView::Kind::kInit) {
      most = std::max(most, sum(stay, one));
    } else {
      stay = sum(stay, one);
    }
  }
  return std::max(most, stay);
}

bool owner_is_unknown(const wire::PodSpecView& view) {
  return view.labels.contains(std::string(kMpiJobName)) && owner_of(view).empty() &&
         view.controller && view.controller->kind == "Job";
}

Pod pod_of(const wire::PodSpecView& view) {
  Pod pod;
  pod.uid = view.uid;
  pod.name_space = view.name_space;
  pod.name = view.name;
  pod.qos = view.qos;
  pod.annotations = view.annotations;
  pod.owner = owner_of(view);
  pod.runtime_class = view.runtime_class;
  // Where a pod names both, kube-scheduler holds it to its own.
  if (!view.scheduling_group.empty()) {
    pod.group = view.scheduling_group;
    pod.group_api = PodGroupApi::kNative;
  } else if (const auto label = view.labels.find(std::string(kPodGroupLabel));
             label != view.labels.end()) {
    pod.group = label->second;
  }
  pod.nodes = view.nodes;
  pod.apart = view.apart;
  pod.requests = requests_of(view);
  pod.node = view.node_name;
  pod.nominated = view.nominated_node;
  pod.unschedulable = view.unschedulable;
  pod.initialized = view.initialized;
  pod.gang_gate = view.gang_gate;
  pod.other_gates = view.other_gates;
  pod.priority = view.priority;
  pod.created_ms = view.created_ms;
  pod.started_ms = view.started_ms;
  if (view.active_deadline_s > 0) {
    pod.run_ms = 1000 * (std::int64_t{view.active_deadline_s} + view.termination_grace_s);
  }
  pod.over = view.phase == "Succeeded" || view.phase == "Failed";
  pod.deleting = view.deleting;
  const wire::Amounts whole = view.pod_level ? view.pod_level->limits : wire::Amounts();
  if (whole.cpu_milli.value_or(0) > 0) pod.milli_cpus = whole.cpu_milli;
  for (const wire::ContainerView& container : view.containers) {
    const wire::Amounts& limits = container.resources.limits;
    const auto limit = [&](std::optional<std::int64_t> wire::Amounts::*amount) {
      return (limits.*amount).value_or(0) > 0 ? limits.*amount : whole.*amount;
    };
    pod.containers.push_back(
        {.name = container.name,
         .milli_cpus = limit(&wire::Amounts::cpu_milli),
         .requested_milli = container.resources.requests.cpu_milli,
         .memory = static_cast<topology::Bytes>(limit(&wire::Amounts::memory_bytes).value_or(0)),
         .kind = kind_of(container.kind)});
  }
  return pod;
}

}  // namespace pinion::cluster
