// What an operator keeps back of a node.
#pragma once

#include <optional>

#include "base/error.h"
#include "topology/reserved_memory.h"

namespace pinion::policy {

struct Reserved {
  topology::CpuSet cpus = {};  // reservedSystemCPUs: no container gets them alone
  bool strict = false;         // strict-cpu-reservation, as Ledger::strict()
  // reservedMemory; unset: usual_reserved_memory().
  std::optional<topology::ReservedMemory> memory = {};

  [[nodiscard]] topology::ReservedMemory memory_of(const topology::Topology& machine) const {
    return memory ? *memory : topology::usual_reserved_memory(machine);
  }
};

// Errors: kInvalid, naming the setting, for CPUs and NUMA nodes that the machine does not have, for
// a node that has no more memory than is reserved, and where no CPU would be left for containers.
Status check_reserved(const Reserved& reserved, const topology::Topology& machine);

// The siblings that are not reserved themselves, of reserved CPUs: whoever gets one shares the core
// with what the reservation is for.
topology::CpuSet siblings_of_reserved(const topology::CpuSet& reserved,
                                      const topology::Topology& machine);

}  // namespace pinion::policy
