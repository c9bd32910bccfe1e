// Containers that share their pod's cores. The kubelet makes of each container that states no CPUs,
// in a pod that states them as a whole (spec.resources), one that states all of the pod's. The
// first of them gets these as its own cores, and the others run there beside it. Of that nothing is
// stored but Size::of_pod: which cores they are follows from the claims of the pod, so they move,
// grow and end with these. Pure.
#pragma once

#include <map>
#include <set>
#include <string>

#include "agent/engine/state.h"

namespace pinion::engine {

inline constexpr const char* kWithPod =
    "it shares the cores of its pod, as it states as many CPUs as its whole pod has";

// The cores of its pod on which the member runs beside others, with their memory nodes: those of a
// live container that shares them, else what the pod keeps of one. Empty where it does not, or the
// pod holds none now.
[[nodiscard]] Cpuset pod_cores(const State& state, const Member& member);

// Whether it does.
[[nodiscard]] bool runs_with_pod(const State& state, const Member& member);

// Whether others of its pod run on the member's own cores.
[[nodiscard]] bool has_company(const State& state, const Member& member);

// All claimed CPUs on which containers run with their pods.
[[nodiscard]] CpuSet cpus_with_pods(const State& state);

// Who shares cores at this moment.
struct Company {
  std::map<std::string, Cpuset, std::less<>> guests;  // by id: pod_cores(), where there are some
  std::set<std::string, std::less<>> hosts;           // ids of those with company
};
[[nodiscard]] Company company_of(const State& state);

// The first broken rule of sharing as a sentence, or nothing: who shares runs on what its own pod
// holds and is held against everybody else.
[[nodiscard]] std::optional<std::string> broken_company(const State& state, const CpuSet& pool,
                                                        const CpuSet& held);

}  // namespace pinion::engine
