// systemd's format of CPU sets on D-Bus (type "ay"): bit N of byte M stands for CPU 8 * M + N.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/cpuset.h"

namespace pinion::systemd {

// Trailing zero bytes are allowed, and no byte at all is the empty set. Errors: kInvalid for a CPU
// that CpuSet cannot hold.
Result<topology::CpuSet> parse_cpu_bytes(std::span<const std::uint8_t> bytes);

// Without trailing zero bytes. Empty set: no byte, which systemd takes for "not set".
[[nodiscard]] std::vector<std::uint8_t> to_cpu_bytes(const topology::CpuSet& cpus);

}  // namespace pinion::systemd
