#include "policy/plan.h"

#include <utility>

namespace pinion::policy {

topology::Plan plan(const topology::Topology& topology, topology::Ledger ledger,
                    const std::vector<topology::Request>& requests,
                    const std::set<Privilege>& privileges) {
  return topology::plan(topology, std::move(ledger), requests,
                        [&](const auto& one) { return not_allowed(one, privileges); });
}

}  // namespace pinion::policy
