// From a PodGroup of scheduling.x-k8s.io to what the pod scheduler is told of it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pinion::cluster {

struct PodGroupView {
  std::string key;           // "NAMESPACE/NAME"
  std::int64_t members = 0;  // that start together, as it says
};

// What is missing or of another kind is empty or 0.
[[nodiscard]] PodGroupView pod_group_of(const nlohmann::json& object);

}  // namespace pinion::cluster
