// The kernel's mask format of CPU sets: hexadecimal words of 32 CPUs, the highest first.
#pragma once

#include <string>
#include <string_view>

#include "topology/cpuset.h"

namespace pinion::noise {

// Reads "ff" or "00000000,0000000f"; a trailing newline is allowed, also fewer than 8 digits in a
// word. Errors: kInvalid for anything else, or a CPU that CpuSet cannot hold.
Result<topology::CpuSet> parse_mask(std::string_view mask);

// As the kernel reads it: without leading zeros in the first word. Empty set: "0".
[[nodiscard]] std::string to_mask(const topology::CpuSet& cpus);

}  // namespace pinion::noise
