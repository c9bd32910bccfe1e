// Whether the pods of a template would get cores of their own, by the rules of the desk and the
// agent.
#pragma once

#include <string>

#include "agent/engine/policy.h"
#include "extender/jobs/fields.h"

namespace pinion::extender::jobs {

// Why not; empty: they would. `pod`: a pod template or a pod.
[[nodiscard]] std::string why_not_entitled(const json& pod, const engine::Defaults& defaults);

}  // namespace pinion::extender::jobs
