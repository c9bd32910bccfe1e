#include "cluster/slurm/shape.h"

#include <algorithm>

#include "cluster/slurm/mark.h"

namespace pinion::slurm {
namespace {

constexpr int kMostCpus = 4096;  // of a node
constexpr std::int64_t kMostMemoryMib = std::int64_t{1} << 30;

std::int64_t up(std::int64_t number, std::int64_t by) {
  return (number + by - 1) / by;
}

// Tasks are dealt out evenly, so that all nodes are alike.
std::int64_t cpus_on_each(const Job& job) {
  const std::int64_t nodes = job.nodes;
  const std::int64_t tasks = job.tasks_per_node > 0 ? job.tasks_per_node : up(job.tasks, nodes);
  return std::max({up(job.cpus, nodes), tasks * std::max(job.cpus_per_task, 1),
                   std::int64_t{job.cpus_per_node}, std::int64_t{1}});
}

}  // namespace

int nodes_for(const Job& submitted, const ShapeRules& rules) {
  if (submitted.max_nodes > 0 || submitted.nodes < 1) return submitted.nodes;
  if (const int tasks = submitted.tasks_per_node; tasks > 0) {
    return std::max(static_cast<int>(up(submitted.tasks, tasks)), submitted.nodes);
  }
  if (rules.most_cpus == 0) return submitted.nodes;
  Job job = submitted;
  const int most_nodes = std::min(job.tasks, kMostNodes);
  while (job.nodes < most_nodes && cpus_on_each(job) > rules.most_cpus) ++job.nodes;
  return job.nodes;
}

Result<Shape> shape_of(const Job& submitted, const ShapeRules& rules) {
  Job job = submitted;
  job.nodes = nodes_for(job, rules);
  if (job.heterogeneous) {
    return failure(Errc::kInvalid, "a heterogeneous job cannot be placed; submit its parts alone");
  }
  Shape shape;
  shape.profile = word_in(job.comment, "profile");
  if (!shape.profile.empty() && shape.profile != "cpu" && shape.profile != "memory" &&
      shape.profile != "network") {
    return failure(Errc::kInvalid,
                   "profile " + shape.profile + " is unknown, use one of: cpu, memory, network");
  }
  if (job.nodes < 1 || job.nodes > kMostNodes) {
    return failure(Errc::kInvalid, std::to_string(job.nodes) + " nodes cannot start together, " +
                                       std::to_string(kMostNodes) + " can");
  }
  if (job.exclusive && rules.exclusive_cpus == 0) {
    return failure(Errc::kInvalid, "--exclusive: there are no whole nodes here; ask for CPUs");
  }
  const std::int64_t cpus = job.exclusive
                                ? std::max<std::int64_t>(rules.exclusive_cpus, cpus_on_each(job))
                                : cpus_on_each(job);
  if (cpus > kMostCpus) {
    return failure(Errc::kInvalid,
                   std::to_string(cpus) + " CPUs on one node are more than any node has");
  }
  const std::int64_t per_cpu =
      job.memory_per_cpu_mib > 0 ? job.memory_per_cpu_mib : rules.memory_per_cpu_mib;
  shape.nodes = job.nodes;
  shape.cpus = static_cast<int>(cpus);
  if (per_cpu > kMostMemoryMib || job.memory_per_node_mib > kMostMemoryMib) {
    return failure(Errc::kInvalid, "it asks for more memory than any node has");
  }
  shape.memory_mib = job.memory_per_node_mib > 0 ? job.memory_per_node_mib : per_cpu * cpus;
  return shape;
}

}  // namespace pinion::slurm
