#include "topology/rank.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace pinion::topology {
namespace {

constexpr int kFar = std::numeric_limits<int>::max();

Index node_of_device(const Topology& topology, const std::string& name) {
  if (name.empty()) return kNoIndex;
  for (const Device& device : topology.devices) {
    if (device.name == name || device.pci == name) return device.node;
  }
  return kNoIndex;
}

// The device that it names; those that it has only where that says nothing.
std::vector<Index> device_nodes(const Topology& topology, const Request& request) {
  const Index named = node_of_device(topology, request.near_device);
  if (named != kNoIndex) return {named};
  std::vector<Index> nodes;
  for (const NodeId id : request.near_nodes) {
    const Index node = topology.node_index(id);
    if (node != kNoIndex) nodes.push_back(node);
  }
  return nodes;
}

// Between the domain and each device's node, summed up.
int from_devices(const Criteria& criteria, Align align, Index domain) {
  int away = 0;
  for (const Index device : criteria.devices) {
    int nearest = kFar;
    for_each_node(criteria.topology, align, domain, [&](Index node) {
      nearest = std::min(nearest, closeness(criteria.topology, node, device));
    });
    if (nearest == kFar) return kFar;
    away += nearest;
  }
  return away;
}

bool same_group(const Claim& claim, const Request& request) {
  return !request.task_group.empty() && claim.task_group == request.task_group &&
         claim.job == request.job && claim.id != request.id;
}

// Counts the containers of the group by domain and gathers the nodes they are at home in.
class GroupCount {
 public:
  GroupCount(const Topology& topology, Criteria& criteria)
      : topology_(topology), criteria_(criteria) {
    const std::array sizes = {topology.l3s.size(), topology.nodes.size(), topology.packages.size(),
                              std::size_t{1}};
    for (std::size_t align = 0; align < kAligns.size(); ++align) {
      criteria.group[align].resize(sizes[align]);
      counted_[align].resize(sizes[align]);
    }
    at_home_.resize(topology.nodes.size());
  }

  void add(const Claim& claim) {
    ++members_;
    for (const CpuId cpu : claim.cpus) {
      const Pu* pu = topology_.find(cpu);
      if (pu == nullptr) continue;
      const Core& core = topology_.cores[static_cast<std::size_t>(pu->core)];
      for (const Align align : kAligns) count_once(align, domain_of(core, align));
    }
    const Pu* first = topology_.find(claim.cpus.first());
    if (first != nullptr && first->node != kNoIndex) {
      ++at_home_[static_cast<std::size_t>(first->node)];
    }
  }

  void finish() {
    criteria_.group_away.resize(topology_.nodes.size());
    for (std::size_t home = 0; home < at_home_.size(); ++home) {
      if (at_home_[home] == 0) continue;
      for (std::size_t node = 0; node < at_home_.size(); ++node) {
        criteria_.group_away[node] +=
            at_home_[home] *
            closeness(topology_, static_cast<Index>(node), static_cast<Index>(home));
      }
    }
  }

 private:
  void count_once(Align align, Index domain) {
    if (domain == kNoIndex) return;
    const auto kind = static_cast<std::size_t>(align);
    const auto at = static_cast<std::size_t>(domain);
    if (counted_[kind][at] == members_) return;
    counted_[kind][at] = members_;
    ++criteria_.group[kind][at];
  }

