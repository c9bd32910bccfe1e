#include "ctl/job/draw_elastic.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/cli/table.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::ctl {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;

constexpr const char* kNone = "no elastic jobs\n";

std::string text(const json& job, const char* name) {
  const std::string value = plain(json_text(job, name));
  return value.empty() ? "-" : value;
}

std::string number(const json& job, const char* name) {
  const json& value = json_at(job, name);
  return value.is_number_integer() ? std::to_string(value.get<std::int64_t>()) : "-";
}

// Of the newest step.
std::string last_why(const json& job) {
  const json& history = json_at(job, "history");
  return history.is_array() && !history.empty() ? text(history.front(), "why") : "-";
}

}  // namespace

std::string draw_elastic(const json& document) {
  std::vector<Row> rows = {{"JOB", "KIND", "CHANGE", "STATE", "WORKERS", "READY", "MIN", "MAX",
                            "WANTED", "ASKED", "WHY"}};
  const json& jobs = json_at(document, "elastic");
  if (!jobs.is_array()) return kNone;
  for (const json& job : jobs) {
    rows.push_back({text(job, "name"), text(job, "kind"), text(job, "change"), text(job, "state"),
                    number(job, "workers"), number(job, "readyWorkers"), number(job, "minWorkers"),
                    number(job, "maxWorkers"), number(job, "wantedWorkers"),
                    number(job, "requestedWorkers"), last_why(job)});
  }
  if (rows.size() == 1) return kNone;
  return table(rows, {4, 5, 6, 7, 8, 9});
}

}  // namespace pinion::ctl
