// The requests file of `pinionctl plan`: a YAML or JSON list of containers, with keys named like
// the pod annotations.
//
//   - id: solver          # container; default "container-N" by position, from 1
//     count: 4            # so many of them, named solver-0 .. solver-3
//     cpus: 8             # the one key that must be there
//     align: numa         # l3, numa, socket, none
//     strength: required  # required, preferred; default: required with a job, else preferred
//     smt: full-core      # prefer-full (default), full-core, one-per-core, pack
//     memory: 4Gi         # limit of each, as Kubernetes writes quantities
//     memory-policy: bind # bind, preferred, any; default: topology::usual_memory_policy()
//     isolation: none     # none, isolated
//     near-device: mlx5_0
//     job: wind
//     task-group: wind-0
//     profile: memory     # cpu, memory, network
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "topology/allocate.h"

namespace pinion::ctl {

inline constexpr int kMaxRequests = 10000;  // all counts together

// Errors: kInvalid with "line N: ..." for bad YAML, a second document, an unknown key or word,
// a number out of range, an id given twice, or more than kMaxRequests.
Result<std::vector<topology::Request>> parse_requests(const std::string& text);

}  // namespace pinion::ctl
