// A ConfigMap that belongs to a job, kept as it is to be.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "cluster/extender/kube/api.h"

namespace pinion::cluster {

// A field ("uid", "kind", "name") of the object's first owner; empty: it has none.
[[nodiscard]] std::string owner_of(const nlohmann::json& object, const char* field);

enum class Kept { kSame, kMade, kChanged };

// `map`: whole, with its owner. `may_act`: asked before a map that is there is changed, as we may
// have ceased to lead meanwhile. Errors: as kube/api.h; kUnavailable while that of a job of the
// same name that is gone has not been collected, and where somebody was first; kExhausted for a
// ConfigMap of that name that is not the job's.
Result<Kept> keep_owned_map(kube::Api& api, const nlohmann::json& map,
                            const std::function<bool()>& may_act, const kube::Call& how);

}  // namespace pinion::cluster
