// What the threads of some containers did over a while: where they ran and what it cost them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/lab/cgroup_tree.h"
#include "tests/lab/files.h"
#include "topology/topology.h"

namespace pinion::lab {

struct ThreadUse {
  int tid = 0;
  std::string comm;
  topology::CpuSet ran_on;        // CPUs that it was seen to run on
  std::uint64_t migrations = 0;   // by the kernel's count; by what was seen where it has none
  std::uint64_t preemptions = 0;  // involuntary context switches
  double cpu_seconds = 0;
  std::optional<double> wait_seconds;  // ready to run, but another had the CPU
};

struct ContainerUse {
  std::vector<ThreadUse> threads;  // those that used any CPU time, ascending by id
  double seconds = 0;              // how long was looked
  // Mean share of its pages that lay on the node where the process had last run, 0 to 1. Not set on
  // a machine of one node.
  std::optional<double> local_memory;

  [[nodiscard]] double cpu_seconds() const;
  [[nodiscard]] std::uint64_t migrations() const;
  [[nodiscard]] std::uint64_t preemptions() const;
  // Not set where the kernel does not say.
  [[nodiscard]] std::optional<double> wait_seconds() const;
};

// Looks at the containers' cgroups (paths) every `interval` for `duration`; in their order. At
// their memory on `machine`'s nodes every 100 ms, where one is given.
std::vector<ContainerUse> measure(const CgroupTree& tree, const std::vector<std::string>& cgroups,
                                  Milliseconds duration, Milliseconds interval,
                                  const topology::Topology* machine = nullptr);

// Looks at one container, whose tasks come and go, every `interval` until `done` or for `limit`.
// All that its tasks did since they began; of a task that ended, without its last interval.
ContainerUse measure_until(const CgroupTree& tree, const std::string& cgroup,
                           const std::function<bool()>& done, Milliseconds limit,
                           Milliseconds interval);

}  // namespace pinion::lab
