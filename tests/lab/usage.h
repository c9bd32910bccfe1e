// What the threads of some containers did over a while: where they ran and what it cost them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/lab/cgroup_tree.h"
#include "tests/lab/files.h"

namespace pinion::lab {

struct ThreadUse {
  int tid = 0;
  std::string comm;
  topology::CpuSet ran_on;        // CPUs that it was seen to run on
  std::uint64_t migrations = 0;   // by the kernel's count; by what was seen where it has none
  std::uint64_t preemptions = 0;  // involuntary context switches
  double cpu_seconds = 0;
};

struct ContainerUse {
  std::vector<ThreadUse> threads;  // those that used any CPU time, ascending by id
  double seconds = 0;              // how long was looked

  [[nodiscard]] double cpu_seconds() const;
  [[nodiscard]] std::uint64_t migrations() const;
  [[nodiscard]] std::uint64_t preemptions() const;
};

// Looks at the containers' cgroups (paths) every `interval` for `duration`; in their order.
std::vector<ContainerUse> measure(const CgroupTree& tree, const std::vector<std::string>& cgroups,
                                  Milliseconds duration, Milliseconds interval);

}  // namespace pinion::lab
