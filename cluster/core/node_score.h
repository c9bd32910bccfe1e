// How well a node suits one member, by the rules that look at the node as a whole: for the
// placement policies, and for schedulers that choose the node themselves and ask for scores.
#pragma once

#include <cstdint>
#include <set>

#include "cluster/core/fleet.h"
#include "cluster/core/placement.h"

namespace pinion::cluster {

// The share of its CPUs that is taken, 0 .. 1000 rounded down: by exclusive containers, as the
// ledger says, or by what all request, as `spare` says, whichever is more. 1000 also for a machine
// without CPUs to give.
[[nodiscard]] int load_of(const FleetNode& node, const topology::Ledger& ledger,
                          const ResourceList& spare);

// 0 .. 10: ours, for a service that requests so many thousandths of CPUs: it fills what HPC jobs
// leave. Two thirds of the score are tightness, one third is quiet:
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

// A member whose node another scheduler chooses.
struct NodeAsk {
  PlacementPolicy placement = PlacementPolicy::kHoles;
  bool service = false;                        // which is placed by a setting of its own
  std::int64_t milli_cpus = 0;                 // that it requests
  const topology::Request* request = nullptr;  // null: it has no CPUs of its own
  std::set<NodeIndex> own{};                   // where others of its job are
};

// 0 .. 10, more is better: by its load for least and most loaded; else for a service as above, and
// for a job first where others of it are, then by the tightest hole.
[[nodiscard]] int ask_score(const Fleet& fleet, NodeIndex node, const NodeAsk& ask);

}  // namespace pinion::cluster
