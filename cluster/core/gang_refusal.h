// Why a gang was not placed; internal to gang_plan.
#pragma once

#include <optional>

#include "cluster/core/gang_plan.h"

namespace pinion::cluster {

// Precondition: the draft has a member without a node.
[[nodiscard]] GangRefusal refuse(const Draft& draft);
// kEmpty or kTwice where the gang makes no sense.
[[nodiscard]] std::optional<GangReason> senseless(const FleetView& fleet, const Gang& gang);
// "no agent speaks for 2 nodes; the agent of 1 node is silent; "; empty where there are none.
[[nodiscard]] std::string absent_text(int unheard, int silent);
// "needs 4 x 8 CPUs in one NUMA node; 3 nodes have such a hole, largest elsewhere 6"
[[nodiscard]] std::string text_of(const GangRefusal& refusal);
// Why a gang that makes no sense is refused.
[[nodiscard]] GangRefusal refuse_as(GangReason reason);

}  // namespace pinion::cluster
