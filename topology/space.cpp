#include "topology/space.h"

#include <algorithm>
#include <bitset>

namespace pinion::topology {
namespace {

int units_of(const CoreSpace& core, Smt smt) {
  const bool whole = core.free == core.size;
  switch (smt) {
    case Smt::kFullCore:
      return whole ? core.size : 0;
    case Smt::kOnePerCore:
      return whole ? 1 : 0;
    case Smt::kPack:
    case Smt::kPreferFull:
      break;
  }
  return core.free;
}

// Without branches: free and held CPUs alternate in no order that a processor could guess.
void count_cpus(const Topology& topology, const CpuSet& also_free, const CpuSet& before,
                Space& space) {
  for (const Pu& pu : topology.pus) {
    CoreSpace& core = space.cores[static_cast<std::size_t>(pu.core)];
    const int free = space.pool.contains(pu.cpu) ? 1 : 0;
    const int others = also_free.contains(pu.cpu) ? 0 : 1 - free;
    core.size += 1;
    core.free += free;
    core.taken += others;
  }
  for (const CpuId cpu : before) {
    if (!space.pool.contains(cpu)) continue;
    const Pu* pu = topology.find(cpu);
    if (pu != nullptr) ++space.cores[static_cast<std::size_t>(pu->core)].kept;
  }
}

DomainSpace as_domain(const CoreSpace& core) {
  return {.size = core.size,
          .free = core.free,
          .taken = core.taken,
          .units = core.units,
          .kept = core.kept,
          .broken_units = core.taken > 0 ? core.units : 0,
          .whole_units = is_whole(core) ? core.units : 0};
}

void add(const DomainSpace& part, Index domain, std::vector<DomainSpace>& domains) {
  if (domain == kNoIndex) return;
  DomainSpace& sum = domains[static_cast<std::size_t>(domain)];
  sum.size += part.size;
  sum.free += part.free;
  sum.taken += part.taken;
  sum.units += part.units;
  sum.kept += part.kept;
  sum.broken_units += part.broken_units;
  sum.whole_units += part.whole_units;
}

// CPUs that may not be given any more, and stay nobody's.
void take_away(const DomainSpace& part, DomainSpace& sum) {
  sum.free -= part.free;
  sum.units -= part.units;
  sum.kept -= part.kept;
  sum.broken_units -= part.broken_units;
  sum.whole_units -= part.whole_units;
}

// Cores add up to L3 domains, each of which lies in one node and in one package.
void add_up(const Topology& topology, Space& space) {
  auto& [l3s, nodes, packages, machine] = space.domains;
  l3s.resize(topology.l3s.size());
  nodes.resize(topology.nodes.size());
  packages.resize(topology.packages.size());
  machine.resize(1);
  for (std::size_t i = 0; i < space.cores.size(); ++i) {
    add(as_domain(space.cores[i]), topology.cores[i].l3, l3s);
  }
  for (std::size_t i = 0; i < l3s.size(); ++i) {
    add(l3s[i], topology.l3s[i].node, nodes);
    add(l3s[i], topology.l3s[i].package, packages);
  }
  for (const DomainSpace& package : packages) add(package, 0, machine);
}

using Sums = std::bitset<CpuSet::kCapacity + 1>;

// Whether its units are a step that others are to be compared with.
bool is_step(const CoreSpace& core, Smt smt) {
  if (smt == Smt::kPack) return core.taken == 0;
  return smt != Smt::kPreferFull || is_whole(core);
}

// The totals that whole cores of the domain make up.
Sums sums_of(const Topology& topology, const Space& space, Align align, Index domain) {
  Sums sums(1);
  for (std::size_t i = 0; i < space.cores.size(); ++i) {
    const CoreSpace& core = space.cores[i];
    if (core.units == 0 || !is_whole(core)) continue;
    if (domain_of(topology.cores[i], align) != domain) continue;
    sums |= sums << static_cast<std::size_t>(core.units);
  }
  return sums;
}

}  // namespace

Space survey(const Topology& topology, const CpuSet& pool, const CpuSet& also_free,
             const CpuSet& before, Smt smt) {
  Space space;
  space.smt = smt;
  space.pool = pool;
  space.cores.resize(topology.cores.size());
  count_cpus(topology, also_free, before, space);

  int smallest = CpuSet::kCapacity;
  int greatest = 0;
  for (CoreSpace& core : space.cores) {
    core.units = units_of(core, smt);
    core.kept = std::min(core.kept, core.units);
    if (core.units > 0 && is_step(core, smt)) {
      smallest = std::min(smallest, core.units);
      greatest = std::max(greatest, core.units);
    }
  }
  add_up(topology, space);
  if (smallest == greatest) space.step = greatest;
  return space;
}

Space restricted(const Topology& topology, const Space& space, Smt smt,
                 const std::vector<bool>& cores) {
  Space part = space;
  part.smt = smt;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    CoreSpace& core = part.cores[i];
    if (cores[i] || core.free == 0) continue;
    const DomainSpace gone = as_domain(core);
    for (const Align align : kAligns) {
      const Index domain = domain_of(topology.cores[i], align);
      if (domain != kNoIndex) take_away(gone, part.of(align, domain));
    }
    core.free = core.units = core.kept = 0;
  }
  return part;
}

