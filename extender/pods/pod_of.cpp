#include "extender/pods/pod_of.h"

namespace pinion::extender {
namespace {

constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";

}  // namespace

Pod pod_of(const wire::PodSpecView& view) {
  Pod pod;
  pod.uid = view.uid;
  pod.name_space = view.name_space;
  pod.name = view.name;
  pod.qos = view.qos;
  pod.annotations = view.annotations;
  const auto group = view.labels.find(std::string(kPodGroupLabel));
  if (group != view.labels.end()) pod.group = group->second;
  pod.node = view.node_name;
  pod.over = view.deleting || view.phase == "Succeeded" || view.phase == "Failed";
  for (const wire::ContainerView& container : view.containers) {
    if (container.kind == wire::ContainerView::Kind::kInit) continue;
    const wire::Amounts& limits = container.resources.limits;
    pod.containers.push_back(
        {.name = container.name,
         .milli_cpus = limits.cpu_milli,
         .memory = static_cast<topology::Bytes>(limits.memory_bytes.value_or(0))});
  }
  return pod;
}

}  // namespace pinion::extender
