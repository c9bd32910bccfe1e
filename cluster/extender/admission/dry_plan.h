// POST /v1/plan: from the body of a job to the document of its plan, on a fleet that goes on
// working.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "cluster/extender/jobs/job_plan.h"

namespace pinion::cluster::admission {

// Changes nothing. `look` is called twice at most, for the policy and for the places. Errors:
// kInvalid for what is no JSON object.
Result<std::string> dry_plan(std::string_view job, const jobs::Options& options,
                             const jobs::LookAtFleet& look);

}  // namespace pinion::cluster::admission
