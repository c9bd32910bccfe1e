// POST /v1/plan: from the body of a job to the document of its plan, on a fleet that goes on
// working.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "extender/jobs/job_plan.h"

namespace pinion::extender::admission {

// The scheduler's calls wait while a gang is placed, so it is no larger than can be started anyway.
inline constexpr int kMaxLivePlan = 1024;

// Changes nothing. `look` is called twice at most, for the policy and for the places. Errors:
// kInvalid for what is no JSON object, kExhausted for a job of more than kMaxLivePlan workers.
Result<std::string> dry_plan(std::string_view job, const jobs::Options& options,
                             const jobs::LookAtFleet& look);

}  // namespace pinion::extender::admission
