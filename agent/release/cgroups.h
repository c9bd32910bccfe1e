// Gives a node back: the pods' groups as if nobody had ever pinned anything.
#pragma once

#include <string>
#include <vector>

#include "agent/cgroup/slice_properties.h"
#include "base/cgroup/hierarchy.h"

namespace pinion::cgroup {

struct Released {
  std::vector<std::string> partitions;  // paths of those taken away
  std::vector<std::string> widened;     // groups that may use all CPUs and memory nodes again
  std::vector<std::string> failed;      // "path: why"
};

// Takes every partition of Pinion's away, and lets every group below the pods' ("kubepods" or
// "kubepods.slice") use the CPUs and memory nodes that its parent has; a slice's AllowedCPUs, where
// the agent has changed it, is again what it was. Containers go on running, anywhere. Precondition:
// no agent runs here. Errors: kDenied where the hierarchy is read-only, or the partitions cannot be
// listed; a group that cannot be written is in `failed`.
Result<Released> release(const Hierarchy& hierarchy, SliceProperties& slices);

}  // namespace pinion::cgroup
