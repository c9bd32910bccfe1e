// The machine and who holds what, to the wire and back: a reader of the interface rebuilds from a
// snapshot the Topology and the Ledger that the agent decides on, and runs the same allocator.
#pragma once

#include "base/error.h"
#include "proto/pinion/v1/node.pb.h"
#include "topology/ledger.h"
#include "topology/topology.h"

namespace pinion::agent::api {

// All of the machine but the sizes of its caches.
[[nodiscard]] v1::Machine machine_of(const topology::Topology& topology);

// The facts that were told, for make_topology. Errors: kInvalid for an index or list that is none.
Result<topology::Facts> facts_of(const v1::Machine& machine);
// The Topology that was told; `size` of each cache is 0. Errors: as facts_of and make_topology.
Result<topology::Topology> topology_of(const v1::Machine& machine);

// Who holds which CPUs and memory: the reserved CPUs and the claims of the exclusive containers.
// Errors: kInvalid, naming the container, for CPUs that overlap, are reserved or not online, or a
// node that the machine has not.
Result<topology::Ledger> ledger_of(const v1::Snapshot& snapshot,
                                   const topology::Topology& topology);

}  // namespace pinion::agent::api
