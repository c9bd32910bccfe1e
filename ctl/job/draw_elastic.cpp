#include "ctl/job/draw_elastic.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/cli/table.h"
#include "cluster/extender/kube/json_read.h"
#include "ctl/job/job_cells.h"

namespace pinion::ctl {
namespace {

using kube::json_at;
using nlohmann::json;

constexpr const char* kNone = "no elastic jobs\n";

}  // namespace

std::string draw_elastic(const json& document) {
  std::vector<Row> rows = {{"JOB", "KIND", "CHANGE", "STATE", "WORKERS", "READY", "MIN", "MAX",
                            "WANTED", "ASKED", "WHY"}};
  const json& jobs = json_at(document, "elastic");
  if (!jobs.is_array()) return kNone;
  for (const json& job : jobs) {
    rows.push_back({text_cell(job, "name"), text_cell(job, "kind"), text_cell(job, "change"),
                    text_cell(job, "state"), number_cell(job, "workers"),
                    number_cell(job, "readyWorkers"), number_cell(job, "minWorkers"),
                    number_cell(job, "maxWorkers"), number_cell(job, "wantedWorkers"),
                    number_cell(job, "requestedWorkers"), text_cell(job, "why")});
  }
  if (rows.size() == 1) return kNone;
  return table(rows, {4, 5, 6, 7, 8, 9});
}

}  // namespace pinion::ctl
