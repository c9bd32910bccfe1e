#include "cluster/extender/jobs/entitlement.h"

#include <algorithm>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/pods/pod_of.h"
#include "cluster/extender/wire/pod.h"
#include "cluster/extender/wire/reader.h"

namespace pinion::cluster::jobs {
namespace {

using kube::json_at;
using wire::ContainerView;

// What the pod requests as a whole where it only says its limit, as the API server will fill it in:
// what its containers request, where any of them says so.
void fill_in(wire::PodSpecView& view, std::optional<std::int64_t> wire::Amounts::*amount) {
  auto& [requests, limits] = *view.pod_level;
  if (requests.*amount || !(limits.*amount)) return;
  const bool stated = std::any_of(
      view.containers.begin(), view.containers.end(),
      [&](const auto& container) { return (container.resources.requests.*amount).has_value(); });
  requests.*amount = stated ? containers_request(view, amount) : limits.*amount;
}

// Read as any pod, which has the names that a template lacks. One that makes no sense is of no pod:
// the API server will refuse those made of it.
wire::PodSpecView view_of(const json& metadata, const json& spec) {
  json whole{{"metadata", metadata.is_object() ? metadata : json::object()}, {"spec", spec}};
  for (const char* field : {"name", "namespace", "uid"}) whole["metadata"][field] = "template";
  auto view = wire::Reader().pod(kube::json_dump(whole));
  if (!view) return {};
  // Requests are filled in from limits, as the API server will do for the pod.
  for (ContainerView& container : view->containers) {
    auto& [requests, limits] = container.resources;
    if (!requests.cpu_milli) requests.cpu_milli = limits.cpu_milli;
    if (!requests.memory_bytes) requests.memory_bytes = limits.memory_bytes;
  }
  if (view->pod_level) {
    fill_in(*view, &wire::Amounts::cpu_milli);
    fill_in(*view, &wire::Amounts::memory_bytes);
  }
  view->qos = wire::qos_by_resources(*view);
  return *std::move(view);
}

wire::PodSpecView view_of(const json& pod) {
  return view_of(json_at(pod, "metadata"), json_at(pod, "spec"));
}

std::string why_not_guaranteed(const wire::PodSpecView& view) {
  if (view.pod_level) {
    const auto& [requests, limits] = *view.pod_level;
    if (limits.cpu_milli.value_or(0) == 0) return "spec.resources states no limit of cpu";
    if (limits.memory_bytes.value_or(0) == 0) return "spec.resources states no limit of memory";
    return "the pod requests another amount than the limit in spec.resources";
  }
  for (const ContainerView& container : view.containers) {
    const wire::Resources& has = container.resources;
    const std::string who = "container " + container.name;
    if (has.limits.cpu_milli.value_or(0) == 0) return who + " states no limit of cpu";
    if (has.limits.memory_bytes.value_or(0) == 0) {
      return who +
             " states no limit of memory (annotation pinion.dev/memory-per-task sets the "
             "workers')";
    }
    if (has.requests != has.limits) return who + " requests another amount than its limit";
  }
  return "its containers are not Guaranteed";
}

}  // namespace

std::string owner_of_template(const json& pod) {
  return pod_of(view_of(json_at(pod, "metadata"), json())).owner;
}

Pod pod_of_template(const json& pod) {
  return pod_of(view_of(pod));
}

Demand demand_of_template(const json& pod, const policy::Defaults& defaults) {
  return demand_of(pod_of_template(pod), defaults);
}

std::string why_not_entitled(const json& pod, const policy::Defaults& defaults) {
  const Demand demand = demand_of_template(pod, defaults);
  if (demand.kind == Demand::Kind::kRefused) return demand.text;
  if (demand.kind != Demand::Kind::kNone) return {};
  const wire::PodSpecView view = view_of(pod);
  return view.qos == policy::Qos::kGuaranteed ? "its annotations ask for shared CPUs"
                                              : why_not_guaranteed(view);
}

}  // namespace pinion::cluster::jobs
