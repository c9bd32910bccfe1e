// The workers of a job that was cut, as the planner will see their pods: for a plan without pods.
#pragma once

#include <nlohmann/json.hpp>

#include "cluster/core/gang.h"
#include "cluster/extender/jobs/mutation.h"

namespace pinion::cluster::jobs {

// One for each worker, in their order, with "JOB/worker-INDEX" as id and their task group.
// `object`: the job after its patch; `locked`: for the nodes that they may use. Precondition: `cut`
// is of that job.
[[nodiscard]] Gang gang_of(const nlohmann::json& object, const Cut& cut,
                           const policy::Defaults& defaults, const LockedFleet& locked);

}  // namespace pinion::cluster::jobs
