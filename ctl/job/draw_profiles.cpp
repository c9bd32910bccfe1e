#include "ctl/job/draw_profiles.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/cli/table.h"
#include "cluster/extender/kube/json_read.h"
#include "ctl/job/job_cells.h"

namespace pinion::ctl {

std::string draw_profiles(const nlohmann::json& document) {
  std::vector<Row> rows = {{"JOB", "PROFILE", "RUNS", "LAST", "WHY"}};
  for (const nlohmann::json& job : kube::json_at(document, "profiles")) {
    rows.push_back({text_cell(job, "name"), text_cell(job, "profile"), number_cell(job, "runs"),
                    text_cell(job, "last"), text_cell(job, "why")});
  }
  return rows.size() == 1 ? "no profiles learnt\n"
                          : table(rows, {2}) + more_not_shown(document, "profiles");
}

}  // namespace pinion::ctl
