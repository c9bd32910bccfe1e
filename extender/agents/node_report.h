// From what an agent says of its node to what the fleet keeps of it.
#pragma once

#include <memory>

#include "base/error.h"
#include "extender/fleet.h"
#include "proto/pinion/v1/node.pb.h"

namespace pinion::extender {

// `machine`: the snapshot's own, which changes seldom and costs time to build. Claims are named by
// claim_id(), rates by the same. Errors: kInvalid, naming what makes no sense in the snapshot.
Result<NodeReport> report_of(const v1::Snapshot& snapshot,
                             std::shared_ptr<const topology::Topology> machine);

}  // namespace pinion::extender
