// JobSet: a list of replicatedJobs, each of which becomes `replicas` Indexed Jobs. All its sizes
// can be set at creation alone.
#include "cluster/extender/jobs/kinds.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster::jobs {
namespace {

const Pointer kJobsAt("/spec/replicatedJobs");
const Pointer kSubdomain("/spec/network/subdomain");
const Pointer kHostNames("/spec/network/enableDNSHostnames");

Pointer spec_at(std::size_t index) {
  return kJobsAt / index / "template" / "spec";
}

Result<std::vector<std::string>> names_in(const json& jobs) {
  std::vector<std::string> names;
  for (const json& one : jobs) {
    const auto name = one.is_object() ? one.find("name") : one.end();
    if (name == one.end() || !name->is_string()) {
      return wrong_field(kJobsAt / names.size() / "name", "missing");
    }
    names.push_back(name->get<std::string>());
  }
  return names;
}

Status read_counts(const json& object, std::size_t index, JobObject& job) {
  const auto replicas = count_at(object, kJobsAt / index / "replicas");
  if (!replicas) return failure(replicas.error());
  job.parts = replicas->value_or(1);
  if (job.parts < 1) return wrong_field(kJobsAt / index / "replicas", "0: no worker at all");
  const auto each = completions_at(object, spec_at(index));
  if (!each) return failure(each.error());
  job.workers_field = shown(spec_at(index) / "parallelism");
  if (*each) job.workers = **each * job.parts;
  return {};
}

// Exclusive placement of its workers' Jobs, as the JobSet or that part of it asks for.
bool is_exclusive(const json& object, std::size_t index) {
  const json& part = object[kJobsAt][index]["template"];
  const auto says = [](const json& it, const char* name) -> const json& {
    return kube::json_at(it, "metadata", "annotations", name);
  };
  const bool asked =
      !says(object, kExclusiveTopology).is_null() || !says(part, kExclusiveTopology).is_null();
  return asked && says(object, kNodeSelectorStrategy) != "true" &&
         says(part, kNodeSelectorStrategy) != "true";
}

}  // namespace

Status read_job_set(const json& object, const JobRequest& request, JobObject& job) {
  const auto jobs = list_at(object, kJobsAt);
  if (!jobs) return failure(jobs.error());
  const auto names = names_in(**jobs);
  if (!names) return failure(names.error());
  const auto workers = find_workers(*names, request.worker_role, kJobsAt);
  if (!workers) return failure(workers.error());
  for (std::size_t i = 0; i < names->size(); ++i) {
    const Pointer at = spec_at(i) / "template";
    if (const auto found = object_at(object, at); !found) return failure(found.error());
    const bool member = i == *workers;
    job.templates.push_back(
        {.at = at, .role = member ? "worker" : (*names)[i], .member = member, .starts = true});
  }
  job.worker_name = (*names)[*workers];
  job.follows_leader = is_exclusive(object, *workers);
  return read_counts(object, *workers, job);
}

Status write_job_set(json& object, const JobObject& job, int workers) {
  for (const PodTemplate& one : job.templates) {
    if (!one.member) continue;
    const Pointer spec = one.at.parent_pointer();
    if (workers % job.parts != 0) {
      return wrong_field(spec, std::to_string(workers) + " workers cannot be divided among " +
                                   std::to_string(job.parts) + " replicas: set replicas to 1");
    }
    object[spec / "parallelism"] = workers / job.parts;
    object[spec / "completions"] = workers / job.parts;
  }
  return {};
}

std::vector<std::string> job_set_hosts(const json& object, const JobObject& job, int workers) {
  const json* named = find(object, kHostNames);
  if (named != nullptr && *named == false) return {};
  const json* subdomain = find(object, kSubdomain);
  const bool own = subdomain != nullptr && subdomain->is_string();
  const std::string domain = own ? subdomain->get<std::string>() : job.name;
  std::vector<std::string> hosts;
  hosts.reserve(static_cast<std::size_t>(workers));
  for (int i = 0; i < workers; ++i) {
    const int each = workers / job.parts;
    hosts.push_back(job.name + "-" + job.worker_name + "-" + std::to_string(i / each) + "-" +
                    std::to_string(i % each) + "." + domain);
  }
  return hosts;
}

}  // namespace pinion::cluster::jobs
