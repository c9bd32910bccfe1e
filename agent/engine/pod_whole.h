// How many CPUs a pod has as a whole, where the runtime tells it, and what its containers leave of
// them. Pure arithmetic; which CPUs they are: pod_cores.cpp and pod_rest.cpp.
#pragma once

#include <string>

#include "agent/engine/state.h"

namespace pinion::engine {

// CPUs of the pod that no container has yet; those of a container of `except`'s name count as not
// had (nullptr: all count). None where the runtime tells nothing of the pod as a whole.
[[nodiscard]] int unclaimed(const PodRecord& pod, const Member* except);

// Whether its containers have and keep more than there is.
[[nodiscard]] bool beyond_whole(const PodRecord& pod);

// Why the pod has no more CPUs of which the member could have so many for itself; empty when it
// has. A container that states no limit is given that of its pod (spec.resources) by the kubelet.
[[nodiscard]] std::string beyond_its_pod(const PodRecord& pod, const Member& member,
                                         const topology::Request& request);

// Whether the pod has so many CPUs left, besides those that its other containers have for
// themselves and those that it keeps for such as have ended.
[[nodiscard]] bool leaves(const PodRecord& pod, const Member& member, int cpus);

// Whether so many CPUs are all that the pod has as a whole: one that states them states none of its
// own, or is alone.
[[nodiscard]] bool is_all_of(const PodRecord& pod, int cpus);

// What the pod has as a whole goes with the member's size.
void note_resize(PodRecord& pod, const Member& member, const Resources& after);

}  // namespace pinion::engine
