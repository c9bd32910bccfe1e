#include "cluster/core/split.h"

#include <algorithm>
#include <limits>

namespace pinion::cluster {
namespace {

bool is_plain(const std::string& host) {
  return !host.empty() && std::all_of(host.begin(), host.end(),
                                      [](char c) { return c > ' ' && c != '\x7f' && c != '#'; });
}

Status check_split(const JobShape& job, int workers) {
  if (job.tasks < 1) {
    return failure(Errc::kInvalid,
                   "a job needs at least one task, not " + std::to_string(job.tasks));
  }
  if (job.cpus_per_task < 1) {
    return failure(Errc::kInvalid,
                   "a task needs at least one CPU, not " + std::to_string(job.cpus_per_task));
  }
  if (workers < 1 || workers > job.tasks) {
    return failure(Errc::kInvalid, std::to_string(workers) + " workers for " +
                                       std::to_string(job.tasks) +
                                       " tasks: choose 1 to as many workers as tasks");
  }
  return {};
}

}  // namespace

Result<std::vector<Worker>> split(const JobShape& job, int workers) {
  if (auto checked = check_split(job, workers); !checked)
    return failure(std::move(checked.error()));
  const int each = job.tasks / workers;
  const int with_one_more = job.tasks % workers;
  const int most = each + (with_one_more > 0 ? 1 : 0);
  if (most > topology::CpuSet::kCapacity / job.cpus_per_task) {
    return failure(Errc::kInvalid,
                   "a worker of " + std::to_string(most) + " tasks with " +
                       std::to_string(job.cpus_per_task) + " CPUs each has more than " +
                       std::to_string(topology::CpuSet::kCapacity) + " CPUs: use more workers");
  }
  if (job.memory_per_task > std::numeric_limits<Bytes>::max() / static_cast<Bytes>(most)) {
    return failure(Errc::kInvalid, "the memory of a worker of " + std::to_string(most) +
                                       " tasks does not fit in 64 bits: state less for each task");
  }
  std::vector<Worker> result;
  result.reserve(static_cast<std::size_t>(workers));
  for (int i = 0; i < workers; ++i) {
    const int tasks = each + (i < with_one_more ? 1 : 0);
    result.push_back({.tasks = tasks,
                      .cpus = tasks * job.cpus_per_task,
                      .memory = job.memory_per_task * static_cast<Bytes>(tasks)});
  }
  return result;
}

Result<std::string> hostfile(const std::vector<std::string>& hosts,
                             const std::vector<Worker>& workers) {
  if (hosts.size() != workers.size()) {
    return failure(Errc::kInvalid, std::to_string(hosts.size()) + " hosts for " +
                                       std::to_string(workers.size()) + " workers");
  }
  std::string text;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!is_plain(hosts[i])) {
      return failure(Errc::kInvalid,
                     "host " + std::to_string(i) + " has a name that a hostfile cannot hold");
    }
    text += hosts[i] + " slots=" + std::to_string(workers[i].tasks) + "\n";
  }
  return text;
}

}  // namespace pinion::cluster
