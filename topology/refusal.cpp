#include "topology/refusal.h"

#include <algorithm>
#include <utility>

#include "topology/memory.h"
#include "topology/refusal_text.h"

namespace pinion::topology {
namespace {

// What is asked, and where.
struct Case {
  const Topology& topology;
  const Request& request;
  const Claim* own = nullptr;
  std::optional<Place> only;
  Align align = Align::kNuma;
};

// Whether the domain has the memory that a bound request needs.
bool has_memory(const Case& what, const MemoryLeft& left, Index domain) {
  if (what.request.memory_policy != MemoryPolicy::kBind) return true;
  const auto bytes = memory_left_in(what.topology, left, what.align, domain);
  return !bytes || *bytes >= what.request.memory;
}

bool is_open(const Case& what, Index domain) {
  return !what.only || what.only->domain == domain;
}

// One "what if": these pools, this memory (nullptr: memory plays no part), these shared CPUs of
// which one must be left (nullopt: none need be).
bool would_fit(const Case& what, const std::vector<CpuSet>& pools, const MemoryLeft* left,
               const std::optional<CpuSet>& shared) {
  for (const CpuSet& pool : pools) {
    const Space space = survey(what.topology, pool, {}, {}, what.request.smt);
    for (Index domain = 0; domain < static_cast<Index>(space.of(what.align).size()); ++domain) {
      if (!is_open(what, domain)) continue;
      if (!fits(what.topology, space, what.align, domain, what.request.cpus)) continue;
      const int most = most_units(what.topology, space, what.align, domain, shared);
      if (most < what.request.cpus) continue;
      if (left == nullptr || has_memory(what, *left, domain)) return true;
    }
  }
  return false;
}

// The pools of the request if only `taken` were taken.
std::vector<CpuSet> pools_without(const Case& what, const CpuSet& taken) {
  return pools_of(what.topology, what.topology.online - taken, what.request.use_isolated);
}

CpuSet held_by_others(const Case& what, const Ledger& ledger) {
  return what.own == nullptr ? ledger.exclusive() : ledger.exclusive() - what.own->cpus;
}

Reason reason_of(const Case& what, const Ledger& ledger, const MemoryLeft& left) {
  const CpuSet& online = what.topology.online;
  const CpuSet& reserved = ledger.reserved();
  const bool on_isolated = what.own != nullptr && what.own->cpus.intersects(what.topology.isolated);
  if (on_isolated && !what.request.use_isolated) return Reason::kIsolated;
  // If nobody held anything: what stands in the way then will always do so.
  const Ledger nobody(reserved, ledger.strict());
  const MemoryLeft all = memory_left(what.topology, nobody, nullptr);
  if (!would_fit(what, {online}, &all, std::nullopt)) return Reason::kTopology;
  if (!would_fit(what, pools_without(what, {}), &all, std::nullopt)) return Reason::kIsolated;
  if (!would_fit(what, pools_without(what, reserved), &all, std::nullopt)) {
    return Reason::kReserved;
  }
  if (!would_fit(what, pools_without(what, reserved), &all, shared_cpus(what.topology, nobody))) {
    return Reason::kLastShared;
  }
  // Now.
  const CpuSet held = held_by_others(what, ledger);
  const std::vector<CpuSet> pools = pools_without(what, reserved | held);
  if (would_fit(what, pools, &left, std::nullopt)) {
    // It would fit somewhere, but for a container that grows not beside the CPUs it has.
    const bool elsewhere = would_fit(what, pools, &left, shared_cpus(what.topology, ledger));
    return elsewhere ? Reason::kCpus : Reason::kLastShared;
  }
  if (would_fit(what, pools, nullptr, std::nullopt)) return Reason::kMemory;
  if (would_fit(what, {online - reserved - held}, &left, std::nullopt)) return Reason::kIsolated;
  return Reason::kCpus;
}

// Fills in the most CPUs that one domain could give, and which one.
void find_largest(const Case& what, const std::vector<CpuSet>& pools,
                  const std::optional<CpuSet>& shared, Refusal& refusal) {
  for (const CpuSet& pool : pools) {
    const Space space = survey(what.topology, pool, {}, {}, what.request.smt);
    for (Index domain = 0; domain < static_cast<Index>(space.of(what.align).size()); ++domain) {
      const int most = most_units(what.topology, space, what.align, domain, shared);
      if (most <= refusal.largest) continue;
      refusal.largest = most;
      refusal.where = what.align == Align::kNone ? kNoIndex : domain;
    }
  }
}

// The same for one that grows: those that it has and the most that could be beside them.
int find_largest_beside(const Case& what, const Ledger& ledger, const std::optional<CpuSet>& shared,
                        Refusal& refusal) {
  const CpuSet& isolated = what.topology.isolated;
  const CpuSet free = what.topology.online - ledger.reserved() - ledger.exclusive();
  CpuSet pool = free - isolated;
  if (what.own->cpus.intersects(isolated))
    pool = what.request.use_isolated ? free & isolated : CpuSet();
  const Space space = survey(what.topology, pool, {}, {}, what.request.smt);
  const int has = units_of(what.topology, what.own->cpus, what.request.smt);
  refusal.largest = has + most_units(what.topology, space, what.align, what.only->domain, shared);
  refusal.where = what.align == Align::kNone ? kNoIndex : what.only->domain;
  return has;
}

// The domain with most unpromised memory among those whose CPUs would do.
void find_largest_memory(const Case& what, const std::vector<CpuSet>& pools, const MemoryLeft& left,
                         Refusal& refusal) {
  refusal.need_memory = what.request.memory;
  refusal.where = kNoIndex;
  for (const CpuSet& pool : pools) {
    const Space space = survey(what.topology, pool, {}, {}, what.request.smt);
    for (Index domain = 0; domain < static_cast<Index>(space.of(what.align).size()); ++domain) {
      if (!is_open(what, domain)) continue;
      if (!fits(what.topology, space, what.align, domain, what.request.cpus)) continue;
      const Bytes bytes = memory_left_in(what.topology, left, what.align, domain).value_or(0);
      if (refusal.where != kNoIndex && bytes <= refusal.largest_memory) continue;
      refusal.largest_memory = bytes;
      refusal.where = domain;
    }
  }
  if (what.align == Align::kNone) refusal.where = kNoIndex;
}

std::optional<Align> wider_fit(const Case& what, const MemoryLeft& left,
                               const std::vector<CpuSet>& pools,
                               const std::optional<CpuSet>& shared) {
  for (const Align align : kAligns) {
    if (align <= what.align) continue;
    Case wider = what;
    wider.align = align;
    if (would_fit(wider, pools, &left, shared)) return align;
  }
  return std::nullopt;
}

bool split_fit(const Case& what, const MemoryLeft& left, const std::vector<CpuSet>& pools,
               const std::optional<CpuSet>& shared) {
  if (takes_any_cpus(what.request.smt)) return false;
  Request split = what.request;
  split.smt = Smt::kPreferFull;
  const Case other{.topology = what.topology,
                   .request = split,
                   .own = what.own,
                   .only = what.only,
                   .align = what.align};
  return would_fit(other, pools, &left, shared);
}

}  // namespace

std::vector<CpuSet> pools_of(const Topology& topology, const CpuSet& free, bool use_isolated) {
  std::vector<CpuSet> pools;
  if (use_isolated && free.intersects(topology.isolated)) {
    pools.push_back(free & topology.isolated);
  }
  pools.push_back(free - topology.isolated);
  return pools;
}

std::optional<CpuSet> shared_cpus(const Topology& topology, const Ledger& ledger) {
  if (!ledger.strict() && ledger.reserved().intersects(topology.online)) return std::nullopt;
  const CpuSet& isolated = topology.isolated;
  const CpuSet open = topology.online - ledger.reserved();
  const CpuSet free = open - ledger.exclusive();
  return open.is_subset_of(isolated) ? free : free - isolated;
}

int most_units(const Topology& topology, const Space& space, Align align, Index domain,
               const std::optional<CpuSet>& shared) {
  const DomainSpace& room = space.of(align, domain);
  if (!shared || room.units == 0) return room.units;
  if (shared->empty()) return 0;
  // All its units together: do they take every shared CPU?
  int greatest = 0;
  int smallest = room.units;
  CpuSet left = *shared;
  for (std::size_t i = 0; i < space.cores.size(); ++i) {
    const int units = space.cores[i].units;
    if (units == 0 || domain_of(topology.cores[i], align) != domain) continue;
    left -= topology.cores[i].cpus & space.pool;
    greatest = std::max(greatest, units);
    smallest = std::min(smallest, units);
  }
  if (!left.empty()) return room.units;
  return room.units - (takes_any_cpus(space.smt) ? 1 : smallest);
}

int units_of(const Topology& topology, const CpuSet& held, Smt smt) {
  if (smt != Smt::kOnePerCore) return held.count();
  int cores = 0;
  for (CpuSet rest = held; !rest.empty(); ++cores) {
    rest -= topology.cores[static_cast<std::size_t>(topology.find(rest.first())->core)].cpus;
  }
  return cores;
}

bool is_sound(const Topology& topology, const Request& request) {
  if (request.cpus < 1 || request.cpus > CpuSet::kCapacity) return false;
  if (request.near_device.empty()) return true;
  return std::any_of(topology.devices.begin(), topology.devices.end(), [&](const Device& device) {
    return device.name == request.near_device || device.pci == request.near_device;
  });
}

Refusal refuse(const Request& request, Reason reason, std::string text) {
  Refusal refusal;
  refusal.reason = reason;
  refusal.need = request.cpus;
  refusal.align = request.align;
  refusal.text = std::move(text);
  return refusal;
}

Refusal refuse(const Topology& topology, const Ledger& ledger, const Request& request,
               const Claim* own, std::optional<Place> only) {
  Refusal refusal;
  refusal.need = request.cpus;
  refusal.align = only ? only->align : request.align;
  if (request.strength == Strength::kPreferred) {
    refusal.align = Align::kNone;
    if (only) only = Place{};
  }
  Case what{
      .topology = topology, .request = request, .own = own, .only = only, .align = refusal.align};
  const std::vector<CpuSet> pools =
      pools_without(what, ledger.reserved() | held_by_others(what, ledger));
  const std::optional<CpuSet> shared = shared_cpus(topology, ledger);
  if (!is_sound(topology, request)) {
    refusal.reason = Reason::kTopology;
    refusal.text = text_of_unsound(topology, request);
    return refusal;
  }
  const MemoryLeft left = memory_left(topology, ledger, own);
  refusal.reason = reason_of(what, ledger, left);
  std::optional<InPlace> in_place;
  if (what.only) {
    in_place = {.domain = what.only->domain,
                .has = find_largest_beside(what, ledger, shared, refusal)};
  } else {
    find_largest(what, pools, shared, refusal);
  }
  if (refusal.reason == Reason::kMemory) find_largest_memory(what, pools, left, refusal);
  // From here on for a new container, which may be anywhere.
  what.only.reset();
  std::optional<CpuSet> then_shared = shared;
  if (in_place) {
    if (then_shared) *then_shared |= own->cpus - topology.isolated;
    refusal.fits_anew = would_fit(what, pools, &left, then_shared);
  }
  if (!refusal.fits_anew) {
    refusal.fits_with = wider_fit(what, left, pools, then_shared);
    refusal.fits_split = split_fit(what, left, pools, then_shared);
  }
  refusal.text = text_of(topology, ledger, request, refusal, in_place);
  return refusal;
}

}  // namespace pinion::topology
