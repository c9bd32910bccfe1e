// From a PodGroup to what the pod scheduler is told of it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cluster/extender/scheduling/pod.h"

namespace pinion::cluster {

struct PodGroupView {
  std::string key;                      // group_key()
  std::optional<std::int64_t> members;  // that start together, as it says; nullopt: it is no gang
};

// What is missing or of another kind is empty or 0. A group of kNative is a gang where its policy
// is `gang`, and none where that is `basic`; one of kSigs always is.
[[nodiscard]] PodGroupView pod_group_of(PodGroupApi api, const nlohmann::json& object);

}  // namespace pinion::cluster
