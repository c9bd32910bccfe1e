// A machine as a text picture: packages, NUMA nodes, L3 domains, cores with their SMT siblings, and
// marks at CPUs. At most 100 columns wide, ASCII only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.h"

namespace pinion::ctl {

// CPUs that carry one mark in the picture. Where a CPU is in several layers the first one counts.
struct Layer {
  char mark = ' ';
  std::string name;  // for the legend
  topology::CpuSet cpus;
};

// Marks of containers, without those that every picture has (r, i, b).
inline constexpr std::string_view kMarks = "ABCDEFGHIJKLMNOPQRSTUVWXYZacdefghjklmnopqstuvwxyz";
inline constexpr char kMarkOfAll = '#';

// Gives each of these a mark of its own; where there are more than marks, one layer holds them all.
std::vector<Layer> container_layers(const std::vector<Layer>& holders);

// What every picture marks: `r` reserved, `i` isolated, `b` both. Layers without CPUs are left out.
std::vector<Layer> standing_layers(const topology::Topology& machine,
                                   const topology::CpuSet& reserved);

enum class CacheSizes {
  kKnown,    // a size of 0: there is no such cache
  kUnknown,  // the machine was told about without them
};

// The picture, with a legend of the layers and the offline CPUs (whose place nobody knows) below.
std::string draw_topology(const topology::Topology& machine, const std::vector<Layer>& layers,
                          CacheSizes sizes = CacheSizes::kKnown);

}  // namespace pinion::ctl
