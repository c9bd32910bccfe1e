// Whether the pods of a template would get cores of their own, by the rules of the pod scheduler
// and the agent.
#pragma once

#include <string>

#include "cluster/extender/jobs/fields.h"
#include "cluster/extender/scheduling/demand.h"
#include "policy/policy.h"

namespace pinion::cluster::jobs {

// What a pod of it asks of the pod scheduler. `pod`: a pod template or a pod.
[[nodiscard]] Demand demand_of_template(const json& pod, const policy::Defaults& defaults);

// Why not; empty: they would.
[[nodiscard]] std::string why_not_entitled(const json& pod, const policy::Defaults& defaults);

}  // namespace pinion::cluster::jobs
