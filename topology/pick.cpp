#include "topology/pick.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pinion::topology {
namespace {

struct Group {
  Index domain = kNoIndex;
  int units = 0;
  std::vector<Index> cores;
};

// From the widest kind of domain to the narrowest.
constexpr std::array kWayDown = {Align::kSocket, Align::kNuma, Align::kL3};

class TakingOrder {
 public:
  TakingOrder(const Criteria& criteria, const Space& space) : criteria_(criteria), space_(space) {}

  void add(std::vector<Index> cores, int n, std::size_t level = 0) {
    if (cores.empty()) return;
    if (level == kWayDown.size()) {
      add_cores(std::move(cores), n);
      return;
    }
    if (in_one_domain(cores, kWayDown[level])) {
      add(std::move(cores), n, level + 1);
      return;
    }
    std::vector<Group> groups = group(cores, kWayDown[level]);
    while (!groups.empty() && (n > 0 || keeps_going())) {
      const auto next = choose(groups, kWayDown[level], n);
      add(std::move(next->cores), std::min(n, next->units), level + 1);
      n -= next->units;
      groups.erase(next);
    }
  }

  std::vector<Index> result;

 private:
  // With cores of different sizes the first ones may not make up the exact number.
  [[nodiscard]] bool keeps_going() const {
    return space_.smt == Smt::kFullCore && space_.step == 0;
  }

  [[nodiscard]] Index domain(Index core, Align align) const {
    return domain_of(criteria_.topology.cores[static_cast<std::size_t>(core)], align);
  }

  [[nodiscard]] bool in_one_domain(const std::vector<Index>& cores, Align align) const {
    return std::all_of(cores.begin(), cores.end(), [&](Index core) {
      return domain(core, align) == domain(cores.front(), align);
    });
  }

  [[nodiscard]] std::vector<Group> group(const std::vector<Index>& cores, Align align) const {
    std::vector<Group> groups;
    for (const Index core : cores) {
      const Index here = domain(core, align);
      auto found = std::find_if(groups.begin(), groups.end(),
                                [&](const Group& g) { return g.domain == here; });
      if (found == groups.end()) {
        found = groups.insert(found, Group{.domain = here, .units = 0, .cores = {}});
        found->cores.reserve(cores.size());
      }
      found->units += space_.core(core).units;
      found->cores.push_back(core);
    }
    return groups;
  }

  // The best of those that hold n, else the one that holds most.
  std::vector<Group>::iterator choose(std::vector<Group>& groups, Align align, int n) {
    if (groups.size() == 1) return groups.begin();  // the last one
    // A group outside all NUMA nodes has no figures to compare: it comes last.
    const auto key = [&](const Group& g) {
      const bool holds = g.units >= n;
      Rank best;
      if (g.domain != kNoIndex)
        best = rank(criteria_, space_, align, g.domain, std::min(n, g.units));
      return std::tuple(g.domain == kNoIndex, !holds, holds ? 0 : -g.units, best);
    };
    auto chosen = groups.begin();
    auto chosen_key = key(*chosen);
    for (auto it = std::next(groups.begin()); it != groups.end(); ++it) {
      auto it_key = key(*it);
      if (it_key < chosen_key) {
        chosen = it;
        chosen_key = it_key;
      }
    }
    return chosen;
  }

  // Cores that it had before; then broken cores, so that whole ones stay whole: those with least to
  // give first, for that uses them up; of whole cores the ones with most; then by id. Under
  // kPreferFull as few cores as can be: those first that hold it all, the tightest before the rest.
  void add_cores(std::vector<Index> cores, int n) {
    const auto key = [&](Index index) {
      const CoreSpace& core = space_.core(index);
      const bool few = space_.smt == Smt::kPreferFull;
      const bool least_first = few ? core.units >= n : core.taken > 0;
      return std::tuple(-core.kept, few ? core.units < n : core.taken == 0,
                        least_first ? core.units : -core.units, index);
    };
    std::sort(cores.begin(), cores.end(), [&](Index a, Index b) { return key(a) < key(b); });
    result.insert(result.end(), cores.begin(), cores.end());
    const Index node = criteria_.topology.cores[static_cast<std::size_t>(cores.front())].node;
    std::vector<Index>& beside = criteria_.beside;
    if (node == kNoIndex || std::find(beside.begin(), beside.end(), node) != beside.end()) return;
    beside.push_back(node);
  }

