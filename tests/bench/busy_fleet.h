// A fleet of nodes of 128 CPUs (2 packages of 2 NUMA nodes of 4 L3 domains of 4 cores with 2
// threads) that is two thirds full, as reports of its agents.
#pragma once

#include <functional>
#include <string>

#include "cluster/core/fleet.h"

namespace pinion::bench {

// `tell` is called for each of node-0 .. node-(nodes - 1); `kinds` of machines there are, which
// differ in their memory alone.
void report_busy_nodes(int nodes, unsigned seed, int kinds,
                       const std::function<void(cluster::NodeReport)>& tell);

// A pod of that fleet: so many CPUs in one NUMA node, and a GiB for each.
topology::Request busy_request(const std::string& id, int cpus);

}  // namespace pinion::bench
