// The time of day, for what is written down on objects that other replicas read.
#pragma once

#include <chrono>
#include <cstdint>

namespace pinion::cluster {

// Milliseconds since 1970.
[[nodiscard]] inline std::int64_t unix_ms() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
}

}  // namespace pinion::cluster
