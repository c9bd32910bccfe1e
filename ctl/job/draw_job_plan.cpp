#include "ctl/job/draw_job_plan.h"

#include "base/cli/table.h"

namespace pinion::ctl {
namespace {

using cluster::jobs::JobPlan;
using cluster::jobs::PlanWorker;

std::string title_of(const JobPlan& plan) {
  const std::string name_space = plan.name_space.empty() ? "" : plan.name_space + "/";
  return plain(plan.kind + " " + name_space + plan.name);
}

std::string draw_workers(const JobPlan& plan) {
  std::vector<Row> rows{{"WORKER", "HOST", "TASKS", "CPUS", "GROUP", "NODE", "CPUS THERE"}};
  const auto or_none = [](const std::string& text) { return text.empty() ? "-" : plain(text); };
  for (const PlanWorker& worker : plan.workers) {
    rows.push_back({std::to_string(rows.size() - 1), or_none(worker.host),
                    std::to_string(worker.tasks), std::to_string(worker.cpus),
                    or_none(worker.group), or_none(worker.node), or_none(worker.runs.to_string())});
  }
  return table(rows, {0, 2, 3});
}

}  // namespace

std::string draw_job_plan(const JobPlan& plan) {
  std::string text = title_of(plan) + ": " + std::string(word_of(plan.outcome));
  if (!plan.text.empty()) text += ": " + plain(plan.text);
  text += "\n";
  for (const std::string& warning : plan.warnings) text += "warning: " + plain(warning) + "\n";
  if (plan.workers.empty()) return text;
  std::vector<Row> rows{{"WHAT", "VALUE", "WHY"}};
  for (const cluster::jobs::Row& row : plan.decided) {
    rows.push_back({plain(row.what), plain(row.value), plain(row.why)});
  }
  text += "\n" + table(rows) + "\n" + draw_workers(plan);
  if (!plan.waits.empty()) text += "\nIt would wait: " + plain(plan.waits) + "\n";
  return text;
}

}  // namespace pinion::ctl