  Criteria criteria_;  // a copy: what is taken first draws the rest beside it
  const Space& space_;
};

// n of the core's free CPUs, those the container had before first.
CpuSet part_of(const CpuSet& free, const CpuSet& before, int n) {
  CpuSet part = (free & before).lowest(n);
  part |= (free - part).lowest(n - part.count());
  return part;
}

// The cores, with what is taken of each.
std::vector<std::pair<Index, CpuSet>> take_in_order(const Criteria& criteria, const Space& space,
                                                    const std::vector<Index>& order, int n) {
  std::vector<std::pair<Index, CpuSet>> taken;
  for (const Index index : exact(space, order, n)) {
    const CpuSet& cpus = criteria.topology.cores[static_cast<std::size_t>(index)].cpus;
    const int units = space.core(index).units;
    taken.emplace_back(
        index, takes_any_cpus(space.smt)
                   ? part_of(cpus & space.pool, criteria.request.preferred, std::min(n, units))
                   : cpus);
    n -= units;
  }
  return taken;
}

// One part after another, each beside those before it.
class WholeFirst {
 public:
  WholeFirst(const Criteria& criteria, const Space& all, const Order& order)
      : criteria_(criteria), all_(all), order_(order), whole_(all.cores.size()) {
    for (std::size_t i = 0; i < whole_.size(); ++i) whole_[i] = is_whole(all.cores[i]);
    split_ = whole_;
    split_.flip();
  }

  void take_whole(int n) { take(whole_, Smt::kFullCore, n); }
  void take_split(int n) { take(split_, Smt::kPreferFull, n); }
  // What take_whole left.
  void take_fresh(int n) { take(whole_, Smt::kPreferFull, n); }

  [[nodiscard]] const CpuSet& held() const { return held_; }

 private:
  void take(std::vector<bool>& cores, Smt smt, int n) {
    if (n == 0) return;
    const Topology& topology = criteria_.topology;
    const Space space = restricted(topology, all_, smt, cores);
    for (const auto& [core, cpus] :
         take_in_order(criteria_, space, order_(criteria_, space, n), n)) {
      held_ |= cpus;
      cores[static_cast<std::size_t>(core)] = false;
      const Index node = topology.cores[static_cast<std::size_t>(core)].node;
      std::vector<Index>& beside = criteria_.beside;
      if (node == kNoIndex || std::find(beside.begin(), beside.end(), node) != beside.end())
        continue;
      beside.push_back(node);
    }
  }

  Criteria criteria_;  // a copy, as in TakingOrder
  const Space& all_;
  const Order& order_;
  std::vector<bool> whole_;  // by core: not taken yet
  std::vector<bool> split_;
  CpuSet held_;
};

}  // namespace

std::vector<Index> taking_order(const Criteria& criteria, const Space& space,
                                std::vector<Index> among, int n) {
  TakingOrder order(criteria, space);
  order.result.reserve(among.size());
  order.add(std::move(among), n);
  return std::move(order.result);
}

std::vector<Index> usable_cores(const Topology& topology, const Space& space, Align align,
                                Index domain) {
  std::vector<Index> cores;
  cores.reserve(static_cast<std::size_t>(space.of(align, domain).size));
  for (std::size_t i = 0; i < space.cores.size(); ++i) {
    if (space.cores[i].units > 0 && domain_of(topology.cores[i], align) == domain) {
      cores.push_back(static_cast<Index>(i));
    }
  }
  return cores;
}

CpuSet choose_cpus(const Criteria& criteria, const Space& space, Place place, int n,
                   const Order& order) {
  if (space.smt != Smt::kPreferFull) {
    CpuSet held;
    for (const auto& [core, cpus] : take_in_order(criteria, space, order(criteria, space, n), n)) {
      held |= cpus;
    }
    return held;
  }
  const DomainSpace& room = space.of(place.align, place.domain);
  const int whole = whole_part(criteria.topology, space, place.align, place.domain, n);
  const int split = std::min(n - whole, room.units - room.whole_units);
  WholeFirst parts(criteria, space, order);
  parts.take_whole(whole);
  parts.take_split(split);
  parts.take_fresh(n - whole - split);
  return parts.held().count() == n ? parts.held() : CpuSet();
}

CpuSet running_on(const Topology& topology, const Request& request, const CpuSet& held) {
  if (request.smt != Smt::kOnePerCore) return held;
  CpuSet cpus;
  CpuSet rest = held;
  while (!rest.empty()) {
    const CpuSet& core =
        topology.cores[static_cast<std::size_t>(topology.find(rest.first())->core)].cpus;
    const CpuSet before = core & request.preferred;
    cpus.add(before.empty() ? core.first() : before.first());
    rest -= core;
  }
  return cpus;
}

}  // namespace pinion::topology
