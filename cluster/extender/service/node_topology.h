// What other schedulers may see of a node: a NodeResourceTopology of topology.node.k8s.io/v1alpha2,
// in the form that NodeResourceTopologyMatch of scheduler-plugins reads: zones of type "Node"
// called "node-N" by the kernel's number, and the attributes of a topology manager.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cluster/core/fleet.h"
#include "policy/policy.h"

namespace pinion::cluster {

// Of each NUMA node with CPUs or memory its CPUs (allocatable: without reserved and isolated ones;
// available: those that one container could get) and memory in bytes (available: not promised to
// containers with CPUs of their own; what others use does not count), and its distances to the
// others. A plugin takes a resource that no zone names for one that no NUMA node has, so memory is
// always there; and a zone's number for its place among them, so a number that the machine leaves
// out is a zone with nothing. Beyond 64 it sees none.
// `defaults`: how agents place pods that do not say so themselves.
[[nodiscard]] nlohmann::json node_topology(const FleetNode& node, const policy::Defaults& defaults);

}  // namespace pinion::cluster
