// From the pod on the wire to what the pod scheduler decides on.
#pragma once

#include "cluster/extender/scheduling/pod.h"
#include "cluster/extender/wire/pod.h"

namespace pinion::cluster {

// On the pods of a JobSet, whose Jobs are one job; an old controller does not write it.
inline constexpr const char* kJobSetUid = "jobset.sigs.k8s.io/jobset-uid";

// Whether its job's controller has made the pod through another object, and nobody has found out
// the job's uid yet (program/job_follower.h).
[[nodiscard]] bool owner_is_unknown(const wire::PodSpecView& view);

// What the containers request at most at one time: those that stay together, or an init container
// beside the sidecars that started before it.
[[nodiscard]] std::int64_t containers_request(const wire::PodSpecView& view,
                                              std::optional<std::int64_t> wire::Amounts::*amount);

// Containers that run side by side get cores: main containers and sidecars. An init container runs
// before them, and gives its cores back to its pod.
[[nodiscard]] Pod pod_of(const wire::PodSpecView& view);

}  // namespace pinion::cluster
