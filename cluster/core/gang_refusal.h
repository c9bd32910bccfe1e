// Why a gang was not placed; internal to gang_plan.
#pragma once

#include "cluster/core/gang_plan.h"

namespace pinion::cluster {

// Precondition: the draft has a member without a node.
[[nodiscard]] GangRefusal refuse(const Fleet& fleet, const Draft& draft);
// A gang that makes no sense: kEmpty or kTwice.
[[nodiscard]] GangRefusal refuse_as(GangReason reason);

}  // namespace pinion::cluster
