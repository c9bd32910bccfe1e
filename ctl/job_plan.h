// What would become of a job on a fleet: the webhook's change and the planner's places, nothing
// applied.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "extender/gang_plan.h"
#include "extender/jobs/mutation.h"

namespace pinion::ctl {

struct JobPlan {
  nlohmann::json before;
  nlohmann::json after;  // with the patch
  extender::jobs::Mutation mutation;
  extender::Gang gang;                             // the workers, where the job was cut
  std::optional<extender::GangOutcome> outcome{};  // the same
};

JobPlan plan_job(nlohmann::json object, const extender::Fleet& fleet,
                 const extender::jobs::Options& options);

// For a terminal: what was decided and why, and each worker with its node and CPUs.
std::string draw_job_plan(const JobPlan& plan, const extender::Fleet& fleet);

// The same as data, with the patch; the shape is described in docs/jobs.md and only ever grows.
nlohmann::json job_plan_json(const JobPlan& plan, const extender::Fleet& fleet);

}  // namespace pinion::ctl