  const Topology& topology_;
  Criteria& criteria_;
  int members_ = 0;
  std::array<std::vector<int>, kAligns.size()> counted_;  // number of the last member counted there
  std::vector<int> at_home_;                              // members by the node of their first CPU
};

void count_controllers(const Topology& topology, const Claim& claim, Criteria& criteria) {
  for (std::size_t node = 0; node < topology.nodes.size(); ++node) {
    if (topology.nodes[node].cpus.intersects(claim.cpus)) ++criteria.controllers[node];
  }
}

// Untouched L3 domains that n units would leave half used, when they go into as few as possible.
int l3s_broken(const Topology& topology, const Space& space, Align align, Index domain, int n) {
  const std::vector<DomainSpace>& l3s = space.of(Align::kL3);
  if (align == Align::kL3) {
    const DomainSpace& l3 = l3s[static_cast<std::size_t>(domain)];
    return l3.units > n && l3.taken == 0 ? 1 : 0;
  }
  std::vector<const DomainSpace*> inside;
  inside.reserve(l3s.size());
  for (std::size_t i = 0; i < l3s.size(); ++i) {
    const Cache& l3 = topology.l3s[i];
    const bool is_inside = align == Align::kNuma     ? l3.node == domain
                           : align == Align::kSocket ? l3.package == domain
                                                     : true;
    if (is_inside && l3s[i].units > 0) inside.push_back(&l3s[i]);
  }
  std::sort(inside.begin(), inside.end(),
            [](const auto* a, const auto* b) { return a->units > b->units; });
  auto rest = inside.begin();
  while (rest != inside.end() && (*rest)->units < n) n -= (*rest++)->units;
  const bool kept_whole = std::any_of(rest, inside.end(), [&](const DomainSpace* l3) {
    return l3->units == n || (l3->units > n && l3->taken > 0);
  });
  return kept_whole ? 0 : 1;
}

// Whether a core that nobody else has a part of must be given in part.
int cores_split(const Space& space, const DomainSpace& domain, int n, int not_whole) {
  if (space.smt == Smt::kPreferFull) return not_whole > domain.units - domain.whole_units ? 1 : 0;
  const int whole = n - domain.broken_units;
  return space.smt == Smt::kPack && space.step > 0 && whole > 0 && whole % space.step != 0 ? 1 : 0;
}

}  // namespace

Criteria criteria_of(const Topology& topology, const Ledger& ledger, const Request& request,
                     const Claim* own) {
  Criteria criteria{.topology = topology, .ledger = ledger, .request = request, .own = own};
  criteria.devices = device_nodes(topology, request);
  if (request.memory > 0) criteria.left = memory_left(topology, ledger, own);
  const bool spread = request.profile == Profile::kMemory;
  if (spread) criteria.controllers.resize(topology.nodes.size());
  if (!spread && request.task_group.empty()) return criteria;
  std::optional<GroupCount> group;
  for (const auto& [id, claim] : ledger.claims()) {
    if (spread && claim.profile == Profile::kMemory && id != request.id) {
      count_controllers(topology, claim, criteria);
    }
    if (!same_group(claim, request)) continue;
    if (!group) group.emplace(topology, criteria);
    group->add(claim);
  }
  if (group) group->finish();
  return criteria;
}

int group_members(const Criteria& criteria, Align align, Index domain) {
  const std::vector<int>& members = criteria.group[static_cast<std::size_t>(align)];
  return members.empty() ? 0 : members[static_cast<std::size_t>(domain)];
}

Rank rank(const Criteria& criteria, const Space& space, Align align, Index domain, int n) {
  const DomainSpace& room = space.of(align, domain);
  const Topology& topology = criteria.topology;
  const Request& request = criteria.request;
  Rank rank;
  rank.from_devices = from_devices(criteria, align, domain);
  const bool by_node =
      !criteria.beside.empty() || !criteria.controllers.empty() || !criteria.group_away.empty();
  if (by_node) {
    rank.from_own = criteria.beside.empty() ? 0 : kFar;
    rank.from_group = criteria.group_away.empty() ? 0 : kFar;
    for_each_node(topology, align, domain, [&](Index node) {
      const auto at = static_cast<std::size_t>(node);
      for (const Index own : criteria.beside) {
        rank.from_own = std::min(rank.from_own, closeness(topology, node, own));
      }
      if (!criteria.controllers.empty()) rank.controllers += criteria.controllers[at];
      if (!criteria.group_away.empty()) {
        rank.from_group = std::min(rank.from_group, criteria.group_away[at]);
      }
    });
  }
  if (!criteria.left.empty() && request.memory_policy != MemoryPolicy::kAny) {
    const auto left = memory_left_in(topology, criteria.left, align, domain);
    rank.short_of_memory = left && *left < request.memory;
  }
  // Memory-bound containers are spread instead of gathered; near the group only among equals.
  if (criteria.controllers.empty()) rank.without_group = -group_members(criteria, align, domain);
  rank.not_kept = -std::min(room.kept, n);
  if (space.smt == Smt::kPreferFull) {
    rank.not_whole = n - whole_part(topology, space, align, domain, n);
  }
  rank.split = cores_split(space, room, n, rank.not_whole);
  rank.hole = room.units - n;
  rank.l3s_broken = l3s_broken(topology, space, align, domain, n);
  rank.id = domain;
  return rank;
}

}  // namespace pinion::topology
