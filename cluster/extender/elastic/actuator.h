// What the kinds of jobs differ in when their size changes: which collection is watched, where the
// counts of their workers stand, and which merge patch of their spec does it.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "cluster/extender/elastic/elastic_job.h"

namespace pinion::cluster::elastic {

struct Collection {
  const char* path;
  const char* api_version;  // of its objects; those in a list do not say it
  const char* kind;
};
// Watched; a JobSet's Jobs are among the first.
inline constexpr std::array kCollections{
    Collection{"/apis/batch/v1/jobs", "batch/v1", "Job"},
    Collection{"/apis/kubeflow.org/v2beta1/mpijobs", "kubeflow.org/v2beta1", "MPIJob"},
    Collection{"/apis/batch.volcano.sh/v1alpha1/jobs", "batch.volcano.sh/v1alpha1", "Job"}};

// Fills in what the kind's own fields say: suspended, stated, active, ready, succeeded,
// terminating, over, head and spec_part. Errors: kInvalid, naming the field, for a kind or a
// setting with which the size cannot change.
Status read_size(const nlohmann::json& object, const jobs::JobObject& job, ElasticObject& elastic);

// Patches of the spec: it gets so many workers (1 .. 1000); it is suspended or resumed, which a
// Volcano Job never is.
[[nodiscard]] nlohmann::json resized(const ElasticObject& job, int workers);
[[nodiscard]] nlohmann::json suspended(const ElasticObject& job, bool yes);

}  // namespace pinion::cluster::elastic
