// A node given back, with the agent stopped: `pinionctl release`.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::agent {

struct NodeReleased {
  std::vector<std::string> as_before = {};      // kernel noise: "irq 24"
  std::vector<std::string> not_as_before = {};  // "irq 24: why"
  std::vector<std::string> partitions = {};     // paths of those taken away
  std::vector<std::string> widened = {};  // groups that may use all CPUs and memory nodes again
  std::vector<std::string> quotas = {};   // groups that have their CPU quota again
  std::vector<std::string> not_released = {};  // "path: why"
  Status cgroups = {};                         // why no group was looked at
};

// The node whose root folder is `host_root`: "/" for this machine. Holds the lock of the agent's
// state directory and that of the usual NRI socket meanwhile, so that no agent starts. Errors:
// kNotFound where no agent has used it; kExhausted when one runs, with whatever state directory; of
// the system where /proc is not to be read.
Result<NodeReleased> release_node(const std::string& host_root, const std::string& state_dir);

}  // namespace pinion::agent
