// Cells of the tables of jobs: a field of a document from outside, "-" where it has none.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pinion::ctl {

[[nodiscard]] std::string text_cell(const nlohmann::json& job, const char* name);
[[nodiscard]] std::string number_cell(const nlohmann::json& job, const char* name);
// How many more rows of that list the extender has; empty: none.
[[nodiscard]] std::string more_not_shown(const nlohmann::json& document, const char* list);

}  // namespace pinion::ctl
