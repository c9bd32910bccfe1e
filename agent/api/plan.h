// A dry run: requests from the wire, what the agent would decide on them now, and the answer.
#pragma once

#include <vector>

#include "agent/view.h"
#include "base/error.h"
#include "proto/pinion/v1/node.pb.h"
#include "topology/allocate.h"

namespace pinion::agent::api {

inline constexpr int kMaxPlanned = 1024;  // requests in one plan

// Errors: kInvalid, naming the request (its position from 0 and its id) and the field, for an id
// that is empty or given twice, CPUs outside 1 .. CpuSet::kCapacity, an unknown word, or more than
// kMaxPlanned requests.
Result<std::vector<topology::Request>> requests_of(const v1::PlanRequest& plan);

// The requests one after another on a copy of the view's ledger, as the engine would decide: one
// whose id holds something already is a resize, none gets the last CPU of the shared ones, and what
// annotations may not ask here is refused.
[[nodiscard]] topology::Plan dry_run(const NodeView& view, std::vector<topology::Request> requests);

// `plan` is what became of `requests`, on `view`.
[[nodiscard]] v1::PlanResponse response_of(const NodeView& view,
                                           const std::vector<topology::Request>& requests,
                                           const topology::Plan& plan);

}  // namespace pinion::agent::api
