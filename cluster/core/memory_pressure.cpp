#include "cluster/core/memory_pressure.h"

#include <algorithm>
#include <numeric>

namespace pinion::cluster {
namespace {

// How many of its CPUs the container loads a controller with.
double bound_cpus(const topology::Claim& claim, const MissRates& rates) {
  const double cpus = claim.cpus.count();
  const auto rate = rates.find(claim.id);
  if (rate == rates.end()) return claim.profile == topology::Profile::kMemory ? cpus : 0;
  return std::clamp(rate->second / kMissesOfBoundCpu, 0.0, cpus);
}

}  // namespace

std::vector<double> memory_pressure(const topology::Topology& topology,
                                    const topology::Ledger& ledger, const MissRates& rates) {
  std::vector<double> pressure(topology.nodes.size());
  for (const auto& [id, claim] : ledger.claims()) {
    const double bound = bound_cpus(claim, rates);
    if (bound <= 0) continue;
    for (std::size_t node = 0; node < pressure.size(); ++node) {
      const double part = topology.nodes[node].cpus.count_common(claim.cpus);
      pressure[node] += bound * part / claim.cpus.count();
    }
  }
  return pressure;
}

int pressure_level(const topology::Topology& topology, const std::vector<double>& pressure) {
  const double bound = std::accumulate(pressure.begin(), pressure.end(), 0.0);
  const int cpus = topology.online.count();
  return cpus == 0 ? 0 : std::clamp(static_cast<int>(10 * bound / cpus), 0, 10);
}

}  // namespace pinion::cluster
