// Refusals as sentences: internal to the allocator.
#pragma once

#include <optional>
#include <string>

#include "topology/allocate.h"

namespace pinion::topology {

// A request that no machine, or not this one for want of the device, can take (is_sound()).
[[nodiscard]] std::string text_of_unsound(const Topology& topology, const Request& request);

// A container that is to be resized where it is.
struct InPlace {
  Index domain = 0;  // by Refusal::align
  int has = 0;       // CPUs, counted as it asks for them
};

// The sentence for a refusal whose other members are filled in. NUMA nodes by the kernel's number.
// `in_place`: it is one of a resize.
[[nodiscard]] std::string text_of(const Topology& topology, const Ledger& ledger,
                                  const Request& request, const Refusal& refusal,
                                  const std::optional<InPlace>& in_place);

}  // namespace pinion::topology
