#include "ctl/job_plan.h"

#include "ctl/table.h"
#include "extender/jobs/gang.h"
#include "extender/kube/json_read.h"

namespace pinion::ctl {
namespace {

namespace jobs = extender::jobs;
using extender::GangPlan;
using extender::GangRefusal;
using extender::Placement;
using kube::json_text;
using nlohmann::json;

// What is known of one worker before it exists.
struct WorkerLine {
  std::string host;
  int tasks = 0;
  int cpus = 0;
  std::string group;
  std::string node;   // empty: none
  std::string where;  // its CPUs there
};

std::vector<WorkerLine> lines_of(const JobPlan& plan, const extender::Fleet& fleet) {
  const jobs::Cut& cut = *plan.mutation.cut;
  const std::size_t count = plan.gang.size();
  std::vector<std::string> hosts = hosts_of(plan.after, cut.job, static_cast<int>(count));
  hosts.resize(count);
  std::vector<WorkerLine> lines;
  for (std::size_t i = 0; i < count; ++i) {
    lines.push_back({.host = hosts[i],
                     .tasks = cut.decision.workers[i].tasks,
                     .cpus = plan.gang[i].cpus,
                     .group = plan.gang[i].task_group,
                     .node = {},
                     .where = {}});
  }
  if (const auto* placed = std::get_if<GangPlan>(&*plan.outcome)) {
    for (std::size_t i = 0; i < count; ++i) {
      const Placement& placement = placed->placements[i];
      lines[i].node = fleet.node(placement.node).name;
      lines[i].where = placement.decision.cpus.to_string();
    }
  }
  return lines;
}

std::string title_of(const json& object) {
  const std::string name_space = json_text(object, "metadata", "namespace");
  return plain(json_text(object, "kind") + " " + (name_space.empty() ? "" : name_space + "/") +
               json_text(object, "metadata", "name"));
}

const char* word_of(jobs::Mutation::Kind kind) {
  switch (kind) {
    case jobs::Mutation::Kind::kChanged:
      return "changed";
    case jobs::Mutation::Kind::kRefused:
      return "refused";
    case jobs::Mutation::Kind::kUntouched:
      break;
  }
  return "untouched";
}

const std::string* waits(const JobPlan& plan) {
  const auto* refusal = plan.outcome ? std::get_if<GangRefusal>(&*plan.outcome) : nullptr;
  return refusal != nullptr ? &refusal->text : nullptr;
}

std::string draw_workers(const JobPlan& plan, const extender::Fleet& fleet) {
  std::vector<Row> rows{{"WORKER", "HOST", "TASKS", "CPUS", "GROUP", "NODE", "CPUS THERE"}};
  const auto or_none = [](const std::string& text) { return text.empty() ? "-" : plain(text); };
  for (const WorkerLine& line : lines_of(plan, fleet)) {
    rows.push_back({std::to_string(rows.size() - 1), or_none(line.host), std::to_string(line.tasks),
                    std::to_string(line.cpus), or_none(line.group), or_none(line.node),
                    or_none(line.where)});
  }
  return table(rows, {0, 2, 3});
}

}  // namespace

JobPlan plan_job(json object, const extender::Fleet& fleet, const jobs::Options& options) {
  JobPlan plan;
  plan.mutation = jobs::mutate(object, "default", options, jobs::choose_on(fleet));
  plan.after = object.patch(plan.mutation.patch);
  plan.before = std::move(object);
  if (!plan.mutation.cut) return plan;
  plan.gang = jobs::gang_of(plan.after, *plan.mutation.cut, options.defaults);
  plan.outcome = extender::plan_gang(fleet, plan.gang);
  return plan;
}

std::string draw_job_plan(const JobPlan& plan, const extender::Fleet& fleet) {
  const jobs::Mutation& mutation = plan.mutation;
  std::string text = title_of(plan.before) + ": " + word_of(mutation.kind);
  if (!mutation.text.empty()) text += ": " + plain(mutation.text);
  text += "\n";
  for (const std::string& warning : mutation.warnings) text += "warning: " + plain(warning) + "\n";
  if (!mutation.cut) return text;
  std::vector<Row> rows{{"WHAT", "VALUE", "WHY"}};
  for (const jobs::Row& row : mutation.cut->rows) {
    rows.push_back({row.what, plain(row.value), plain(row.why)});
  }
  text += "\n" + table(rows) + "\n" + draw_workers(plan, fleet);
  if (const std::string* why = waits(plan)) text += "\nIt would wait: " + *why + "\n";
  return text;
}

json job_plan_json(const JobPlan& plan, const extender::Fleet& fleet) {
  const jobs::Mutation& mutation = plan.mutation;
  json result = {{"kind", json_text(plan.before, "kind")},
                 {"name", json_text(plan.before, "metadata", "name")},
                 {"outcome", word_of(mutation.kind)},
                 {"text", mutation.text},
                 {"warnings", mutation.warnings},
                 {"patch", mutation.patch}};
  if (!mutation.cut) return result;
  for (const jobs::Row& row : mutation.cut->rows) {
    result["decided"].push_back({{"what", row.what}, {"value", row.value}, {"why", row.why}});
  }
  for (const WorkerLine& line : lines_of(plan, fleet)) {
    result["workers"].push_back({{"host", line.host},
                                 {"tasks", line.tasks},
                                 {"cpus", line.cpus},
                                 {"group", line.group},
                                 {"node", line.node},
                                 {"cpus_there", line.where}});
  }
  const std::string* why = waits(plan);
  result["waits"] = why != nullptr ? *why : std::string();
  return result;
}

}  // namespace pinion::ctl
