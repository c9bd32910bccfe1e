// From what an agent says of its node to what the fleet keeps of it.
#pragma once

#include <memory>
#include <vector>

#include "agent/client/mirror.h"
#include "base/error.h"
#include "cluster/core/fleet.h"
#include "cluster/core/run_book.h"

namespace pinion::cluster {

// `machine`: the node's own, which changes seldom and costs time to build. Claims are named by
// claim_id(), rates by the same; one without a container's name is of CPUs that the agent keeps for
// containers of that pod to come. Errors: kInvalid, naming what makes no sense in what was told.
Result<NodeReport> report_of(const agent::api::Mirror& mirror,
                             std::shared_ptr<const topology::Topology> machine);

// The rates of that report alone.
MissRates rates_of(const agent::api::Mirror& mirror);

// The containers of jobs that have cores of their own, also those that are to start yet, with the
// counters that their agent has. Jobs without a name by which they could be known again are left
// out (job_key()).
std::vector<ContainerUse> uses_of(const agent::api::Mirror& mirror);

}  // namespace pinion::cluster
