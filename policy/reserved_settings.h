// What an operator keeps back of a node: read by the agent from its file, by `pinionctl plan` from
// its options, and from a fleet file.
#pragma once

#include <optional>

#include "base/settings/settings.h"
#include "topology/reserved_memory.h"

namespace pinion::policy {

// What they set must outlive them.
[[nodiscard]] settings::Setting reserved_cpus(topology::CpuSet& reserved);  // reservedSystemCPUs
// reservedMemory, in the syntax of the kubelet's file or flag. Unset: usual_reserved_memory().
[[nodiscard]] settings::Setting reserved_memory(std::optional<topology::ReservedMemory>& reserved);

}  // namespace pinion::policy
