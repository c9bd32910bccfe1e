#include "cluster/sim/shaping.h"

#include <algorithm>
#include <utility>

#include "cluster/core/auto_granularity.h"
#include "cluster/core/split.h"

namespace pinion::sim {
namespace {

using cluster::Policy;

constexpr int kMostWorkers = 100'000;  // of one job

int parts(int whole, int part) {
  return (whole + part - 1) / part;
}

}  // namespace

Largest largest_of(const cluster::Fleet& fleet) {
  Largest largest;
  const cluster::MachineKind* last = nullptr;
  for (cluster::NodeIndex node = 0; node < fleet.size(); ++node) {
    const auto* kind = fleet.node(node).kind.get();
    if (kind == nullptr || kind == std::exchange(last, kind)) continue;
    const auto smt = topology::Smt::kPack;
    largest.numa = std::max(largest.numa, kind->idle.largest(topology::Align::kNuma, smt));
    largest.node = std::max(largest.node, kind->idle.largest(topology::Align::kNone, smt));
  }
  return largest;
}

Result<Cut> cut(const Job& job, const ShapeRules& rules, const Largest& largest,
                const cluster::Fleet& fleet) {
  cluster::JobShape shape = job.shape;
  const Policy granularity = job.service ? Policy::kNone : rules.granularity;
  if (shape.cpus_per_task > largest.node) {
    return failure(Errc::kInvalid, "a task of " + std::to_string(shape.cpus_per_task) +
                                       " CPUs, no node has more than " +
                                       std::to_string(largest.node));
  }
  const int roomy = std::max(largest.numa, shape.cpus_per_task);
  if (shape.workers == 0) shape.workers = parts(shape.tasks, roomy / shape.cpus_per_task);
  if (shape.workers > kMostWorkers) return failure(Errc::kInvalid, "more than 100000 workers");
  const int there = fleet.size();
  const int nodes = job.nodes > 0 ? std::min(job.nodes, there) : there;
  const auto chosen =
      granularity == Policy::kAuto
          ? cluster::choose_by_fleet(shape, nodes, cluster::free_nodes(fleet), kMostWorkers)
          : cluster::choose_granularity(shape, granularity, nodes);
  if (!chosen) return failure(chosen.error());
  const auto workers = cluster::split(shape, chosen->workers);
  if (!workers) return failure(workers.error());
  Cut cut;
  if (rules.groups && (granularity != Policy::kNone || shape.groups > 0)) {
    cut.groups = chosen->groups;
  }
  for (const cluster::Worker& worker : *workers) {
    if (worker.cpus > largest.node) {
      return failure(Errc::kInvalid, "a worker of " + std::to_string(worker.cpus) +
                                         " CPUs, no node has more than " +
                                         std::to_string(largest.node));
    }
    auto request = cluster::request_of(shape, worker.cpus, worker.memory, chosen->align);
    request.smt = shape.smt;
    if (!rules.pinned) {
      request.align = topology::Align::kNone;
      request.memory_policy = topology::MemoryPolicy::kAny;
    } else if (!rules.insist || worker.cpus > largest.numa) {
      request.strength = topology::Strength::kPreferred;
    }
    cut.tasks.push_back(worker.tasks);
    cut.requests.push_back(std::move(request));
  }
  return cut;
}

Result<Cut> cut_elastic(const Job& job, int workers, const ShapeRules& rules,
                        const Largest& largest, const cluster::Fleet& fleet) {
  Job sized = job;
  sized.shape.tasks = sized.shape.workers = workers;
  sized.shape.groups = std::min(job.shape.groups, workers);
  ShapeRules as_it_says = rules;
  as_it_says.granularity = Policy::kNone;
  auto made = cut(sized, as_it_says, largest, fleet);
  const int cpus = job.elastic->launcher;
  if (!made || cpus == 0) return made;
  if (cpus > largest.node) {
    return failure(Errc::kInvalid, "a launcher of " + std::to_string(cpus) +
                                       " CPUs, no node has more than " +
                                       std::to_string(largest.node));
  }
  topology::Request launcher = made->requests.front();
  launcher.cpus = cpus;
  launcher.memory = 0;
  if (cpus > largest.numa) launcher.strength = topology::Strength::kPreferred;
  made->tasks.insert(made->tasks.begin(), 0);
  made->requests.insert(made->requests.begin(), std::move(launcher));
  return made;
}

}  // namespace pinion::sim
