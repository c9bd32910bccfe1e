// The limit on descriptors of this process.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace pinion::metrics::perf {

// Descriptors that the agent may want for all else: listeners and their connections, files, the
// runtime's connection.
inline constexpr std::uint64_t kReservedDescriptors = 1024;

// Raises the soft limit to the hard one if `need` descriptors and `reserve` others do not fit
// otherwise. Error: kExhausted when the hard limit is too small as well; the soft limit is raised
// even then, and the text names what is missing. No other limit counts here: without a ring buffer
// an event locks no memory.
Status ensure_descriptors(std::uint64_t need, std::uint64_t reserve = kReservedDescriptors);

}  // namespace pinion::metrics::perf
