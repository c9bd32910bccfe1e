#include "tests/e2e/pod_as_run.h"

#include <algorithm>
#include <string>

#include "base/quantity.h"
#include "cluster/extender/kube/json_read.h"
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

}  // namespace

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
  policy::Resources all;
  for (const json& container : kube::json_at(pod, "spec", "containers")) {
    const policy::Resources one = resources_as_run(container);
    all.shares = all.shares.value_or(0) + one.shares.value_or(0);
    all.memory = all.memory.value_or(0) + one.memory.value_or(0);
    all.quota = one.quota.value_or(0) < 0 ? -1 : all.quota.value_or(0) + one.quota.value_or(0);
    all.period = one.period;
  }
  made.resources = all;
  return made;
}

bool gets_cores(const json& pod, const json& container) {
  const std::string cpus = kube::json_text(container, "resources", "limits", "cpu");
  return qos_of(pod) == policy::Qos::kGuaranteed && cpus.back() != 'm';
}

bool gets_cores(const json& pod) {
  const json& containers = kube::json_at(pod, "spec", "containers");
  return std::any_of(containers.begin(), containers.end(),
                     [&](const json& container) { return gets_cores(pod, container); });
}

}  // namespace pinion::e2e
