// Snapshots for tests, and files beside which their pictures are checked in.
#pragma once

#include <string>

#include "proto/pinion/v1/node.pb.h"
#include "topology/topology.h"

namespace pinion::ctl {

struct SampleContainer {
  std::string name;  // "namespace/pod/container"; its id, too
  std::string job{};
  std::string group{};
  std::string cpus{};     // empty: shared
  double used = 0;        // CPUs
  double migrations = 0;  // per second
  double intrusion = -1;  // share; below 0: not known
  bool hardware = false;  // whether cycles, misses and remote accesses are counted
  std::string trouble{};
};

// A node with these containers, the lowest CPU reserved.
v1::Snapshot sample_of(const topology::Topology& machine,
                       const std::vector<SampleContainer>& containers);

// 2 CPUs: one rank and two others, no hardware events.
v1::Snapshot small_sample();
// 256 CPUs in 8 NUMA nodes and 32 L3 domains: 20 ranks of 8 CPUs and a few others, everything
// counted, some trouble.
v1::Snapshot large_sample();
topology::Topology small_machine();
topology::Topology large_machine();

}  // namespace pinion::ctl
