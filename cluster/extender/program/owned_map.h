// A ConfigMap that belongs to a job, kept as it is to be.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "cluster/extender/kube/api.h"

namespace pinion::cluster {

enum class Kept { kSame, kMade, kChanged };

// `map`: whole, with its owner. Errors: as kube/api.h; kUnavailable while that of a job of the same
// name that is gone has not been collected; kExhausted for a ConfigMap of that name that is not
// the job's.
Result<Kept> keep_owned_map(kube::Api& api, const nlohmann::json& map, const kube::Call& how);

}  // namespace pinion::cluster
