// From what an agent says of its node to what the fleet keeps of it.
#pragma once

#include <memory>

#include "agent/client/mirror.h"
#include "base/error.h"
#include "cluster/core/fleet.h"

namespace pinion::cluster {

// `machine`: the node's own, which changes seldom and costs time to build. Claims are named by
// claim_id(), rates by the same. Errors: kInvalid, naming what makes no sense in what was told.
Result<NodeReport> report_of(const agent::api::Mirror& mirror,
                             std::shared_ptr<const topology::Topology> machine);

// The rates of that report alone.
MissRates rates_of(const agent::api::Mirror& mirror);

}  // namespace pinion::cluster
