// On which nodes the members of a job go: the rule is a setting, and a job may name its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cluster/core/gang_plan.h"

namespace pinion::cluster {

enum class PlacementPolicy {
  kHoles,            // groups whole into the tightest holes, improved by a search (gang_plan.h)
  kTaskGroup,        // the paper's Algorithms 3 and 4; of equally good nodes the first by name
  kTaskGroupRandom,  // the same; of equally good nodes any, as Volcano does
  kFirstFit,         // the first node by name
  kLeastLoaded,      // the node with the largest free part of its CPUs (kube-scheduler's default)
  kMostLoaded,       // the one with the smallest
  kFill,             // the one that fill_score() prefers: ours for services (node_score.h)
  kRandom,           // any node, as Volcano without a plugin that scores nodes
};
// "holes", "task-group", "task-group-random", "first-fit", "least-loaded", "most-loaded", "fill",
// "random"
[[nodiscard]] std::string_view to_string(PlacementPolicy placement);
[[nodiscard]] std::optional<PlacementPolicy> placement_of(std::string_view word);

// All members or a reason, as plan_gang(); the rules but kHoles choose member by member and take
// nothing back. Where that needs more nodes than the job may use, they choose among as few that
// have the most room. Deterministic, those by chance for the same `seed`.
[[nodiscard]] GangOutcome place_gang(PlacementPolicy placement, const FleetView& fleet,
                                     const Gang& gang, const PlanLimits& limits = {},
                                     std::uint64_t seed = 0);

}  // namespace pinion::cluster
