// Refusals as sentences: internal to the allocator.
#pragma once

#include <string>

#include "topology/allocate.h"

namespace pinion::topology {

// A request that no machine, or not this one for want of the device, can take (is_sound()).
[[nodiscard]] std::string text_of_unsound(const Request& request);

// The sentence for a refusal whose other members are filled in. NUMA nodes by the kernel's number.
[[nodiscard]] std::string text_of(const Topology& topology, const Ledger& ledger,
                                  const Request& request, const Refusal& refusal);

}  // namespace pinion::topology
