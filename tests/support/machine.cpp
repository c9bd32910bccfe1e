#include "tests/support/machine.h"

#include <cstdio>
#include <cstdlib>

namespace pinion::test_support {
namespace {

using topology::CpuId;
using topology::Facts;
using topology::NodeId;
using topology::Topology;

int distance(const MachineSpec& spec, NodeId from, NodeId to) {
  const int with_cpus = spec.packages * spec.nodes_per_package;
  if (from == to) return 10;
  if (from >= with_cpus || to >= with_cpus) return 80;
  return from / spec.nodes_per_package == to / spec.nodes_per_package ? 12 : 32;
}

void add_nodes(const MachineSpec& spec, Facts& facts) {
  const int with_cpus = spec.packages * spec.nodes_per_package;
  const int all = with_cpus + spec.memory_only_nodes;
  for (NodeId node = 0; node < all; ++node) {
    Facts::Memory memory;
    memory.node = node;
    memory.bytes = node < with_cpus ? spec.memory_per_node : spec.memory_per_memory_only_node;
    for (NodeId to = 0; to < all; ++to) memory.distance.push_back(distance(spec, node, to));
    facts.memories.push_back(memory);
  }
}

void add_core(const MachineSpec& spec, int core, int cores, Facts& facts) {
  const int l3 = core / spec.cores_per_l3;
  const NodeId node = l3 / spec.l3s_per_node;
  for (int thread = 0; thread < spec.threads_per_core; ++thread) {
    const CpuId cpu = spec.siblings == Siblings::kLast ? thread * cores + core
                                                       : core * spec.threads_per_core + thread;
    if (spec.offline.contains(cpu)) continue;
    facts.threads.push_back({.cpu = cpu,
                             .core = core,
                             .l2 = core,
                             .l3 = l3,
                             .node = node,
                             .package = node / spec.nodes_per_package});
  }
}

}  // namespace

Facts facts_of(const MachineSpec& spec) {
  Facts facts;
  add_nodes(spec, facts);
  const int l3s = spec.packages * spec.nodes_per_package * spec.l3s_per_node;
  const int cores = l3s * spec.cores_per_l3;
  for (int core = 0; core < cores; ++core) {
    add_core(spec, core, cores, facts);
    facts.l2_sizes.emplace_back(core, kMiB);
  }
  for (int l3 = 0; l3 < l3s; ++l3) facts.l3_sizes.emplace_back(l3, 32 * kMiB);
  facts.devices = spec.devices;
  facts.offline = spec.offline;
  facts.isolated = spec.isolated;
  return facts;
}

Topology machine(const MachineSpec& spec) {
  return machine(facts_of(spec));
}

Topology machine(const Facts& facts) {
  auto made = topology::make_topology(facts);
  if (!made) {
    std::fprintf(stderr, "test machine: %s\n", made.error().text.c_str());
    std::abort();
  }
  return std::move(*made);
}

Topology single_cpu() {
  return machine({.memory_per_node = 2 * kGiB});
}

Topology two_core_vm() {
  return machine({.cores_per_l3 = 2, .memory_per_node = 8 * kGiB});
}

Topology laptop() {
  return machine({.cores_per_l3 = 4, .threads_per_core = 2, .siblings = Siblings::kAdjacent});
}

Topology xeon_snc2() {
  return machine({.packages = 2,
                  .nodes_per_package = 2,
                  .cores_per_l3 = 12,
                  .threads_per_core = 2,
                  .memory_per_node = 96 * kGiB});
}

Topology epyc_2s_nps4() {
  return machine({.packages = 2,
                  .nodes_per_package = 4,
                  .l3s_per_node = 2,
                  .cores_per_l3 = 8,
                  .threads_per_core = 2,
                  .memory_per_node = 64 * kGiB});
}

Topology epyc_rome_256() {
  return machine({.packages = 2,
                  .nodes_per_package = 4,
                  .l3s_per_node = 4,
                  .cores_per_l3 = 4,
                  .threads_per_core = 2,
                  .memory_per_node = 64 * kGiB});
}

Topology eight_nodes_256() {
  return machine(
      {.packages = 8, .cores_per_l3 = 16, .threads_per_core = 2, .memory_per_node = 128 * kGiB});
}

Topology gb200_like_34_nodes() {
  return machine({.packages = 2,
                  .cores_per_l3 = 72,
                  .memory_per_node = 480 * kGiB,
                  .memory_only_nodes = 32,
                  .memory_per_memory_only_node = 24 * kGiB});
}

Topology cxl_node() {
  return machine({.cores_per_l3 = 16,
                  .threads_per_core = 2,
                  .memory_per_node = 128 * kGiB,
                  .memory_only_nodes = 1,
                  .memory_per_memory_only_node = 256 * kGiB});
}

Topology mixed_nodes() {
  Facts facts = facts_of({.packages = 2,
                          .cores_per_l3 = 8,
                          .memory_per_node = 32 * kGiB,
                          .memory_only_nodes = 1,
                          .memory_per_memory_only_node = 64 * kGiB});
  facts.memories[0].bytes = 0;
  return machine(facts);
}

}  // namespace pinion::test_support
