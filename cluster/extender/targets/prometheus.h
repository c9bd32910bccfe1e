// One number from Prometheus's HTTP interface, /api/v1/query.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/error.h"

namespace pinion::cluster::targets {

// Path and query for the value of this PromQL now.
[[nodiscard]] std::string query_path(const std::string& promql);

// Nothing: there is no such series now, or its value is infinite. NaN: there is one, of nothing, as
// a quantile of no requests. Errors: kInvalid for several series and for ranges and texts, saying
// what to do; kUnavailable for what is no answer.
Result<std::optional<double>> read_value(const nlohmann::json& answer);

}  // namespace pinion::cluster::targets
