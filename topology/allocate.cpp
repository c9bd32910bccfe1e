// Which cores a container gets, in prose.
//
// 1. What may be given. Online CPUs that nobody holds and that are not reserved; isolated ones only
//    to a request that asks for them, which is then tried on isolated CPUs alone first, on ordinary
//    ones alone second. Under kFullCore and kOnePerCore a core counts only when all of it is free.
// 2. Where it fits. A domain of the asked alignment whose cores can make up exactly what is asked
//    and, for a bound memory limit, whose NUMA nodes have that much unpromised. Strength kPreferred
//    asks for each wider alignment in turn when no domain fits: l3, numa, socket, none.
// 3. What it had. If the CPUs it had before are enough by themselves, it gets them again; if they
//    were planned for it, also in a wider domain of those that its strength allows.
// 4. Which domain is best. The first difference in this list decides:
//      near the device that it names, else near those that it has;
//      near the CPUs it already has;
//      enough unpromised memory (kPreferred; in domains of several nodes also the single node);
//      fewest CPUs on cores that it would not have whole (kPreferFull);
//      memory-bound: fewest memory-bound containers on its memory controllers;
//      others: most members of its task group in it;
//      least distance to the members of its task group elsewhere;
//      most of the CPUs that it had before;
//      no whole core split (kPack, kPreferFull);
//      best fit: fewest CPUs left over in the domain;
//      no untouched L3 domain broken up;
//      the lowest index.
// 5. Which cores in it. The same list decides on the way down through packages, NUMA nodes and L3
//    domains (pick.h), so that it lies in as few of them as it can; then cores it had before, under
//    kPack the cores that others hold a part of, then the lowest. Under kPreferFull this is done
//    for whole free cores first, then for the rest on cores that others hold a part of, and on a
//    fresh one where there is none.
// 6. What must remain. One CPU for everybody else (refusal.h).
//
// rank.h has the list of (4) as a tuple. Nothing looks at the order of claims or at pointers, and
// the last member of the tuple is an index: the same arguments give the same answer.
#include "topology/allocate.h"

#include <algorithm>
#include <utility>

#include "topology/decide.h"
#include "topology/refusal.h"

