#include "cluster/core/node_score.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace pinion::cluster {
namespace {

std::int64_t worth_of(const std::vector<int>& holes) {
  std::int64_t worth = 0;
  for (const int hole : holes) worth += std::int64_t{hole} * hole;
  return worth;
}

std::vector<int> free_by_numa(const topology::Holes& holes) {
  std::vector<int> free;
  for (const topology::Hole& hole : holes.of(topology::Align::kNuma)) {
    free.push_back(hole.of(topology::Smt::kPack));
  }
  return free;
}

// CPUs that the pods without CPUs of their own request; 0 where nobody says what the node has.
int shared_cpus(const FleetNode& node) {
  if (node.capacity.milli_cpus >= kPlenty.milli_cpus) return 0;
  const std::int64_t milli = node.capacity.milli_cpus - node.spare.milli_cpus -
                             std::int64_t{1000} * node.ledger.exclusive().count();
  return static_cast<int>(std::clamp<std::int64_t>((milli + 999) / 1000, 0, node.holes.free));
}

// What is left of the holes when so many CPUs are taken from them, one after another.
std::vector<int> without(std::vector<int> holes, int cpus) {
  for (int& hole : holes) {
    const int taken = std::min(hole, cpus);
    hole -= taken;
    cpus -= taken;
  }
  return holes;
}

std::int64_t loss(const std::vector<int>& holes, int cpus) {
  return worth_of(holes) - worth_of(without(holes, cpus));
}

}  // namespace

int load_of(const FleetNode& node, const topology::Ledger& ledger, const ResourceList& spare) {
  constexpr std::int64_t full = 1000;
  const int all = node.topology().online.count() - ledger.reserved().count();
  std::int64_t load = all <= 0 ? full : full * ledger.exclusive().count() / all;
  const std::int64_t capacity = node.capacity.milli_cpus;
  if (capacity > 0 && capacity < kPlenty.milli_cpus) {
    const std::int64_t requested = capacity - spare.milli_cpus;
    load = std::max(load, full * std::clamp<std::int64_t>(requested, 0, capacity) / capacity);
  }
  return static_cast<int>(std::min(load, full));
}

int fill_score(const FleetNode& node, std::int64_t milli_cpus) {
  const auto cpus = static_cast<int>(
      std::clamp<std::int64_t>((milli_cpus + 999) / 1000, 1, topology::CpuSet::kCapacity));
  if (node.holes.free < cpus || node.spare.milli_cpus < milli_cpus) return 0;
  std::vector<int> now = free_by_numa(node.holes);
  std::sort(now.begin(), now.end());
  now = without(std::move(now), shared_cpus(node));
  std::sort(now.begin(), now.end());
  std::vector<int> idle = free_by_numa(node.kind->idle);
  std::sort(idle.begin(), idle.end(), std::greater<>());
  const std::int64_t worst = loss(idle, cpus);
  if (worst <= 0) return 0;
  const std::int64_t lost = std::min(loss(now, cpus), worst);
  const auto tight = static_cast<int>(10 * (worst - lost) / worst);
  return (2 * tight + (10 - node.pressure_level)) / 3;
}

int ask_score(const Fleet& fleet, NodeIndex index, const NodeAsk& ask) {
  constexpr int most = 10;
  const FleetNode& node = fleet.node(index);
  // Only where it is asked for: it counts CPUs, and there are thousands of nodes in one call.
  const auto level = [&] { return most * load_of(node, node.ledger, node.spare) / 1000; };
  if (ask.placement == PlacementPolicy::kLeastLoaded) return most - level();
  if (ask.placement == PlacementPolicy::kMostLoaded) return level();
  if (ask.service) return fill_score(node, ask.milli_cpus);
  if (ask.request == nullptr) return 0;
  // A job that grows has its new members beside those that it has.
  if (ask.own.contains(index)) return most;
  const int hole = fleet.hole_score(index, *ask.request);
  return ask.own.empty() ? hole : std::min(hole, most - 1);
}

}  // namespace pinion::cluster
