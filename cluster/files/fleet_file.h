// The fleet file of `pinionctl plan-job` and `pinion-sim run`: a YAML or JSON list of nodes.
//
//   - name: node               # the one key besides topology that must be there
//     count: 4                 # so many of them, named node-0 .. node-3
//     topology: "synthetic:package:2 [numa(memory=64GB)] l3:1 core:16 pu:1"  # as --topology
//     reserved-cpus: 0,16
//     strict-cpu-reservation: true  # they are for the system alone
//     reserved-memory: "0:memory=1Gi;1:memory=1Gi"  # what bound containers do not get; or a list
//     allowed-privileges: near-device,one-per-core  # what annotations may ask; the same in all
//     entries used: [1-8, 17-20]       # CPUs that containers have there already, one list for each
//
// Settings are called as the agent's flags are, and mean the same where they are absent.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/core/fleet.h"
#include "policy/policy.h"
#include "policy/reserved.h"
#include "topology/discover/discover.h"

namespace pinion::cluster {

inline constexpr int kMaxFleetNodes = 10'000;  // all counts together

struct FleetFileNode {
  std::string name;
  int count = 0;  // 0: one, of that very name
  topology::Source source;
  policy::Reserved reserved;
  std::set<policy::Privilege> privileges = policy::Defaults().privileges;
  std::vector<topology::CpuSet> used;
};

// Errors: kInvalid with "line N: ..." for bad YAML, an unknown key, or a value that is none; for
// other privileges than the first node has, as the extender knows one set for all.
Result<std::vector<FleetFileNode>> parse_fleet_file(const std::string& text);

// Reads the machines, each entry's once, and calls `take` with what the agent of each node would
// report. Errors: those of discover(), of check_reserved() and of `take`, and kInvalid for used
// CPUs that the machine does not have and for a name that is there twice; naming the node.
Status report_fleet(const std::vector<FleetFileNode>& nodes,
                    const std::function<Status(NodeReport)>& take);

// The same into a fleet, which is empty. Errors, besides: those of Fleet::report().
Status fill_fleet(const std::vector<FleetFileNode>& nodes, Fleet& fleet);

}  // namespace pinion::cluster
