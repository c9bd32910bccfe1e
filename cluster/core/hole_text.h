// What a container needs, in words without any node's name: refusals with equal causes read the
// same.
#pragma once

#include <string>

#include "topology/allocate.h"

namespace pinion::cluster {

// The alignment that the request may climb to.
[[nodiscard]] topology::Align widest_align(const topology::Request& request);
// Whether memory beside its CPUs is promised to it.
[[nodiscard]] bool binds_memory(const topology::Request& request);
// "8 CPUs and 16 GiB in one NUMA node"
[[nodiscard]] std::string hole_text(const topology::Request& request);

}  // namespace pinion::cluster
