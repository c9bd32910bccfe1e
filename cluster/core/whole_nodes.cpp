#include "cluster/core/whole_nodes.h"

#include <map>

namespace pinion::cluster {

std::vector<std::int64_t> whole_nodes_freed(const Fleet& fleet, std::span<const HeldCpus> leaving) {
  std::vector<std::int64_t> freed;
  std::map<NodeIndex, topology::CpuSet> taken;  // by those who are still there
  std::int64_t whole = 0;
  for (const HeldCpus& leaver : leaving) {
    const FleetNode& node = fleet.node(leaver.node);
    topology::CpuSet& there = taken.try_emplace(leaver.node, node.ledger.exclusive()).first->second;
    const topology::CpuSet given = leaver.cpus & there;
    there -= given;
    for (const topology::Node& numa : node.topology().nodes) {
      if (!given.intersects(numa.cpus) || there.intersects(numa.cpus)) continue;
      whole += (numa.cpus - node.ledger.reserved() - node.topology().isolated).count();
    }
    freed.push_back(whole);
  }
  return freed;
}

}  // namespace pinion::cluster
