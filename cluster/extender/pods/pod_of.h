// From the pod on the wire to what the pod scheduler decides on.
#pragma once

#include "cluster/extender/scheduling/pod.h"
#include "cluster/extender/wire/pod.h"

namespace pinion::cluster {

// Of a pod that its job's controller has made through another object, the job's uid: what the
// extender has found out (program/job_follower.h).
inline constexpr const char* kOwnerUid = "pinion.dev/owner-uid";
// Whether that is the case, and nobody has found it out yet.
[[nodiscard]] bool owner_is_unknown(const wire::PodSpecView& view);

// Containers that run side by side get cores: main containers and sidecars. An init container runs
// before them, and gives its cores back to its pod.
[[nodiscard]] Pod pod_of(const wire::PodSpecView& view);

}  // namespace pinion::cluster
