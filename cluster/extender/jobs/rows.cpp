#include "cluster/extender/jobs/mutation.h"
#include "policy/annotations.h"

namespace pinion::cluster::jobs {
namespace {

std::string slots_text(const Decision& decision) {
  const int most = decision.largest().tasks;
  const int least = decision.workers.back().tasks;
  return most == least ? std::to_string(most)
                       : std::to_string(least) + " or " + std::to_string(most);
}

std::string why_policy(const Cut& cut) {
  if (cut.request.policy) return std::string("annotation ") + annotation::kPolicy;
  if (cut.job.kind == JobKind::kPod) return "a Pod is one worker";
  return cut.job.workers ? cut.job.workers_field + " is stated" : "none is stated";
}

std::string cpus_why(const Decision& decision) {
  return counted(decision.largest().tasks, "task") + " x " +
         std::to_string(decision.job.cpus_per_task);
}

Row hostfile_row(const Cut& cut) {
  if (!cut.hostfile.empty()) {
    return {"hostfile", "ConfigMap " + cut.hostfile,
            cut.job.kind == JobKind::kMpiJob ? "workers with unequal numbers of tasks"
                                             : "this kind of job brings none with slots"};
  }
  if (cut.job.kind == JobKind::kMpiJob) return {"hostfile", "the operator's", "equal slots"};
  return {"hostfile", "none",
          cut.request.hostfile ? "the workers have no host names that resolve"
                               : std::string("annotation ") + annotation::kHostfile};
}

}  // namespace

std::vector<Row> rows_of(const Cut& cut, const Options& options) {
  const Decision& decision = cut.decision;
  const Granularity& chosen = decision.granularity;
  const auto number = [](int n) { return std::to_string(n); };
  std::vector<Row> rows{
      {"policy", std::string(to_string(decision.policy)), why_policy(cut)},
      {"workers", number(chosen.workers), to_string(chosen)},
      {"task groups", number(chosen.groups), "on " + counted(chosen.nodes, "node")},
      {"tasks of a worker", slots_text(decision), number(cut.request.tasks) + " in all"},
      {"CPUs of a worker", number(decision.largest().cpus), cpus_why(decision)}};
  if (!cut.request.profile_why.empty()) {
    rows.push_back({"profile", word_or_none(cut.request.profile), cut.request.profile_why});
  }
  if (cut.request.memory_per_task) {
    rows.push_back({"memory of a worker", quantity_text(decision.largest().memory),
                    counted(decision.largest().tasks, "task") + " x " +
                        quantity_text(*cut.request.memory_per_task)});
  }
  if (!chosen.tried.empty()) {
    rows.push_back({"align", std::string(topology::to_string(chosen.align)), "policy auto"});
  }
  if (cut.job.kind != JobKind::kPod) rows.push_back(hostfile_row(cut));
  if (!options.scheduler.empty()) rows.push_back({"scheduler", options.scheduler, "configured"});
  return rows;
}

}  // namespace pinion::cluster::jobs
