// Whether a gang is too large for the fleet, whatever ends: nobody need wait for that.
#pragma once

#include <cstdint>
#include <optional>

#include "cluster/core/placement.h"

namespace pinion::cluster {

// Why these members could not start together even with nothing running, on as many nodes as they
// may use. nullopt: they could, or no node is known yet, or one is awaited. What is refused is what
// the planner refuses on the idle fleet; for gangs that a glance finds room for it is not asked.
// A plan that merely does not come about counts for a few members only.
[[nodiscard]] std::optional<GangRefusal> never_fits(
    IdleFleet& idle, const Gang& gang, int most_nodes = kAnyNumber,
    PlacementPolicy placement = PlacementPolicy::kHoles, std::uint64_t seed = 0);

}  // namespace pinion::cluster
