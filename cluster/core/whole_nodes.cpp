#include "cluster/core/whole_nodes.h"

#include <map>

namespace pinion::cluster {

std::vector<std::int64_t> whole_nodes_freed(const Fleet& fleet, std::span<const HeldCpus> leaving) {
  struct Site {
    topology::CpuSet taken;  // by those who are still there
    topology::CpuSet given;  // by those who have left
  };
  std::vector<std::int64_t> freed;
  std::map<NodeIndex, Site> sites;
  std::int64_t whole = 0;
  for (const HeldCpus& leaver : leaving) {
    const FleetNode& node = fleet.node(leaver.node);
    Site& site = sites.try_emplace(leaver.node, Site{node.ledger.exclusive(), {}}).first->second;
    const topology::CpuSet given = leaver.cpus & site.taken;
    site.taken -= given;
    site.given |= given;
    for (const topology::Node& numa : node.topology().nodes) {
      const topology::CpuSet own = numa.cpus - node.ledger.reserved() - node.topology().isolated;
      if (!given.intersects(own) || site.taken.intersects(own)) continue;
      whole += (site.given & own).count();
    }
    freed.push_back(whole);
  }
  return freed;
}

RoomWhenLeft::RoomWhenLeft(const Fleet& fleet, std::span<const HeldCpus> leaving) : fleet_(fleet) {
  std::map<NodeIndex, topology::CpuSet> left;
  for (const HeldCpus& leaver : leaving) left[leaver.node] |= leaver.cpus;
  for (const auto& [index, cpus] : left) {
    const FleetNode& node = fleet.node(index);
    if (node.stale) continue;
    topology::Ledger ledger = node.ledger;
    for (const auto& [id, claim] : node.ledger.claims()) {
      if (claim.cpus.intersects(cpus)) ledger.release(id);
    }
    sites_.push_back({.node = index, .then = topology::holes_of(node.topology(), ledger)});
  }
}

std::int64_t RoomWhenLeft::of(const topology::Request& request) const {
  std::int64_t room = fleet_.room_at_most(request);
  if (request.use_isolated) return room;
  for (const Site& site : sites_) {
    topology::Holes before = fleet_.node(site.node).holes;
    topology::Holes after = site.then;
    constexpr int all = topology::CpuSet::kCapacity;
    room += reserve_in(after, request, all) - reserve_in(before, request, all);
  }
  return room;
}

}  // namespace pinion::cluster