namespace pinion::topology {
namespace {

// Under kOnePerCore a container held the whole cores that it ran on.
CpuSet held_before(const Topology& topology, const Request& request) {
  if (request.smt != Smt::kOnePerCore) return request.preferred;
  CpuSet cores;
  for (const CpuId cpu : request.preferred) {
    const Pu* pu = topology.find(cpu);
    if (pu != nullptr) cores |= topology.cores[static_cast<std::size_t>(pu->core)].cpus;
  }
  return cores;
}

// What it had, of each pool that has enough of that.
std::vector<Space> spaces_before(const Topology& topology, const std::vector<CpuSet>& pools,
                                 const Request& request) {
  std::vector<Space> spaces;
  spaces.reserve(2 * pools.size());
  if (request.preferred.empty()) return spaces;
  const CpuSet before = held_before(topology, request);
  for (const CpuSet& pool : pools) {
    const CpuSet had = pool & before;
    if (had.count() < request.cpus) continue;
    spaces.push_back(survey(topology, had, pool - had, request.preferred, request.smt));
  }
  return spaces;
}

void add_all(const Topology& topology, const std::vector<CpuSet>& pools, const Request& request,
             std::vector<Space>& spaces) {
  for (const CpuSet& pool : pools) {
    spaces.push_back(survey(topology, pool, {}, request.preferred, request.smt));
  }
}

struct Choice {
  Rank best;
  int fitting = 0;  // domains that could have taken it
};

Choice choose(const Criteria& criteria, const Space& space, Align align) {
  const Request& request = criteria.request;
  const bool bound = request.memory_policy == MemoryPolicy::kBind;
  Choice choice;
  const auto domains = static_cast<Index>(space.of(align).size());
  for (Index domain = 0; domain < domains; ++domain) {
    if (!fits(criteria.topology, space, align, domain, request.cpus)) continue;
    const Rank it = rank(criteria, space, align, domain, request.cpus);
    if (bound && it.short_of_memory) continue;
    if (++choice.fitting == 1 || it < choice.best) choice.best = it;
  }
  return choice;
}

std::optional<Decision> attempt(const Criteria& criteria, const Space& space, Align align) {
  if (space.of(Align::kNone, 0).units < criteria.request.cpus) return std::nullopt;
  const Choice choice = choose(criteria, space, align);
  if (choice.fitting == 0) return std::nullopt;
  const Place place{.align = align, .domain = choice.best.id};
  const int n = criteria.request.cpus;
  const Order order = [place](const Criteria& with, const Space& from, int units) {
    auto cores = usable_cores(with.topology, from, place.align, place.domain);
    return taking_order(with, from, std::move(cores), units);
  };
  auto decision = decide(criteria, place, choose_cpus(criteria, space, place, n, order));
  if (decision) decision->why.domains_fitting = choice.fitting;
  return decision;
}

// The spaces in order, for each alignment that the strength allows.
std::optional<Decision> climb(const Criteria& criteria, const std::vector<Space>& spaces) {
  const Request& request = criteria.request;
  const Align widest = request.strength == Strength::kRequired ? request.align : Align::kNone;
  for (const Align align : kAligns) {
    if (align < request.align || align > widest) continue;
    for (const Space& space : spaces) {
      if (auto decision = attempt(criteria, space, align)) return decision;
    }
  }
  return std::nullopt;
}

}  // namespace

MemoryPolicy usual_memory_policy(const Request& request) {
  if (request.align > Align::kNuma) return MemoryPolicy::kAny;
  const bool insists = request.strength == Strength::kRequired || !request.job.empty();
  return insists ? MemoryPolicy::kBind : MemoryPolicy::kPreferred;
}

Outcome allocate(const Topology& topology, const Ledger& ledger, const Request& request) {
  if (!is_sound(topology, request)) return refuse(topology, ledger, request, nullptr, {});
  const Criteria criteria = criteria_of(topology, ledger, request, nullptr);
  const CpuSet free = topology.online - ledger.reserved() - ledger.exclusive();
  const std::vector<CpuSet> pools = pools_of(topology, free, request.use_isolated);
  std::vector<Space> spaces = spaces_before(topology, pools, request);
  if (request.planned) {
    if (auto decision = climb(criteria, spaces)) return std::move(*decision);
    spaces.clear();
  }
  add_all(topology, pools, request, spaces);
  if (auto decision = climb(criteria, spaces)) return std::move(*decision);
  return refuse(topology, ledger, request, nullptr, {});
}

Plan plan(const Topology& topology, Ledger ledger, const std::vector<Request>& requests,
          const std::function<std::string(const Request&)>& forbids) {
  Plan result{.outcomes = {}, .ledger = std::move(ledger)};
  result.outcomes.reserve(requests.size());
  for (const Request& request : requests) {
    const std::string text = forbids ? forbids(request) : std::string();
    result.outcomes.push_back(text.empty() ? resize(topology, result.ledger, request)
                                           : refuse(request, Reason::kAnnotation, text));
    if (const auto* decision = std::get_if<Decision>(&result.outcomes.back())) {
      result.ledger.commit(decision->claim);
    }
  }
  return result;
}

int largest(const Topology& topology, const Ledger& ledger, Align align, Smt smt) {
  const CpuSet free = topology.online - ledger.reserved() - ledger.exclusive();
  const Space space = survey(topology, free - topology.isolated, {}, {}, smt);
  const std::optional<CpuSet> shared = shared_cpus(topology, ledger);
  int most = 0;
  for (Index domain = 0; domain < static_cast<Index>(space.of(align).size()); ++domain) {
    most = std::max(most, most_units(topology, space, align, domain, shared));
  }
  return most;
}

}  // namespace pinion::topology
