#include "cluster/extender/pods/node_of.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster {
namespace {

using kube::json_at;
using kube::json_text;

constexpr const char* kCordoned = "node.kubernetes.io/unschedulable";

std::int64_t amount_of(const nlohmann::json& amounts, const char* name, std::int64_t otherwise,
                       Result<std::int64_t> (*parse)(std::string_view)) {
  const auto amount = parse(json_text(amounts, name));
  return amount && *amount >= 0 ? std::min(*amount, otherwise) : otherwise;
}

}  // namespace

NodeView node_of(const nlohmann::json& node) {
  NodeView view;
  view.name = json_text(node, "metadata", "name");
  for (const auto& taint : json_at(node, "spec", "taints")) {
    const std::string effect = json_text(taint, "effect");
    if (effect != "NoSchedule" && effect != "NoExecute") continue;
    view.taints.push_back(
        {.key = json_text(taint, "key"), .value = json_text(taint, "value"), .effect = effect});
  }
  // The node controller says it by a taint, too, a moment later.
  const auto& cordoned = json_at(node, "spec", "unschedulable");
  const bool said = std::any_of(view.taints.begin(), view.taints.end(),
                                [](const Taint& taint) { return taint.key == kCordoned; });
  if (cordoned.is_boolean() && cordoned.get<bool>() && !said) {
    view.taints.push_back({.key = kCordoned, .value = {}, .effect = "NoSchedule"});
  }
  for (const auto& [key, value] : json_at(node, "metadata", "labels").items()) {
    if (value.is_string()) view.labels[key] = value.get<std::string>();
  }
  const auto& amounts = json_at(node, "status", "allocatable");
  view.allocatable = {.milli_cpus = amount_of(amounts, "cpu", kPlenty.milli_cpus, milli_quantity),
                      .memory = amount_of(amounts, "memory", kPlenty.memory, whole_quantity),
                      .members = amount_of(amounts, "pods", kPlenty.members, whole_quantity)};
  return view;
}

}  // namespace pinion::cluster
