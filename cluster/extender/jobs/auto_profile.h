// pinion.dev/profile: auto, brought to what was learnt of the job's earlier runs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cluster/extender/jobs/decision.h"

namespace pinion::cluster::jobs {

// What the user is told of it; none: the object does not ask for it, and is as it was.
using LearntText = Result<std::optional<std::string>>;

// Where an annotation of the job's or pod's profile (also a container's own, with ".NAME" behind)
// is `auto`, the profile that was learnt is written in its place, or the annotation is left out
// where nothing was, and beside it why (annotation::kProfileWhy). So a second pass changes nothing.
// A job that was cut before keeps what it was cut by. `name_space`: of the object. The job is that
// of annotation::kJob, else the one of the object's name. Errors: kInvalid where nothing is learnt
// here, so that nobody can say.
LearntText write_learnt_profile(nlohmann::json& object, const std::string& name_space,
                                const Options& options);

}  // namespace pinion::cluster::jobs
