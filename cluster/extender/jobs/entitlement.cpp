#include "cluster/extender/jobs/entitlement.h"

#include "base/quantity.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/pods/pod_of.h"
#include "cluster/extender/wire/pod.h"
#include "cluster/extender/wire/reader.h"

namespace pinion::cluster::jobs {
namespace {

using kube::json_at;
using kube::json_text;
using wire::ContainerView;

std::optional<std::int64_t> amount_of(const json& value,
                                      Result<std::int64_t> (*parse)(std::string_view)) {
  if (value.is_null()) return std::nullopt;
  const auto amount = parse(value.is_string() ? value.get_ref<const std::string&>() : value.dump());
  return amount && *amount >= 0 ? std::optional(*amount) : std::nullopt;
}

wire::Amounts amounts_of(const json& amounts) {
  return {.cpu_milli = amount_of(json_at(amounts, "cpu"), milli_quantity),
          .memory_bytes = amount_of(json_at(amounts, "memory"), whole_quantity)};
}

// Requests are filled in from limits, as the API server will do for the pod.
wire::Resources resources_of(const json& container) {
  wire::Resources resources{.requests = amounts_of(json_at(container, "resources", "requests")),
                            .limits = amounts_of(json_at(container, "resources", "limits"))};
  if (!resources.requests.cpu_milli) resources.requests.cpu_milli = resources.limits.cpu_milli;
  if (!resources.requests.memory_bytes) {
    resources.requests.memory_bytes = resources.limits.memory_bytes;
  }
  return resources;
}

void add_containers(const json& list, bool init, wire::PodSpecView& view) {
  if (!list.is_array()) return;
  for (const json& container : list) {
    const bool stays = json_text(container, "restartPolicy") == "Always";
    view.containers.push_back({.name = json_text(container, "name"),
                               .kind = !init   ? ContainerView::Kind::kMain
                                       : stays ? ContainerView::Kind::kSidecar
                                               : ContainerView::Kind::kInit,
                               .resources = resources_of(container)});
  }
}

// Where it may go is read as of any pod.
void add_nodes(const json& spec, wire::PodSpecView& view) {
  json whole{{"metadata", {{"name", "t"}, {"namespace", "t"}, {"uid", "t"}}}};
  for (const char* field : {"nodeSelector", "affinity", "tolerations", "overhead"}) {
    if (const json& value = json_at(spec, field); !value.is_null()) whole["spec"][field] = value;
  }
  if (!whole.contains("spec")) return;
  auto read = wire::Reader().pod(kube::json_dump(whole));
  if (!read) return;  // the API server will refuse its pods
  view.nodes = std::move(read->nodes);
  view.overhead = read->overhead;
}

// Of what a controller has made.
void add_owner(const json& metadata, wire::PodSpecView& view) {
  if (const json& labels = json_at(metadata, "labels"); labels.is_object()) {
    for (const auto& [name, value] : labels.items()) {
      if (value.is_string()) view.labels[name] = value.get<std::string>();
    }
  }
  const json& owners = json_at(metadata, "ownerReferences");
  if (!owners.is_array()) return;
  for (const json& owner : owners) {
    if (json_at(owner, "controller") != true) continue;
    view.controller = wire::Controller{.kind = json_text(owner, "kind"),
                                       .name = json_text(owner, "name"),
                                       .uid = json_text(owner, "uid")};
  }
}

// Without its spec.
wire::PodSpecView metadata_of(const json& pod) {
  wire::PodSpecView view;
  add_owner(json_at(pod, "metadata"), view);
  view.uid = view.name_space = "template";  // as there are none yet
  const json& annotations = json_at(pod, "metadata", "annotations");
  if (!annotations.is_object()) return view;
  for (const auto& [name, value] : annotations.items()) {
    if (value.is_string()) view.annotations[name] = value.get<std::string>();
  }
  return view;
}

wire::PodSpecView view_of(const json& pod) {
  wire::PodSpecView view = metadata_of(pod);
  add_nodes(json_at(pod, "spec"), view);
  add_containers(json_at(pod, "spec", "initContainers"), true, view);
  add_containers(json_at(pod, "spec", "containers"), false, view);
  view.qos = wire::qos_by_resources(view);
  return view;
}

std::string why_not_guaranteed(const wire::PodSpecView& view) {
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
  return pod_of(metadata_of(pod)).owner;
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
