// In-place resize: a container keeps running while its set of CPUs grows or shrinks.
//
// Growing keeps every CPU and stays in the narrowest domain, of the asked alignment or wider, that
// holds what it has; wider ones are tried only under Strength::kPreferred. It takes free siblings
// on its own cores first (kPack), then cores of its own L3 domains, then the rest in the order of
// allocate.cpp, beside what it has; under kPreferFull whole free cores before its own siblings.
// Shrinking is an allocation from its own CPUs alone: the best fit among its own L3 domains stays,
// so that what is given back is in as large pieces as possible.
#include <algorithm>

#include "topology/decide.h"
#include "topology/refusal.h"

namespace pinion::topology {
namespace {

CpuSet free_cpus(const Criteria& criteria) {
  return criteria.topology.online - criteria.ledger.reserved() - criteria.ledger.exclusive();
}

// The pages of a running container are on the nodes it was bound to: taking one away would move
// them all.
std::optional<Decision> decide_in_place(const Criteria& criteria, Place place, const CpuSet& held) {
  auto decision = decide(criteria, place, held);
  if (decision && !decision->claim.mems.empty()) decision->claim.mems |= criteria.own->mems;
  return decision;
}

// Empty when the machine has no cores that make up the number (kFullCore).
CpuSet shrunk(const Criteria& criteria) {
  const CpuSet& held = criteria.own->cpus;
  const Request& request = criteria.request;
  const Order by_rank = [](const Criteria& with, const Space& from, int units) {
    return taking_order(with, from, usable_cores(with.topology, from, Align::kNone, 0), units);
  };
  // A claim taken over from somebody else may hold broken cores; then any of them may go.
  for (const Smt smt : {request.smt, Smt::kPack}) {
    const Space space =
        survey(criteria.topology, held, free_cpus(criteria), request.preferred, smt);
    CpuSet kept = choose_cpus(criteria, space, {}, request.cpus, by_rank);
    if (!kept.empty()) return kept;
    const Space bare = survey(criteria.topology, criteria.topology.online, {}, {}, request.smt);
    if (!fits(criteria.topology, bare, Align::kNone, 0, request.cpus)) break;
  }
  return {};
}

// The order in which growing takes the cores of the domain.
std::vector<Index> growing_order(const Criteria& criteria, const Space& space, Place place,
                                 int more) {
  const Topology& topology = criteria.topology;
  std::vector<Index> own_cores;
  std::vector<Index> own_l3s;
  std::vector<Index> others;
  for (const Index index : usable_cores(topology, space, place.align, place.domain)) {
    const Core& core = topology.cores[static_cast<std::size_t>(index)];
    if (core.cpus.intersects(criteria.own->cpus)) {
      own_cores.push_back(index);
    } else if (cpus_of(topology, Align::kL3, core.l3).intersects(criteria.own->cpus)) {
      own_l3s.push_back(index);
    } else {
      others.push_back(index);
    }
  }
  std::vector<Index> order = own_cores;
  for (std::vector<Index>* next : {&own_l3s, &others}) {
    if (next->empty()) continue;
    int missing = more;
    for (const Index index : order) missing -= space.core(index).units;
    const std::vector<Index> part = taking_order(criteria, space, *next, std::max(missing, 0));
    order.insert(order.end(), part.begin(), part.end());
  }
  return order;
}

std::optional<Decision> grown(const Criteria& criteria, Place place, int more) {
  const Topology& topology = criteria.topology;
  const CpuSet& held = criteria.own->cpus;
  const CpuSet free = free_cpus(criteria);
  const bool isolated = held.intersects(topology.isolated);
  if (isolated && !criteria.request.use_isolated) return std::nullopt;
  const CpuSet pool = isolated ? free & topology.isolated : free - topology.isolated;
  const Space space =
      survey(topology, pool, held, criteria.request.preferred, criteria.request.smt);
  const Order order = [place](const Criteria& with, const Space& from, int units) {
    return growing_order(with, from, place, units);
  };
  const CpuSet added = choose_cpus(criteria, space, place, more, order);
  if (added.empty()) return std::nullopt;
  return decide_in_place(criteria, place, held | added);
}

void stay_beside(Criteria& criteria) {
  for (Index node = 0; node < static_cast<Index>(criteria.topology.nodes.size()); ++node) {
    const CpuSet& cpus = criteria.topology.nodes[static_cast<std::size_t>(node)].cpus;
    if (cpus.intersects(criteria.own->cpus)) criteria.beside.push_back(node);
  }
}

}  // namespace

Outcome resize(const Topology& topology, const Ledger& ledger, const Request& request) {
  const Claim* own = ledger.find(request.id);
  if (own == nullptr) return allocate(topology, ledger, request);
  if (!is_sound(topology, request)) return refuse(topology, ledger, request, own, {});
  Criteria criteria = criteria_of(topology, ledger, request, own);
  const Place narrowest = place_of(topology, own->cpus, request.align);
  const int more = request.cpus - units_of(topology, own->cpus, request.smt);
  const CpuSet kept = more < 0 ? shrunk(criteria) : own->cpus;
  if (kept.empty()) return refuse(topology, ledger, request, own, narrowest);
  stay_beside(criteria);
  Place place = narrowest;
  for (const Align align : kAligns) {
    const bool climbs = align > narrowest.align && request.strength == Strength::kPreferred;
    if (align != narrowest.align && !climbs) continue;
    place = place_of(topology, own->cpus, align);
    auto decision =
        more > 0 ? grown(criteria, place, more) : decide_in_place(criteria, place, kept);
    if (!decision) continue;
    decision->why.domains_fitting = 1;
    return std::move(*decision);
  }
  return refuse(topology, ledger, request, own, place);
}

}  // namespace pinion::topology
