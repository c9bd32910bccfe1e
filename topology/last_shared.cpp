#include "topology/last_shared.h"

namespace pinion::topology {

bool leaves_nothing_shared(const Topology& topology, const Ledger& ledger, bool strict_reservation,
                           const Claim& claim) {
  CpuSet left = topology.online - ledger.exclusive();
  if (strict_reservation) left -= ledger.reserved();
  if (const Claim* own = ledger.find(claim.id)) left |= own->cpus;
  return left.is_subset_of(claim.cpus);
}

}  // namespace pinion::topology
