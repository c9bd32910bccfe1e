// Whether the pods of a template would get cores of their own, by the rules of the pod scheduler
// and the agent.
#pragma once

#include <string>

#include "cluster/extender/jobs/fields.h"
#include "cluster/extender/scheduling/demand.h"
#include "policy/policy.h"

namespace pinion::cluster::jobs {

// What the pod scheduler would see of a pod of it, but for what a template cannot tell. `pod`: a
// pod template or a pod.
[[nodiscard]] Pod pod_of_template(const json& pod);
// The uid of the job whose pod it is, as far as its metadata tells.
[[nodiscard]] std::string owner_of_template(const json& pod);
// What that asks of the pod scheduler.
[[nodiscard]] Demand demand_of_template(const json& pod, const policy::Defaults& defaults);

// Why not; empty: they would.
[[nodiscard]] std::string why_not_entitled(const json& pod, const policy::Defaults& defaults);

}  // namespace pinion::cluster::jobs
