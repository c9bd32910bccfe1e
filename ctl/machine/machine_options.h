// The options of every subcommand that looks at a machine: --topology and --reserved-cpus.
#pragma once

#include <CLI/App.hpp>
#include <vector>

#include "topology/discover/discover.h"
#include "topology/topology.h"

namespace pinion::ctl {

struct MachineOptions {
  topology::Source source;
  topology::CpuSet reserved;
};

struct ReservedMachine {
  topology::Topology topology;
  topology::CpuSet reserved;
};

// Adds both options to `command` and returns them; parsing it fills `options`, which must live as
// long. A text that is no source or no CPU list is an error in the usage.
std::vector<CLI::Option*> add_machine_options(CLI::App& command, MachineOptions& options);

// Discovers the machine. Errors: those of discover(); kInvalid for reserved CPUs that it has not.
Result<ReservedMachine> read_machine(const MachineOptions& options);

}  // namespace pinion::ctl
