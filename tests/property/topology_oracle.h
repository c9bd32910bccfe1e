// What a request may get, by trying everything: slow, plain, and written without the allocator's
// tables, so that the two can disagree.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "topology/allocate.h"

namespace pinion::topology {

class Oracle {
 public:
  Oracle(const Topology& machine, const Ledger& ledger) : machine_(machine), ledger_(ledger) {}

  // Whether any domain of request.align can take the request as it is asked.
  [[nodiscard]] bool fits(const Request& request) const {
    const CpuSet free = machine_.online - ledger_.reserved() - ledger_.exclusive();
    if (request.use_isolated && pool_fits(request, free & machine_.isolated)) return true;
    return pool_fits(request, free - machine_.isolated);
  }

  [[nodiscard]] static std::vector<CpuSet> domains(const Topology& machine, Align align) {
    std::vector<CpuSet> sets;
    if (align == Align::kL3) {
      for (const Cache& l3 : machine.l3s) sets.push_back(l3.cpus);
    } else if (align == Align::kNuma) {
      for (const Node& node : machine.nodes) sets.push_back(node.cpus);
    } else if (align == Align::kSocket) {
      for (const Package& package : machine.packages) sets.push_back(package.cpus);
    } else {
      sets.push_back(machine.online);
    }
    return sets;
  }

  // The most of n CPUs that can be whole cores of these.
  [[nodiscard]] static int most_whole(const Topology& machine, const CpuSet& free, int n) {
    std::set<int> sums = {0};
    for (const Core& core : machine.cores) {
      if (!core.cpus.is_subset_of(free)) continue;
      std::set<int> more;
      for (const int sum : sums) more.insert(sum + core.cpus.count());
      sums.merge(more);
    }
    return *std::prev(sums.upper_bound(n));
  }

 private:
  // Every number of CPUs that a container could get from these, with how many of them it holds.
  [[nodiscard]] std::set<std::pair<int, int>> totals(const CpuSet& cpus, Smt smt) const {
    std::set<std::pair<int, int>> sums = {{0, 0}};
    for (const Core& core : machine_.cores) {
      const int free = core.cpus.count_common(cpus);
      const bool whole = free == core.cpus.count();
      std::set<std::pair<int, int>> more;
      for (const auto& [got, held] : sums) {
        if (smt == Smt::kPack || smt == Smt::kPreferFull) {
          for (int part = 1; part <= free; ++part) more.insert({got + part, held + part});
        } else if (whole) {
          more.insert({got + (smt == Smt::kFullCore ? free : 1), held + free});
        }
      }
      sums.merge(more);
    }
    return sums;
  }

  [[nodiscard]] bool pool_fits(const Request& request, const CpuSet& pool) const {
    for (const CpuSet& domain : domains(machine_, request.align)) {
      if (!memory_covers(request, domain)) continue;
      for (const auto& [got, held] : totals(pool & domain, request.smt)) {
        if (got == request.cpus && leaves_one(pool, held)) return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool leaves_one(const CpuSet& pool, int held) const {
    if (!ledger_.strict() && ledger_.reserved().intersects(machine_.online)) return true;
    const CpuSet open = machine_.online - ledger_.reserved();
    const CpuSet ordinary = open - machine_.isolated;
    const CpuSet shared = (ordinary.empty() ? open : ordinary) - ledger_.exclusive();
    const int from_shared = pool.intersects(shared) ? held : 0;
    return shared.count() > from_shared;
  }

  [[nodiscard]] Bytes left(const Node& node) const {
    const Index index = machine_.node_index(node.id);
    return node.memory - std::min(node.memory, ledger_.promised(index));
  }

  [[nodiscard]] bool memory_covers(const Request& request, const CpuSet& domain) const {
    if (request.memory_policy != MemoryPolicy::kBind) return true;
    Bytes own = 0;
    bool has_own = false;
    std::vector<Bytes> all;
    for (const Node& node : machine_.nodes) {
      if (node.memory == 0) continue;
      all.push_back(left(node));
      if (!node.cpus.intersects(domain)) continue;
      own += left(node);
      has_own = true;
    }
    if (has_own) return own >= request.memory;
    if (all.empty()) return true;
    return borrowed(domain, all) >= request.memory;
  }

  // A domain without memory borrows from the node nearest to its first one.
  [[nodiscard]] Bytes borrowed(const CpuSet& domain, const std::vector<Bytes>& all) const {
    for (const Node& node : machine_.nodes) {
      if (!node.cpus.intersects(domain)) continue;
      std::map<std::pair<int, Index>, Bytes> by_distance;
      for (std::size_t to = 0; to < machine_.nodes.size(); ++to) {
        const Node& other = machine_.nodes[to];
        if (other.memory == 0) continue;
        const bool near = node.package != kNoIndex && node.package == other.package;
        const int distance = node.distance.empty() ? (near ? 20 : 40) : node.distance[to];
        by_distance[{2 * distance + (near ? 0 : 1), static_cast<Index>(to)}] = left(other);
      }
      return by_distance.begin()->second;
    }
    Bytes total = 0;  // CPUs outside all nodes: any memory
    for (const Bytes bytes : all) total += bytes;
    return total;
  }

  const Topology& machine_;
  const Ledger& ledger_;
};

}  // namespace pinion::topology
