// What the files of PodScheduler share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/core/scheduler.h"
#include "cluster/extender/scheduling/demand.h"
#include "cluster/extender/scheduling/pod_cache.h"

namespace pinion::cluster {

// Why nothing is decided about a pod.
inline constexpr const char* kGone = "the pod is no more";
inline constexpr const char* kBound = "the pod is bound already";
// No gang's id begins so: no namespace has a colon.
inline constexpr std::string_view kLone = "pod:";

// Of which job of the core a pod is: of its gang, or of one of its own.
inline JobId job_of(const std::string& uid, const Demand& demand) {
  return demand.kind == Demand::Kind::kMember ? demand.gang : std::string(kLone) + uid;
}

inline JobId job_of(const KnownPod& known) {
  return job_of(known.pod.uid, known.demand);
}

inline bool is_gang(const JobId& job) {
  return !job.starts_with(kLone);
}

// How its nodes are chosen, where that is not as the settings have it: by its own word, and for a
// service that says that it is one (pinion.dev/class), without a setting for such, by ours.
inline std::optional<PlacementPolicy> placement_of(const Demand& demand,
                                                   const SchedulerSettings& settings) {
  const bool by_class = demand.service && demand.classed && !settings.service_placement;
  return by_class && !demand.placement ? PlacementPolicy::kFill : demand.placement;
}

// As the core is to know it.
inline JobSpec spec_of(const KnownPod& known, const SchedulerSettings& settings) {
  const Demand& demand = known.demand;
  JobSpec spec;
  spec.owner = {.name_space = known.pod.name_space, .kind = "Pod", .name = known.pod.name};
  spec.priority = known.priority;
  spec.placement = placement_of(demand, settings);
  spec.service = demand.service;
  spec.nodes = demand.nodes;
  if (demand.kind == Demand::Kind::kMember) {
    spec.owner.kind.clear();
    spec.owner.name = demand.job;
    spec.size = demand.size;
    spec.task_groups = demand.groups;
  }
  return spec;
}

// "3 of 4".
inline std::string of(int some, int all) {
  return std::to_string(some) + " of " + std::to_string(all);
}

}  // namespace pinion::cluster
