// What `squeue --json` prints: any JSON is a list of jobs or is refused, and whatever the jobs say,
// what is decided about them is the same twice.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cluster/slurm/decide.h"
#include "cluster/slurm/job_json.h"
#include "cluster/slurm/pod_json.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::slurm_jobs {
namespace {

using namespace pinion::slurm;

// What we make of a job is read as what we made.
void check_object(const Create& create) {
  PodTemplate all;
  const auto read = placeholder_of(all, pod_object(all, create));
  if (!read || read->attempt != create.pod.attempt || read->job != create.job ||
      read->index != create.pod.index || read->size != create.pod.size ||
      read->cpus != create.pod.cpus || read->list != create.pod.list ||
      read->partition != create.pod.partition || read->phase != Placeholder::Phase::kWaiting) {
    std::abort();
  }
}

}  // namespace

PINION_FUZZ_TARGET(slurm_jobs) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto jobs = read_jobs(text);
  if (!jobs) {
    if (jobs.error().text.empty()) std::abort();
    return 0;
  }
  Rules rules;
  rules.most_waiting = 10;
  View view;
  view.jobs = *std::move(jobs);
  view.nodes = {{.name = "n1", .out = "", .features = {"gpu"}, .partitions = {"main"}},
                {.name = "n2", .out = "", .features = {"big"}, .partitions = {"main", "night"}},
                {.name = "n3", .out = "DOWN", .features = {}, .partitions = {"main"}}};
  view.now_s = 1'800'000'000;
  const auto actions = decide(rules, view);
  if (actions != decide(rules, view)) std::abort();
  for (const Action& action : actions) {
    if (to_text(action).empty()) std::abort();
    if (const auto* create = std::get_if<Create>(&action)) check_object(*create);
  }
  for (const Job& job : view.jobs) {
    const auto mark = read_mark(job.admin_comment);
    if (mark && read_mark(to_text(*mark)) != mark) std::abort();
    // What is told once is not told again.
    const std::string once = told(job.comment, "why");
    if (told(once, "why") != once) std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::slurm_jobs
