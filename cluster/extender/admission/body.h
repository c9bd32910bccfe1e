// JSON that somebody else sent.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"

namespace pinion::cluster::admission {

// Deeper JSON is refused: no object of Kubernetes comes near, and what walks over JSON recurses.
inline constexpr int kMaxDepth = 100;

// Errors: kInvalid for what is no JSON or is nested deeper.
Result<nlohmann::json> parse_body(std::string_view body);

}  // namespace pinion::cluster::admission
