// What could be given away: the free CPUs, summed up by core and by domain. Built from the ledger
// for one request, in one pass over the machine; internal to the allocator.
#pragma once

#include <array>
#include <vector>

#include "topology/allocate.h"

namespace pinion::topology {

struct CoreSpace {
  int size = 0;   // online CPUs of the core
  int free = 0;   // those that may be given
  int taken = 0;  // those that are somebody else's; the core can never be whole while they are
  int units = 0;  // CPUs of a request that it could take, under the SMT policy
  int kept = 0;   // of those, how many the container had before
};

struct DomainSpace {
  int size = 0;
  int free = 0;
  int taken = 0;
  int units = 0;
  int kept = 0;
  int broken_units = 0;  // units on cores of which somebody else holds a part
  int whole_units = 0;   // units on cores that may be given whole
};

struct Space {
  Smt smt = Smt::kPreferFull;
  CpuSet pool;  // the CPUs that may be given
  std::vector<CoreSpace> cores;
  std::array<std::vector<DomainSpace>, kAligns.size()> domains;  // by Align, then index
  // Units of every core that has any (under kPack: and is nobody else's in part, under kPreferFull:
  // and may be given whole); 0: they differ.
  int step = 0;

  [[nodiscard]] const std::vector<DomainSpace>& of(Align align) const {
    return domains[static_cast<std::size_t>(align)];
  }
  [[nodiscard]] const DomainSpace& of(Align align, Index domain) const {
    return of(align)[static_cast<std::size_t>(domain)];
  }
  [[nodiscard]] DomainSpace& of(Align align, Index domain) {
    return domains[static_cast<std::size_t>(align)][static_cast<std::size_t>(domain)];
  }
  [[nodiscard]] const CoreSpace& core(Index core) const {
    return cores[static_cast<std::size_t>(core)];
  }
};

// `pool` may be given; `also_free` may not, but is nobody else's; `before` is what the container
// had (Request::preferred).
[[nodiscard]] Space survey(const Topology& topology, const CpuSet& pool, const CpuSet& also_free,
                           const CpuSet& before, Smt smt);

// Whether all of the core may be given.
[[nodiscard]] inline bool is_whole(const CoreSpace& core) {
  return core.size > 0 && core.free == core.size;
}

// The part of the space that has these cores alone; the others' CPUs count as nobody's.
[[nodiscard]] Space restricted(const Topology& topology, const Space& space, Smt smt,
                               const std::vector<bool>& cores);

// The domain of that kind that the core lies in; kNoIndex for a core outside all NUMA nodes.
[[nodiscard]] inline Index domain_of(const Core& core, Align align) {
  switch (align) {
    case Align::kL3:
      return core.l3;
    case Align::kNuma:
      return core.node;
    case Align::kSocket:
      return core.package;
    case Align::kNone:
      break;
  }
  return 0;
}

[[nodiscard]] const CpuSet& cpus_of(const Topology& topology, Align align, Index domain);

// The narrowest kind of domain, `from` or wider, of which one holds all these CPUs (not empty,
// online), and that domain.
struct Place {
  Align align = Align::kNone;
  Index domain = 0;
};
[[nodiscard]] Place place_of(const Topology& topology, const CpuSet& cpus, Align from);

// Whether the domain has cores whose units make up exactly n >= 1.
[[nodiscard]] bool fits(const Topology& topology, const Space& space, Align align, Index domain,
                        int n);

// The most of n >= 1 CPUs that can be whole cores of the domain (kPreferFull). Precondition: it has
// units >= n.
[[nodiscard]] int whole_part(const Topology& topology, const Space& space, Align align,
                             Index domain, int n);

// The first cores of `order` that make up exactly n units, passing over a core only where the rest
// could not make up n with it (cores of different sizes). Empty when none do.
[[nodiscard]] std::vector<Index> exact(const Space& space, const std::vector<Index>& order, int n);

}  // namespace pinion::topology
