// A machine as JSON; the shape is described in ctl/README.md and only ever grows.
#pragma once

#include <string>

#include "topology/topology.h"

namespace pinion::ctl {

// Indented by two, with a newline at the end.
std::string topology_json(const topology::Topology& machine, const topology::CpuSet& reserved);

}  // namespace pinion::ctl
