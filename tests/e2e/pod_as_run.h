// What a kubelet makes of a pod's object for the runtime.
#pragma once

#include <nlohmann/json.hpp>

#include "policy/policy.h"

namespace pinion::e2e {

policy::Pod pod_as_run(const nlohmann::json& pod);
// Limits and requests of one of its containers.
policy::Resources resources_as_run(const nlohmann::json& container);
// It is one that ends before the next begins, and no sidecar.
bool ends(const nlohmann::json& init_container);
// The pod is Guaranteed and does not ask for shared CPUs, and this container, or one of those that
// stay, has whole CPUs.
bool gets_cores(const nlohmann::json& pod, const nlohmann::json& container);
bool gets_cores(const nlohmann::json& pod);

}  // namespace pinion::e2e
