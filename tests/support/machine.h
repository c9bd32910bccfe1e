// Machines for tests, written as a few numbers or called by name.
#pragma once

#include <vector>

#include "topology/topology.h"

namespace pinion::test_support {

inline constexpr topology::Bytes kGiB = topology::Bytes{1} << 30;
inline constexpr topology::Bytes kMiB = topology::Bytes{1} << 20;

enum class Siblings {
  kLast,      // as Linux on most x86 machines: first threads of all cores, then all second threads
  kAdjacent,  // as many virtual machines and POWER: 0-1 are one core, 2-3 the next
};

// A regular machine. All counts >= 1, except memory_only_nodes >= 0.
struct MachineSpec {
  int packages = 1;
  int nodes_per_package = 1;
  int l3s_per_node = 1;
  int cores_per_l3 = 1;
  int threads_per_core = 1;
  topology::Bytes memory_per_node = 16 * kGiB;
  int memory_only_nodes = 0;  // numbered after the nodes with CPUs
  topology::Bytes memory_per_memory_only_node = 16 * kGiB;
  Siblings siblings = Siblings::kLast;
  topology::CpuSet offline{};  // of the CPUs that the counts make
  topology::CpuSet isolated{};
  std::vector<topology::Device> devices{};  // `node` is the kernel's number
};

// Nodes, L3s (32 MiB), L2s (1 MiB for each core) and cores numbered in order. Distances: 10 local,
// 12 within a package, 32 across packages, 80 to a memory-only node.
topology::Facts facts_of(const MachineSpec& spec);
// make_topology of these facts; a spec that it refuses is a defect of the test and stops it.
topology::Topology machine(const MachineSpec& spec);
topology::Topology machine(const topology::Facts& facts);

topology::Topology single_cpu();       // 1 CPU, 2 GiB
topology::Topology two_core_vm();      // 2 CPUs, 1 node
topology::Topology laptop();           // 4 cores x 2 threads, 1 L3, 1 node
topology::Topology xeon_snc2();        // 2 packages x 2 nodes x 12 cores x 2 threads: 96 CPUs
topology::Topology epyc_2s_nps4();     // 2 packages x 4 nodes x 2 L3 x 8 cores x 2: 256 CPUs, 16 L3
topology::Topology epyc_rome_256();    // 2 packages x 4 nodes x 4 L3 x 4 cores x 2: 256 CPUs, 32 L3
topology::Topology eight_nodes_256();  // 8 packages of 1 node, 1 L3, 16 cores x 2 threads
topology::Topology gb200_like_34_nodes();  // 2 x 72 cores without SMT, 32 memory-only GPU nodes
topology::Topology cxl_node();             // 16 cores x 2 threads, 1 node, 1 memory-only node
// 2 packages of 8 cores; node 0 has CPUs and no memory, node 1 both, node 2 memory and no CPUs.
topology::Topology mixed_nodes();

}  // namespace pinion::test_support
