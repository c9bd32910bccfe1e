// A plan made by an agent on what it has now: the question and its answer.
#pragma once

#include <string>
#include <vector>

#include "proto/pinion/v1/node.pb.h"
#include "topology/allocate.h"

namespace pinion::ctl {

v1::PlanRequest plan_request_of(const std::vector<topology::Request>& requests);

// Who would get what and why, who would be refused, and what would still fit.
std::string draw_live_plan(const v1::PlanResponse& response);

}  // namespace pinion::ctl
