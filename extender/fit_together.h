// Several containers of one pod on one node, each beside the others.
#pragma once

#include <vector>

#include "extender/fleet.h"

namespace pinion::extender {

// Whether the node's machine, with this ledger, gives all of them their CPUs.
[[nodiscard]] bool grants_all(const FleetNode& node, topology::Ledger ledger,
                              const std::vector<topology::Request>& requests);

// Whether the node would take all of them now; never a stale one. Precondition: one or more, and an
// index below the fleet's size.
[[nodiscard]] bool fits_together(const Fleet& fleet, NodeIndex node,
                                 const std::vector<topology::Request>& requests);

}  // namespace pinion::extender
