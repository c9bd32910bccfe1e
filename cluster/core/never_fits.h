// Whether a gang is too large for the fleet, whatever ends: nobody need wait for that.
#pragma once

#include <optional>

#include "cluster/core/gang_plan.h"

namespace pinion::cluster {

// Why these members could not start together even with nothing running, on as many nodes as they
// may use. nullopt: they could, or no node is known yet, or one is awaited. What is refused is what
// the planner refuses on the idle fleet; for gangs that a glance finds room for it is not asked.
[[nodiscard]] std::optional<GangRefusal> never_fits(const Fleet& fleet, const Gang& gang,
                                                    int most_nodes = kAnyNumber);

}  // namespace pinion::cluster
