#include "cluster/sim/contention.h"

#include <algorithm>

namespace pinion::sim {

void Contention::add(Handle handle, const Job& job, const std::vector<Piece>& pieces) {
  Present present{.kind = &model_.kind(job.kind), .shares = {}, .sent = {}, .cpus = {}};
  std::map<int, double> tasks;
  double all = 0;
  for (const Piece& piece : pieces) {
    const auto& numa_nodes = fleet_.node(piece.node).topology().nodes;
    // Who is not pinned is as often on one CPU of the node as on another.
    const auto& machine = fleet_.node(piece.node).topology();
    const topology::CpuSet& cpus = pinned_ ? piece.cpus : machine.online;
    int domains = 0;
    for (std::size_t numa = 0; numa < numa_nodes.size(); ++numa) {
      const int there = cpus.count_common(numa_nodes[numa].cpus);
      if (there == 0) continue;
      ++domains;
      present.shares.push_back({.where = {piece.node, static_cast<int>(numa)},
                                .tasks = static_cast<double>(piece.tasks) * there / cpus.count()});
    }
    present.split = present.split || domains > 1;
    tasks[piece.node] += piece.tasks;
    present.cpus[piece.node] += piece.tasks * job.shape.cpus_per_task;
    all += piece.tasks;
  }
  // Each process talks to all others alike; who shares its node is reached without the network.
  for (const auto& [node, count] : tasks) {
    if (all > 1) present.sent[node] = count * present.kind->traffic * (all - count) / (all - 1);
  }
  charge(handle, present, 1);
  present_.emplace(handle, std::move(present));
}

void Contention::remove(Handle handle) {
  const auto found = present_.find(handle);
  charge(handle, found->second, -1);
  present_.erase(found);
}

void Contention::charge(Handle handle, const Present& present, int sign) {
  for (const Share& share : present.shares) {
    wanted_[share.where] += sign * share.tasks * present.kind->memory * model_.bandwidth;
    const int node = share.where.first;
    touched_.insert(node);
    if (sign > 0) {
      on_[node].insert(handle);
    } else {
      on_[node].erase(handle);
    }
  }
  for (const auto& [node, cpus] : present.cpus) cpus_wanted_[node] += sign * cpus;
}

double Contention::cpu_queue(int node) const {
  const cluster::FleetNode& there = fleet_.node(node);
  const int cpus = there.topology().online.count() - there.ledger.reserved().count();
  return std::max(1.0, static_cast<double>(cpus_wanted_.at(node)) / std::max(cpus, 1));
}

// All jobs have equal shares, as many connections over one link do; who wants less leaves the rest
// to the others (max-min fairness).
double Contention::granted(int node, double wanted) const {
  std::vector<double> rates;
  for (const Handle job : on_.at(node)) {
    const auto& sent = present_.at(job).sent;
    const auto here = sent.find(node);
    if (here != sent.end() && here->second > 0) rates.push_back(here->second);
  }
  std::sort(rates.begin(), rates.end());
  double left = model_.nic;
  for (std::size_t i = 0; i < rates.size() && rates[i] < wanted; ++i) {
    left -= std::min(rates[i], left / static_cast<double>(rates.size() - i));
  }
  const auto as_much =
      std::count_if(rates.begin(), rates.end(), [&](double rate) { return rate >= wanted; });
  return std::min(wanted, left / static_cast<double>(std::max<std::ptrdiff_t>(as_much, 1)));
}

double Contention::slowdown(const Present& present) const {
  const KindModel& kind = *present.kind;
  // Sums that came and went leave a rest of rounding, far below what counts.
  double memory = 1;
  double mean = 0;
  double tasks = 0;
  for (const Share& share : present.shares) {
    // Who waits for a CPU moves no data.
    const double crowd = std::max(1.0, wanted_.at(share.where) / cpu_queue(share.where.first));
    memory = std::max(memory, crowd);
    mean += share.tasks * crowd;
    tasks += share.tasks;
  }
  // Who roams sees each NUMA node in turn, who is pinned waits for those on the busiest.
  if (!pinned_ && tasks > 0) memory = mean / tasks;
  double slow = 1 - kind.memory + kind.memory * memory;
  if (!pinned_) slow *= kind.loose;
  if (pinned_ && present.split) slow *= kind.split;
  double queue = 1;
  for (const auto& [node, cpus] : present.cpus) queue = std::max(queue, cpu_queue(node));
  slow *= 1 + kind.crowded * (queue - 1);
  if (model_.nic > 0) {
    for (const auto& [node, rate] : present.sent) {
      if (rate > 0) slow = std::max(slow, rate / granted(node, rate));
    }
  }
  return slow;
}

std::vector<std::pair<Handle, double>> Contention::changes() {
  std::set<Handle> jobs;
  for (const int node : touched_) {
    const auto& there = on_[node];
    jobs.insert(there.begin(), there.end());
  }
  touched_.clear();
  std::vector<std::pair<Handle, double>> changes;
  changes.reserve(jobs.size());
  for (const Handle job : jobs) changes.emplace_back(job, slowdown(present_.at(job)));
  return changes;
}

}  // namespace pinion::sim
