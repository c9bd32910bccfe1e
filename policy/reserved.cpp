#include "policy/reserved.h"

namespace pinion::policy {

Status check_reserved(const Reserved& reserved, const topology::Topology& machine) {
  const topology::CpuSet all = machine.online | machine.offline;
  if (!reserved.cpus.is_subset_of(all)) {
    return failure(Errc::kInvalid, "reservedSystemCPUs: CPUs " + (reserved.cpus - all).to_string() +
                                       " do not exist, this machine has " + all.to_string());
  }
  if (reserved.strict && machine.online.is_subset_of(reserved.cpus)) {
    return failure(Errc::kInvalid,
                   "reservedSystemCPUs: with strict-cpu-reservation at least one CPU must be left "
                   "for containers");
  }
  for (const auto& [id, bytes] : reserved.memory.value_or(topology::ReservedMemory())) {
    const topology::Index index = machine.node_index(id);
    const std::string node = "reservedMemory: NUMA node " + std::to_string(id);
    if (index == topology::kNoIndex) return failure(Errc::kInvalid, node + " does not exist");
    const topology::Bytes has = machine.nodes[static_cast<std::size_t>(index)].memory;
    if (has > 0 && bytes >= has) {
      return failure(Errc::kInvalid, node + " has only " + std::to_string(has) + " bytes, and " +
                                         std::to_string(bytes) + " are reserved");
    }
  }
  return {};
}

topology::CpuSet siblings_of_reserved(const topology::CpuSet& reserved,
                                      const topology::Topology& machine) {
  topology::CpuSet siblings;
  for (const topology::Core& core : machine.cores) {
    if (core.cpus.intersects(reserved)) siblings |= core.cpus - reserved;
  }
  return siblings;
}

}  // namespace pinion::policy
