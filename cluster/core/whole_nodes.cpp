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

std::int64_t room_when_left(const Fleet& fleet, const topology::Request& request,
                            std::span<const HeldCpus> leaving) {
  std::map<NodeIndex, topology::CpuSet> left;
  for (const HeldCpus& leaver : leaving) left[leaver.node] |= leaver.cpus;
  std::int64_t room = fleet.room_at_most(request);
  if (request.use_isolated) return room;
  for (const auto& [index, cpus] : left) {
    const FleetNode& node = fleet.node(index);
    if (node.stale) continue;
    topology::Ledger ledger = node.ledger;
    for (const auto& [id, claim] : node.ledger.claims()) {
      if (claim.cpus.intersects(cpus)) ledger.release(id);
    }
    topology::Holes before = node.holes;
    topology::Holes after = topology::holes_of(node.topology(), ledger);
    constexpr int all = topology::CpuSet::kCapacity;
    room += reserve_in(after, request, all) - reserve_in(before, request, all);
  }
  return room;
}

}  // namespace pinion::cluster
