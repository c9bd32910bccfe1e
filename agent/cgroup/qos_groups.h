// The groups of the QoS classes, "kubepods/burstable" and "kubepods/besteffort" (or their slices),
// on cgroup v2: their CPUs bound those of every container below. One that was narrowed carries a
// mark (an extended attribute), so that a later agent, which keeps others off by another way,
// widens it.
#pragma once

#include <string>
#include <vector>

#include "agent/engine/events.h"
#include "base/cgroup/hierarchy.h"
#include "base/error.h"

namespace pinion::cgroup {

class SliceProperties;

// Whether a group's CPUs bound those of the groups below it, also where these say more: tried with
// groups of its own, nobody is moved. Errors: kUnavailable on cgroup v1 or where they do not, and
// of the system.
[[nodiscard]] Status probe_narrowing(const Hierarchy& hierarchy, const engine::CpuSet& online);

// Best effort: without a mark the group is only not widened by itself later.
void mark_narrowed(int group);
void unmark_narrowed(int group);

struct Widened {
  std::vector<std::string> groups;  // paths
  std::vector<std::string> failed;  // "path: why"; these keep their mark
};

// The marked groups may use all CPUs that those above them have; a slice's AllowedCPUs, where it
// was changed here, is again what it was.
Widened widen_narrowed(const Hierarchy& hierarchy, SliceProperties& slices);

}  // namespace pinion::cgroup
