// From a Node of the API server to what the pod scheduler keeps of it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cluster/extender/scheduling/node_demand.h"

namespace pinion::cluster {

// What is missing or makes no sense is taken not to limit anything.
[[nodiscard]] NodeView node_of(const nlohmann::json& node);

}  // namespace pinion::cluster
