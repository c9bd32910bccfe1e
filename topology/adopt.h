// Taking over what already runs: a container keeps exactly the CPUs it is on.
#pragma once

#include "topology/allocate.h"

namespace pinion::topology {

// The claim of a container that stays on `cpus`, whatever alignment it asked for. Refused, with the
// reason, when their number is not request.cpus, or one of them is offline (kTopology), reserved
// (kReserved) or held by another claim, SMT siblings under kOnePerCore included (kCpus), or nobody
// else would have a CPU (kLastShared). Memory is
// promised even beyond what is left: it is in use already. `mems`: the nodes whose memory it may
// use now (kernel numbers); one that is bound keeps them.
[[nodiscard]] Outcome adopt(const Topology& topology, const Ledger& ledger, const Request& request,
                            const CpuSet& cpus, const NodeSet& mems = {});

}  // namespace pinion::topology
