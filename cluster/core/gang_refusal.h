// Why a gang was not placed; internal to gang_plan.
#pragma once

#include <optional>

#include "cluster/core/gang_plan.h"

namespace pinion::cluster {

// Precondition: the draft has a member without a node.
[[nodiscard]] GangRefusal refuse(const Fleet& fleet, const Draft& draft);
// kEmpty or kTwice where the gang makes no sense.
[[nodiscard]] std::optional<GangReason> senseless(const Fleet& fleet, const Gang& gang);
// Why a gang that makes no sense is refused.
[[nodiscard]] GangRefusal refuse_as(GangReason reason);

}  // namespace pinion::cluster
