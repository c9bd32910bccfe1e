#include "extender/service/pod_of.h"

namespace pinion::extender {

Pod pod_of(const wire::PodSpecView& view) {
  Pod pod;
  pod.uid = view.uid;
  pod.name_space = view.name_space;
  pod.name = view.name;
  pod.qos = view.qos;
  pod.annotations = view.annotations;
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
