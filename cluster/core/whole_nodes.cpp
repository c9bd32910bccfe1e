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

}  // namespace pinion::cluster
