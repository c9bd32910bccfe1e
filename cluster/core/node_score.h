// How well a node suits one service, or one job, by the rules that look at the node as a whole: 0
// .. 10, more is better. For schedulers that choose the node themselves and ask for scores.
#pragma once

#include <cstdint>

#include "cluster/core/fleet.h"

namespace pinion::cluster {

// The share of its CPUs that is taken, 0 .. 10 rounded down: by exclusive containers, or by what
// all request, whichever is more. 10 also for a machine without CPUs to give.
[[nodiscard]] int load_level(const FleetNode& node);

// Ours, for a service that requests so many thousandths of CPUs: it fills what HPC jobs leave. Two
// thirds of the score are tightness, one third is quiet:
//
//   - tightness: what the large holes lose. The CPUs are taken from the NUMA nodes with the fewest
//     free ones first, as those of the services that are there already are taken to be; a hole of h
//     CPUs is worth h^2, as in a gang's plan (gang_draft.h), and the loss is measured against
//     taking them from wholly free NUMA nodes.
//   - quiet: 10 less the node's pressure level (memory_pressure.h), which is measured where agents
//     tell rates of L3 misses.
//
// 0 where fewer CPUs are free than it requests.
[[nodiscard]] int fill_score(const FleetNode& node, std::int64_t milli_cpus);

}  // namespace pinion::cluster
