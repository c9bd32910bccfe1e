// A machine as a text picture: packages, NUMA nodes, L3 domains, cores with their SMT siblings, and
// marks at CPUs. At most 100 columns wide, ASCII only.
#pragma once

#include <string>
#include <vector>

#include "topology/topology.h"

namespace pinion::ctl {

// CPUs that carry one mark in the picture. Where a CPU is in several layers the first one counts.
struct Layer {
  char mark = ' ';
  std::string name;  // for the legend
  topology::CpuSet cpus;
};

// What every picture marks: `r` reserved, `i` isolated, `b` both. Layers without CPUs are left out.
std::vector<Layer> standing_layers(const topology::Topology& machine,
                                   const topology::CpuSet& reserved);

// The picture, with a legend of the layers and the offline CPUs (whose place nobody knows) below.
std::string draw_topology(const topology::Topology& machine, const std::vector<Layer>& layers);

}  // namespace pinion::ctl
