// Kubernetes objects in YAML or JSON, as people hand them to kubectl.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::cluster {

// All documents of the file but empty ones. Plain words are null, booleans and numbers as in YAML
// 1.2's core schema, which is what kubectl sends. Errors: kInvalid with "line N: ...".
Result<std::vector<nlohmann::json>> parse_objects(const std::string& text);

}  // namespace pinion::cluster
