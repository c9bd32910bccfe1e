// PodGroups of kube-scheduler's own (scheduling.k8s.io, Kubernetes 1.37), which it keeps together
// itself: one for each job whose templates say so (annotation::kPodGroup).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cluster/extender/jobs/job_object.h"

namespace pinion::cluster::jobs {

// "pinion-UID" of the job: one that is made again under its name has another group.
[[nodiscard]] std::string pod_group_name(const std::string& job_uid);

// The pod of a controller joins its job's group when it is made, where its template says so; unless
// its user has put it into another one, it has its node already, or nothing tells whose it is.
void join_pod_group(nlohmann::json& pod);

// The group of a job that the API server has stored. `together`: how many of its pods start
// together; `priority_class`: theirs, as kube-scheduler takes no others into the group. Nothing for
// one without a uid.
[[nodiscard]] std::optional<nlohmann::json> pod_group(const nlohmann::json& object,
                                                      const JobObject& job, int together,
                                                      const std::string& priority_class);

}  // namespace pinion::cluster::jobs
