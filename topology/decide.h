// From chosen CPUs to a decision: the last two conditions (memory, a CPU left for the others) and
// the record of why; internal to the allocator.
#pragma once

#include <optional>

#include "topology/pick.h"

namespace pinion::topology {

// The decision to hold exactly these CPUs, which lie in `place`; nullopt where their memory does
// not cover a bound limit or everybody else would be left without a CPU.
[[nodiscard]] std::optional<Decision> decide(const Criteria& criteria, Place place,
                                             const CpuSet& held);

// Where the CPUs lie, without the figures of a choice.
[[nodiscard]] Why why_there(const Topology& topology, Align asked, Place place);

}  // namespace pinion::topology
