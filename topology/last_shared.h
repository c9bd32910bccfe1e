// The rule that the allocator does not know, because it is about everybody else.
#pragma once

#include "topology/ledger.h"

namespace pinion::topology {

// Whether containers without CPUs of their own would have none left if `claim` were committed, in
// place of the one that the ledger has under its id. With `strict_reservation` the reserved CPUs
// are not theirs.
[[nodiscard]] bool leaves_nothing_shared(const Topology& topology, const Ledger& ledger,
                                         bool strict_reservation, const Claim& claim);

}  // namespace pinion::topology