const CpuSet& cpus_of(const Topology& topology, Align align, Index domain) {
  const auto at = static_cast<std::size_t>(domain);
  switch (align) {
    case Align::kL3:
      return topology.l3s[at].cpus;
    case Align::kNuma:
      return topology.nodes[at].cpus;
    case Align::kSocket:
      return topology.packages[at].cpus;
    case Align::kNone:
      break;
  }
  return topology.online;
}

Place place_of(const Topology& topology, const CpuSet& cpus, Align from) {
  const Core& first = topology.cores[static_cast<std::size_t>(topology.find(cpus.first())->core)];
  for (const Align align : kAligns) {
    const Index domain = domain_of(first, align);
    if (align < from || domain == kNoIndex) continue;
    if (cpus.is_subset_of(cpus_of(topology, align, domain))) return {align, domain};
  }
  return {};
}

bool fits(const Topology& topology, const Space& space, Align align, Index domain, int n) {
  if (space.of(align, domain).units < n) return false;
  if (space.smt != Smt::kFullCore) return true;
  if (space.step != 0) return n % space.step == 0;
  return sums_of(topology, space, align, domain)[static_cast<std::size_t>(n)];
}

int whole_part(const Topology& topology, const Space& space, Align align, Index domain, int n) {
  const int most = std::min(n, space.of(align, domain).whole_units);
  if (most == 0) return 0;
  if (space.step != 0) return most - most % space.step;
  const Sums sums = sums_of(topology, space, align, domain);
  int whole = most;
  while (!sums[static_cast<std::size_t>(whole)]) --whole;
  return whole;
}

namespace {

// Cores of different sizes: sums_after[i] are the totals that the cores from i on can make up.
std::vector<Index> exact_mixed(const Space& space, const std::vector<Index>& order, int n) {
  std::vector<Sums> sums_after(order.size() + 1);
  sums_after.back().set(0);
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto units = static_cast<std::size_t>(space.core(order[i]).units);
    sums_after[i] = sums_after[i + 1] | (sums_after[i + 1] << units);
  }
  std::vector<Index> chosen;
  for (std::size_t i = 0; i < order.size() && n > 0; ++i) {
    const int left = n - space.core(order[i]).units;
    if (left < 0 || !sums_after[i + 1][static_cast<std::size_t>(left)]) continue;
    chosen.push_back(order[i]);
    n = left;
  }
  if (n > 0) chosen.clear();
  return chosen;
}

}  // namespace

std::vector<Index> exact(const Space& space, const std::vector<Index>& order, int n) {
  if (space.smt == Smt::kFullCore && space.step == 0) return exact_mixed(space, order, n);
  std::vector<Index> chosen;
  for (std::size_t i = 0; i < order.size() && n > 0; ++i) {
    chosen.push_back(order[i]);
    n -= space.core(order[i]).units;
  }
  // The last core may be given in part.
  if (n > 0 || (n < 0 && !takes_any_cpus(space.smt))) chosen.clear();
  return chosen;
}

}  // namespace pinion::topology
