// What an extender has learnt of jobs' runs, from its /v1/jobs, as a table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pinion::ctl {

// One line for each job, by name; what is missing in a row is "-". `document`: of
// jobs_at_extender().
[[nodiscard]] std::string draw_profiles(const nlohmann::json& document);

}  // namespace pinion::ctl
