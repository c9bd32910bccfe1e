// Memory of each NUMA node that is not to be promised to bound containers: the kernel's, the
// system's, and what shared containers live on.
#pragma once

#include <map>

#include "topology/topology.h"

namespace pinion::topology {

using ReservedMemory = std::map<NodeId, Bytes>;  // by the kernel's number of the node

// Where nothing is stated: of each node a thirty-second, 100 MiB at least (the kubelet's
// memory.available threshold) and 1 GiB at most, and never more than half of it.
[[nodiscard]] ReservedMemory usual_reserved_memory(const Topology& topology);

// The machine with that much less memory on its nodes. Nodes that it does not have are passed over;
// one that has less than is reserved keeps a byte, as a node without any borrows from others.
[[nodiscard]] Topology without_reserved_memory(Topology topology, const ReservedMemory& reserved);

}  // namespace pinion::topology
