// A dry run: what the agent would decide on a list of containers, without any pod.
#pragma once

#include <set>
#include <vector>

#include "policy/policy.h"
#include "topology/allocate.h"

namespace pinion::policy {

// As topology::plan(), but what not_allowed() refuses is refused with that text, as the agent does.
[[nodiscard]] topology::Plan plan(const topology::Topology& topology, topology::Ledger ledger,
                                  const std::vector<topology::Request>& requests,
                                  const std::set<Privilege>& privileges);

}  // namespace pinion::policy
