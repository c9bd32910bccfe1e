#include "ctl/job/job_cells.h"

#include <nlohmann/json.hpp>

#include "base/cli/table.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::ctl {

std::string text_cell(const nlohmann::json& job, const char* name) {
  const std::string value = plain(kube::json_text(job, name));
  return value.empty() ? "-" : value;
}

std::string number_cell(const nlohmann::json& job, const char* name) {
  const nlohmann::json& value = kube::json_at(job, name);
  return value.is_number_integer() ? std::to_string(value.get<std::int64_t>()) : "-";
}

std::string more_not_shown(const nlohmann::json& document, const char* list) {
  const std::string more = number_cell(kube::json_at(document, "notShown"), list);
  return more == "-" ? "" : more + " more not shown\n";
}

}  // namespace pinion::ctl
