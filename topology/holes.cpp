#include "topology/holes.h"

#include <algorithm>
#include <limits>

#include "topology/memory.h"
#include "topology/refusal.h"

namespace pinion::topology {
namespace {

constexpr std::array kSmts = {Smt::kFullCore, Smt::kOnePerCore, Smt::kPack};

bool borrows_memory(const Topology& topology) {
  const bool outside = std::any_of(topology.cores.begin(), topology.cores.end(),
                                   [](const Core& core) { return core.node == kNoIndex; });
  return outside || std::any_of(topology.nodes.begin(), topology.nodes.end(), [](const Node& node) {
           return node.memory == 0 && !node.cpus.empty();
         });
}

// How the request uses a hole.
bool needs_memory(const Request& request) {
  return request.memory_policy == MemoryPolicy::kBind && request.memory > 0;
}

bool has_room(const Hole& hole, const Request& request) {
  return hole.of(request.smt) >= request.cpus &&
         (!needs_memory(request) || hole.memory >= request.memory);
}

// The CPUs that n units may cost at most.
int cost(const Holes& holes, const Request& request) {
  return request.smt == Smt::kOnePerCore ? request.cpus * holes.threads : request.cpus;
}

bool whole_cores(const Holes& holes, const Request& request) {
  return request.smt != Smt::kFullCore || holes.step == 0 || request.cpus % holes.step == 0;
}

bool in_doubt(const Holes& holes, const Request& request) {
  if (!request.near_device.empty()) return true;
  if (request.use_isolated && holes.isolated) return true;
  if (request.smt == Smt::kFullCore && holes.step == 0) return true;
  if (holes.odd && needs_memory(request)) return true;
  return holes.guarded && holes.free <= cost(holes, request);
}

// What the taken containers used of the hole, and of the memory that its neighbours share.
void use(std::vector<Hole>& holes, std::size_t at, const Request& request, int count) {
  Hole& hole = holes[at];
  const int units = hole.of(request.smt) - count * request.cpus;
  hole.units[slot_of(request.smt)] = static_cast<std::uint16_t>(units);
  if (!needs_memory(request)) return;
  const Bytes used = request.memory * static_cast<Bytes>(count);
  if (hole.node == kNoIndex) {
    hole.memory -= used;
    return;
  }
  const Index node = hole.node;
  for (Hole& other : holes) {
    if (other.node == node) other.memory -= used;
  }
}

int copies_in(const Hole& hole, const Request& request) {
  const int copies = hole.of(request.smt) / request.cpus;
  if (!needs_memory(request)) return copies;
  return static_cast<int>(
      std::min<Bytes>(static_cast<Bytes>(copies), hole.memory / request.memory));
}

int take_at(Holes& holes, Align align, const Request& request, int wanted) {
  std::vector<Hole>& all = holes.domains[static_cast<std::size_t>(align)];
  int taken = 0;
  while (taken < wanted) {
    std::optional<std::size_t> tightest;
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (!has_room(all[at], request)) continue;
      if (!tightest || all[at].of(request.smt) < all[*tightest].of(request.smt)) tightest = at;
    }
    if (!tightest) break;
    const int here = std::min(wanted - taken, copies_in(all[*tightest], request));
    use(all, *tightest, request, here);
    taken += here;
  }
  return taken;
}

}  // namespace

int Holes::largest(Align align, Smt smt) const {
  int most = 0;
  for (const Hole& hole : of(align)) most = std::max(most, hole.of(smt));
  return most;
}

Holes holes_of(const Topology& topology, const Ledger& ledger) {
  Holes holes;
  const CpuSet pool = topology.online - ledger.reserved() - ledger.exclusive() - topology.isolated;
  const MemoryLeft left = memory_left(topology, ledger, nullptr);
  holes.free = pool.count();
  holes.guarded = shared_cpus(topology, ledger).has_value();
  holes.isolated = !topology.isolated.empty();
  holes.odd = borrows_memory(topology);
  for (const Core& core : topology.cores) {
    holes.threads = std::max(holes.threads, core.cpus.count());
  }
  for (const Smt smt : kSmts) {
    const Space space = survey(topology, pool, {}, {}, smt);
    if (smt == Smt::kFullCore) holes.step = space.step;
    for (const Align align : kAligns) {
      std::vector<Hole>& domains = holes.domains[static_cast<std::size_t>(align)];
      domains.resize(space.of(align).size());
      for (std::size_t at = 0; at < domains.size(); ++at) {
        const int units = space.of(align)[at].units;
        domains[at].units[slot_of(smt)] = static_cast<std::uint16_t>(units);
      }
    }
  }
  for (const Align align : kAligns) {
    std::vector<Hole>& domains = holes.domains[static_cast<std::size_t>(align)];
    for (std::size_t at = 0; at < domains.size(); ++at) {
      domains[at].memory = memory_left_in(topology, left, align, static_cast<Index>(at))
                               .value_or(std::numeric_limits<Bytes>::max());
      if (align == Align::kL3) domains[at].node = topology.l3s[at].node;
    }
  }
  return holes;
}

std::optional<bool> would_grant(const Holes& holes, const Request& request) {
  if (request.cpus < 1 || request.cpus > CpuSet::kCapacity) return false;
  if (!whole_cores(holes, request))
    return in_doubt(holes, request) ? std::nullopt : std::optional(false);
  const Align widest = request.strength == Strength::kRequired ? request.align : Align::kNone;
  for (const Align align : kAligns) {
    if (align < request.align || align > widest) continue;
    for (const Hole& hole : holes.of(align)) {
      if (!has_room(hole, request)) continue;
      return in_doubt(holes, request) ? std::nullopt : std::optional(true);
    }
  }
  const bool elsewhere =
      (request.use_isolated && holes.isolated) || (holes.odd && needs_memory(request));
  return elsewhere ? std::nullopt : std::optional(false);
}

int rooms(const Holes& holes, const Request& request) {
  const std::vector<Hole>& all = holes.of(request.align);
  return static_cast<int>(std::count_if(all.begin(), all.end(),
                                        [&](const Hole& hole) { return has_room(hole, request); }));
}

int reserve_in(Holes& holes, const Request& request, int wanted) {
  if (request.cpus < 1 || request.cpus > CpuSet::kCapacity) return 0;
  if (!whole_cores(holes, request)) return 0;
  const Align widest = request.strength == Strength::kRequired ? request.align : Align::kNone;
  if (holes.guarded) wanted = std::min(wanted, (holes.free - 1) / request.cpus);
  int taken = 0;
  for (const Align align : kAligns) {
    if (align < request.align || align > widest) continue;
    taken = std::max(taken, take_at(holes, align, request, wanted));
  }
  return taken;
}

}  // namespace pinion::topology
