// A plan as text: who got what and why, the machine with the containers on it, what would still
// fit.
#pragma once

#include <string>
#include <vector>

#include "topology/allocate.h"

namespace pinion::ctl {

// `plan` is what policy::plan() made of `requests`.
std::string draw_plan(const topology::Topology& machine,
                      const std::vector<topology::Request>& requests, const topology::Plan& plan);

// The same as data; the shape is described in ctl/README.md and only ever grows.
std::string plan_json(const topology::Topology& machine,
                      const std::vector<topology::Request>& requests, const topology::Plan& plan);

}  // namespace pinion::ctl
