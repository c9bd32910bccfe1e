// What the kernel's own files say about CPUs and NUMA nodes, where hwloc's view is a derived one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/topology.h"

namespace pinion::topology {

struct KernelFiles {
  CpuSet offline;   // /sys/devices/system/cpu/present without /sys/devices/system/cpu/online
  CpuSet isolated;  // /sys/devices/system/cpu/isolated
  // nodeN/cpulist of each directory /sys/devices/system/node/nodeN, ascending by N; empty on a
  // kernel without NUMA.
  std::vector<std::pair<NodeId, CpuSet>> nodes;
};

// Whether the tree below `root` tells how its CPUs are built (cpuN/topology of CPU 0 or of the
// first online one). Where it does not, hwloc would describe the machine it runs on instead.
bool tells_cpus(const std::string& root);

// Reads them below `root` ("" for this machine). A file that is not there counts as empty.
// Error: kInvalid, naming the file, for one that is not in the kernel's list format.
Result<KernelFiles> read_kernel_files(const std::string& root);

}  // namespace pinion::topology
