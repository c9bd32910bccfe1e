#include "ctl/job/draw_elastic.h"

#include <cstdio>
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
constexpr const char* kNoSpeeds = "nothing was seen of an elastic job's speed\n";
constexpr const char* kNoHistory = "no elastic job was changed\n";

// What it waits for, else that of the newest step: an older one says nothing of why it waits now.
std::string why(const json& job) {
  if (job.contains("why") || kube::json_text(job, "state") == "waits") return text_cell(job, "why");
  const json& history = json_at(job, "history");
  return history.is_array() && !history.empty() ? text_cell(history.front(), "why") : "-";
}

// Who wishes for how many workers; its user's wish goes before its application's.
std::string wish_cell(const json& job) {
  std::string cell;
  const auto add = [&](const char* key, const char* whose) {
    if (!job.contains(key)) return;
    if (!cell.empty()) cell += ", ";
    cell += number_cell(job, key) + whose;
  };
  add("requestedWorkers", " by user");
  add("askedWorkers", " by application");
  return cell.empty() ? "-" : cell;
}

// As many digits as say something.
std::string figure_cell(const json& object, const char* key) {
  const json& value = json_at(object, key);
  if (!value.is_number()) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value.get<double>());
  return text;
}

std::string rates_cell(const json& rates) {
  std::string cell;
  for (const json& one : rates) {
    if (!cell.empty()) cell += ", ";
    cell += number_cell(one, "workers") + ": " + figure_cell(one, "perSecond");
  }
  return cell.empty() ? "-" : cell;
}

}  // namespace

std::string draw_elastic(const json& document) {
  std::vector<Row> rows = {{"JOB", "KIND", "CHANGE", "STATE", "WORKERS", "READY", "MIN", "MAX",
                            "WANTED", "ASKED", "WHY"}};
  for (const json& job : json_at(document, "elastic")) {
    rows.push_back({text_cell(job, "name"), text_cell(job, "kind"), text_cell(job, "change"),
                    text_cell(job, "state"), number_cell(job, "workers"),
                    number_cell(job, "readyWorkers"), number_cell(job, "minWorkers"),
                    number_cell(job, "maxWorkers"), number_cell(job, "wantedWorkers"),
                    wish_cell(job), why(job)});
  }
  if (rows.size() == 1) return kNone;
  return table(rows, {4, 5, 6, 7, 8}) + more_not_shown(document, "elastic");
}

std::string draw_history(const json& document) {
  std::vector<Row> rows = {{"JOB", "AT", "STEP", "WHY"}};
  for (const json& job : json_at(document, "elastic")) {
    const json& history = json_at(job, "history");
    if (!history.is_array()) continue;
    for (const json& step : history) {
      rows.push_back({text_cell(job, "name"), text_cell(step, "at"), text_cell(step, "step"),
                      text_cell(step, "why")});
    }
  }
  return rows.size() == 1 ? kNoHistory : table(rows, {}) + more_not_shown(document, "elastic");
}

std::string draw_speeds(const json& document) {
  std::vector<Row> rows = {{"JOB", "MEASURE", "SHRINK [s]", "EXPAND [s]", "WORKERS: PER SECOND"}};
  for (const json& job : json_at(document, "elastic")) {
    const json& speed = json_at(job, "speed");
    if (!speed.is_object()) continue;
    rows.push_back({text_cell(job, "name"), text_cell(speed, "measure"),
                    figure_cell(speed, "shrinkSeconds"), figure_cell(speed, "expandSeconds"),
                    rates_cell(json_at(speed, "rates"))});
  }
  return rows.size() == 1 ? kNoSpeeds : table(rows, {2, 3}) + more_not_shown(document, "elastic");
}

}  // namespace pinion::ctl
