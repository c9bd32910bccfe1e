// batch/v1 Job with completionMode Indexed, and the plain Pod: objects with one template.
#include <algorithm>

#include "cluster/extender/jobs/kinds.h"

namespace pinion::cluster::jobs {
namespace {

const Pointer kSpec("/spec");

}  // namespace

Result<std::optional<int>> completions_at(const json& object, const Pointer& spec) {
  const auto parallelism = count_at(object, spec / "parallelism");
  if (!parallelism) return failure(parallelism.error());
  const auto completions = count_at(object, spec / "completions");
  if (!completions) return failure(completions.error());
  // 1 is what the API server fills in where nothing is stated.
  const int side_by_side = parallelism->value_or(1);
  const int in_all = completions->value_or(1);
  if (side_by_side > 1 && in_all > 1 && side_by_side != in_all) {
    return wrong_field(spec / "parallelism",
                       std::to_string(side_by_side) + " of " + std::to_string(in_all) +
                           " completions would run at a time: a gang runs whole, make them equal");
  }
  const int most = std::max(side_by_side, in_all);
  return most > 1 ? std::optional(most) : std::nullopt;
}

Status read_indexed_job(const json& object, JobObject& job) {
  const json* mode = find(object, kSpec / "completionMode");
  if (mode == nullptr || *mode != "Indexed") {
    return wrong_field(kSpec / "completionMode",
                       "must be Indexed, so that each pod has a number of its own");
  }
  const Pointer at = kSpec / "template";
  if (const auto found = object_at(object, at); !found) return failure(found.error());
  job.templates = {{.at = at, .role = "worker", .member = true, .starts = true}};
  job.workers_field = shown(kSpec / "parallelism");
  auto stated = completions_at(object, kSpec);
  if (!stated) return failure(stated.error());
  job.workers = *stated;
  return {};
}

Status write_indexed_job(json& object, int workers) {
  object[kSpec / "parallelism"] = workers;
  object[kSpec / "completions"] = workers;
  return {};
}

std::optional<HostName> indexed_job_host(const json& object, const JobObject& job) {
  const json* subdomain = find(object, kSpec / "template" / "spec" / "subdomain");
  if (subdomain == nullptr || !subdomain->is_string()) return {};
  return HostName{.before = job.name + "-", .after = "." + subdomain->get<std::string>()};
}

Status read_pod(const json& object, JobObject& job) {
  if (const auto found = object_at(object, kSpec); !found) return failure(found.error());
  job.templates = {{.at = Pointer(), .role = "worker", .member = true, .starts = false}};
  job.workers = 1;
  job.workers_field = "a Pod";
  return {};
}

}  // namespace pinion::cluster::jobs
