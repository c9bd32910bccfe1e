#include "tests/e2e/pod_as_run.h"

#include <algorithm>
#include <functional>
#include <string>

#include "base/quantity.h"
#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::e2e {

using nlohmann::json;

namespace {

policy::Qos qos_of(const json& pod) {
  const std::string word = kube::json_text(pod, "status", "qosClass");
  if (word == "Guaranteed") return policy::Qos::kGuaranteed;
  if (word == "Burstable") return policy::Qos::kBurstable;
  return policy::Qos::kBestEffort;
}

// Figure by figure: without a quota where one of them has none.
template <class Combine>
policy::Resources combined(const policy::Resources& a, const policy::Resources& b,
                           Combine combine) {
  policy::Resources all = b;
  all.shares = combine(a.shares.value_or(0), b.shares.value_or(0));
  all.memory = combine(a.memory.value_or(0), b.memory.value_or(0));
  const std::int64_t quota = a.quota.value_or(0);
  const std::int64_t other = b.quota.value_or(0);
  all.quota = quota < 0 || other < 0 ? -1 : combine(quota, other);
  return all;
}

// The most that runs at one time: all that stay, or an init container and the sidecars before it.
policy::Resources resources_of_all(const json& pod) {
  policy::Resources staying;
  policy::Resources at_start;
  for (const json& container : kube::json_at(pod, "spec", "initContainers")) {
    const policy::Resources with = combined(staying, resources_as_run(container), std::plus<>());
    if (ends(container)) {
      at_start = combined(at_start, with, [](auto x, auto y) { return std::max(x, y); });
    } else {
      staying = with;
    }
  }
  for (const json& container : kube::json_at(pod, "spec", "containers")) {
    staying = combined(staying, resources_as_run(container), std::plus<>());
  }
  return combined(at_start, staying, [](auto x, auto y) { return std::max(x, y); });
}

}  // namespace

bool ends(const json& init_container) {
  return kube::json_text(init_container, "restartPolicy") != "Always";
}

policy::Resources resources_as_run(const json& container) {
  const auto amount = [&](const char* kind, const char* name) {
    return kube::json_text(container, "resources", kind, name);
  };
  const auto milli = milli_quantity(amount("limits", "cpu"));
  const auto memory = whole_quantity(amount("limits", "memory"));
  if (milli) return test_support::cpu(*milli, memory.value_or(0));
  const auto asked = milli_quantity(amount("requests", "cpu"));
  policy::Resources resources = test_support::cpu(asked.value_or(0), memory.value_or(0));
  resources.quota = -1;
  return resources;
}

policy::Pod pod_as_run(const json& pod) {
  policy::Pod made = test_support::make_pod(kube::json_text(pod, "metadata", "name"), qos_of(pod));
  const std::string uid = kube::json_text(pod, "metadata", "uid");
  made.cgroup_parent.resize(made.cgroup_parent.rfind("pod"));
  made.cgroup_parent += "pod" + uid;
  made.id = "sandbox-" + uid;
  made.uid = uid;
  made.name_space = kube::json_text(pod, "metadata", "namespace");
  for (const auto& [name, value] : kube::json_at(pod, "metadata", "annotations").items()) {
    made.annotations[name] = value.get<std::string>();
  }
  made.resources = resources_of_all(pod);
  return made;
}

bool gets_cores(const json& pod, const json& container) {
  const std::string cpus = kube::json_text(container, "resources", "limits", "cpu");
  return qos_of(pod) == policy::Qos::kGuaranteed && cpus.back() != 'm' &&
         kube::json_text(pod, "metadata", "annotations", annotation::kCpus) != "shared";
}

bool gets_cores(const json& pod) {
  const json& containers = kube::json_at(pod, "spec", "containers");
  const json& first = kube::json_at(pod, "spec", "initContainers");
  return std::any_of(containers.begin(), containers.end(),
                     [&](const json& container) { return gets_cores(pod, container); }) ||
         std::any_of(first.begin(), first.end(), [&](const json& container) {
           return !ends(container) && gets_cores(pod, container);
         });
}

}  // namespace pinion::e2e
