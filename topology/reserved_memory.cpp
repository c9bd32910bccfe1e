#include "topology/reserved_memory.h"

#include <algorithm>

namespace pinion::topology {
namespace {

constexpr Bytes kMiB = Bytes{1} << 20;

}  // namespace

ReservedMemory usual_reserved_memory(const Topology& topology) {
  ReservedMemory reserved;
  for (const Node& node : topology.nodes) {
    const Bytes part = std::clamp(node.memory / 32, 100 * kMiB, 1024 * kMiB);
    reserved[node.id] = std::min(part, node.memory / 2);
  }
  return reserved;
}

Topology without_reserved_memory(Topology topology, const ReservedMemory& reserved) {
  for (Node& node : topology.nodes) {
    const auto found = reserved.find(node.id);
    if (found == reserved.end() || node.memory == 0) continue;
    node.memory -= std::min(found->second, node.memory - 1);
  }
  return topology;
}

}  // namespace pinion::topology
