// The options of a plan without an agent: a machine, and the agent's settings that say what it
// gives away there.
#pragma once

#include <CLI/App.hpp>
#include <set>

#include "ctl/machine/machine_options.h"
#include "policy/policy.h"
#include "policy/reserved.h"

namespace pinion::ctl {

struct NodeOptions {
  MachineOptions machine;
  bool strict_reservation = false;
  std::optional<topology::ReservedMemory> reserved_memory;  // as in policy::Reserved
  std::set<policy::Privilege> privileges = policy::Defaults().privileges;
};

// Adds them to `command`, by the agent's own flags; parsing fills `options`, which must live as
// long. Returns them: all speak of another node than a running agent's.
std::vector<CLI::Option*> add_node_options(CLI::App& command, NodeOptions& options);

// A node on which nothing runs.
struct IdleNode {
  topology::Topology topology;  // without the reserved memory, as an agent shows it
  topology::Ledger ledger;
};
// Errors: those of read_machine(); kInvalid where an agent with these settings would not start.
Result<IdleNode> read_node(const NodeOptions& options);

}  // namespace pinion::ctl
