// The clocks of the program's adapters, as numbers.
#pragma once

#include <chrono>
#include <cstdint>

namespace pinion::cluster {

// Milliseconds since 1970, for what is written down on objects that other replicas read.
[[nodiscard]] inline std::int64_t unix_ms() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
}

// Seconds of the steady clock, for what is measured here.
[[nodiscard]] inline double steady_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace pinion::cluster
