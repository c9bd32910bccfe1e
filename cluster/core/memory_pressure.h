// How busy the memory controllers of a node are, from what containers measured and, where nothing
// is measured yet, from what their jobs say of themselves.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/ledger.h"

namespace pinion::cluster {

// L3 misses per second by claim id; a container that cannot be measured is absent.
using MissRates = std::map<std::string, double, std::less<>>;

// A CPU that misses its L3 so often counts as one memory-bound CPU; with lines of 64 bytes this is
// 1.28 GB/s, about a tenth of what one core can stream from a modern memory controller.
inline constexpr double kMissesOfBoundCpu = 2e7;

// Memory-bound CPUs by NUMA node index. A container with a rate counts by its rate, at most with
// all its CPUs; one without counts with all of them if its profile is memory. Its share of each
// node follows its CPUs there.
[[nodiscard]] std::vector<double> memory_pressure(const topology::Topology& topology,
                                                  const topology::Ledger& ledger,
                                                  const MissRates& rates);

// The share of the machine's CPUs that are memory-bound, in tenths rounded down, 0 .. 10: coarse,
// so that a rate that wavers does not move plans.
[[nodiscard]] int pressure_level(const topology::Topology& topology,
                                 const std::vector<double>& pressure);

}  // namespace pinion::cluster
