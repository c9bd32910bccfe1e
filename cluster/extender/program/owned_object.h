// An object that belongs to a job (a ConfigMap, a PodGroup), kept as it is to be.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "cluster/extender/kube/api.h"

namespace pinion::cluster {

// A field ("uid", "kind", "name") of the object's first owner; empty: it has none.
[[nodiscard]] std::string owner_of(const nlohmann::json& object, const char* field);

enum class Kept { kSame, kMade, kChanged };

struct OwnedObject {
  std::string collection;             // its path on the API server, as owned_path() makes it
  nlohmann::json object;              // whole, with its owner
  nlohmann::json::json_pointer part;  // of it, that follows the job: "/data"
};

// "PREFIX/namespaces/NAMESPACE/RESOURCE".
[[nodiscard]] std::string owned_path(const std::string& prefix, const nlohmann::json& object,
                                     const std::string& resource);
[[nodiscard]] OwnedObject owned_map(nlohmann::json config_map);

// `may_act`: asked before an object that is there is changed, as we may have ceased to lead
// meanwhile. Errors: as kube/api.h; kUnavailable while that of a job of the same name that is gone
// has not been collected, and where somebody was first; kExhausted for an object of that name that
// is not the job's.
Result<Kept> keep_owned(kube::Api& api, const OwnedObject& owned,
                        const std::function<bool()>& may_act, const kube::Call& how);

}  // namespace pinion::cluster
