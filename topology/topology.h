// The machine as values: what every decision looks at. Built once by topology/discover (or by a
// test), then only read. Elements of one kind live in a vector and are named by their index there
// (dense: 0, 1, 2 ...); only CPUs and NUMA nodes also carry the kernel's own number, because cpuset
// files speak of those.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/cpuset.h"

namespace pinion::topology {

using Bytes = std::uint64_t;
using Index = int;                     // of an element in its vector
inline constexpr Index kNoIndex = -1;  // no such element

// A processing unit: one logical CPU (an SMT thread where cores have several).
struct Pu {
  CpuId cpu = 0;  // the kernel's number
  Index core = kNoIndex;
  Index l2 = kNoIndex;
  Index l3 = kNoIndex;
  Index node = kNoIndex;  // its NUMA node
  Index package = kNoIndex;

  bool operator==(const Pu&) const = default;
};

struct Core {
  CpuSet cpus;  // its SMT siblings that are online
  Index l2 = kNoIndex;
  Index l3 = kNoIndex;
  Index node = kNoIndex;
  Index package = kNoIndex;

  bool operator==(const Core&) const = default;
};

// The CPUs behind one cache. An L3 domain never crosses a NUMA node: where the hardware's cache
// does (sub-NUMA clustering) there is one domain for each node, so that every L3 domain lies inside
// one node. Where a CPU has no cache of that level, its core (L2) or its node within its package
// (L3) stands in and `size` is 0.
struct Cache {
  CpuSet cpus;
  Bytes size = 0;
  Index node = kNoIndex;
  Index package = kNoIndex;

  bool operator==(const Cache&) const = default;
};

enum class DeviceKind { kNetwork, kGpu };

struct Device {
  DeviceKind kind = DeviceKind::kNetwork;
  std::string name;       // "eth0", "mlx5_0", "card0", "nvml0"; else the PCI address
  std::string pci;        // "0000:3b:00.0"; empty when unknown
  Index node = kNoIndex;  // nearest NUMA node; kNoIndex when the machine does not say

  bool operator==(const Device&) const = default;
};

struct Node {
  NodeId id = 0;              // the kernel's number
  CpuSet cpus;                // empty: memory only (CXL, HBM in flat mode)
  Bytes memory = 0;           // 0: no memory (CPUs only)
  Index package = kNoIndex;   // kNoIndex when it belongs to none or spans several
  std::vector<int> distance;  // to each node, by index; 10 is local (ACPI SLIT); empty when unknown

  bool operator==(const Node&) const = default;
};

struct Package {
  CpuSet cpus;

  bool operator==(const Package&) const = default;
};

struct Topology {
  std::vector<Pu> pus;      // online CPUs, ascending by cpu
  std::vector<Core> cores;  // ascending by lowest cpu, as are the next four
  std::vector<Cache> l2s;
  std::vector<Cache> l3s;
  std::vector<Node> nodes;  // ascending by id
  std::vector<Package> packages;
  std::vector<Device> devices;  // ascending by (node, kind, name)

  CpuSet online;
  CpuSet offline;   // present and not online
  CpuSet isolated;  // isolcpus= on the kernel's command line

  std::vector<Index> pu_of_cpu;  // by CpuId: index into pus, kNoIndex when not online

  // The PU of an online CPU, or nullptr.
  [[nodiscard]] const Pu* find(CpuId cpu) const;
  // The node with this kernel number, or kNoIndex.
  [[nodiscard]] Index node_index(NodeId id) const;
  // Kernel numbers of the nodes that own any of these CPUs and have memory. A CPU-less or
  // memory-less machine part contributes nothing.
  [[nodiscard]] NodeSet nodes_of(const CpuSet& cpus) const;
  // Kernel numbers of all nodes with memory.
  [[nodiscard]] NodeSet memory_nodes() const;

  bool operator==(const Topology&) const = default;
};

// A machine as flat facts, from which make_topology builds the dense tables: what discovery reads
// and what tests write down.
struct Facts {
  struct Thread {
    CpuId cpu = 0;
    int core = 0;  // any numbers: equal means the same core, cache, node or package
    int l2 = -1;   // -1: no such cache
    int l3 = -1;
    NodeId node = 0;  // the kernel's number; -1: in no node
    int package = 0;
  };
  struct Memory {
    NodeId node = 0;
    Bytes bytes = 0;
    std::vector<int> distance;  // by position in `memories`; empty when unknown
  };
  std::vector<Thread> threads;  // online ones, any order
  std::vector<Memory> memories;
  std::vector<std::pair<int, Bytes>> l2_sizes;  // cache number of `threads` -> size
  std::vector<std::pair<int, Bytes>> l3_sizes;
  std::vector<Device> devices;  // `node` is the kernel's number here, -1 when unknown
  CpuSet offline;
  CpuSet isolated;
};

// Errors: kInvalid, naming the fault, for a machine without CPUs, a CPU given twice, a node given
// twice, a thread in a node that `memories` does not list, or a distance row of the wrong length.
Result<Topology> make_topology(const Facts& facts);

}  // namespace pinion::topology
