// The elastic jobs of an extender's /v1/jobs as a table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pinion::ctl {

// One line for each, by name; what is missing in a row is "-". `document`: of jobs_at_extender().
[[nodiscard]] std::string draw_elastic(const nlohmann::json& document);
// One line for each of the last steps of each, the newest first.
[[nodiscard]] std::string draw_history(const nlohmann::json& document);
// One line for each of which something was seen: how fast with how many workers, and what its
// rescales take.
[[nodiscard]] std::string draw_speeds(const nlohmann::json& document);

}  // namespace pinion::ctl
