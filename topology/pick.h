// Which cores inside a domain: internal to the allocator.
//
// The order of preference that chose the domain also decides on the way down, from packages through
// NUMA nodes and L3 domains to cores: where one of them can hold all of it, the best such one;
// else the one that holds most is used up first and the rest is asked for the same way, near to it.
// So it lies in as few packages, nodes and L3 domains as it can.
#pragma once

#include <functional>
#include <vector>

#include "topology/rank.h"

namespace pinion::topology {

// The cores, all of `among` with units, in the order in which a request for n units takes them.
// Where all cores have equally many units it may end as soon as n are reached.
[[nodiscard]] std::vector<Index> taking_order(const Criteria& criteria, const Space& space,
                                              std::vector<Index> among, int n);

// The cores of the domain that have units, ascending.
[[nodiscard]] std::vector<Index> usable_cores(const Topology& topology, const Space& space,
                                              Align align, Index domain);

// The order in which cores of the space are taken for n units; for taking_order or around it.
using Order = std::function<std::vector<Index>(const Criteria&, const Space&, int n)>;

// The CPUs to hold for n >= 1 units of the domain, in this order: whole cores; under kPack free
// CPUs, in part from the last core alone; under kPreferFull whole free cores first, as far as they
// go into n, then free CPUs of the others. Empty when the domain's cores cannot make up n.
[[nodiscard]] CpuSet choose_cpus(const Criteria& criteria, const Space& space, Place place, int n,
                                 const Order& order);

// What the container runs on when it holds these CPUs: all of them, or under kOnePerCore one of
// each core, the lowest that it ran on before or else the lowest.
[[nodiscard]] CpuSet running_on(const Topology& topology, const Request& request,
                                const CpuSet& held);

}  // namespace pinion::topology
