// A ConfigMap that belongs to a job, kept as it is to be.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "cluster/extender/kube/api.h"

namespace pinion::cluster {

// A field ("uid", "kind", "name") of the object's first owner; empty: it has none.
[[nodiscard]] std::string owner_of(const nlohmann::json& object, const char* field);

enum class Kept { kSame, kMade, kChanged };

// `map`: whole, with its owner. Errors: as kube/api.h; kUnavailable while that of a job of the same
// name that is gone has not been collected; kExhausted for a ConfigMap of that name that is not
// the job's.
Result<Kept> keep_owned_map(kube::Api& api, const nlohmann::json& map, const kube::Call& how);

}  // namespace pinion::cluster
