// Waits for what other threads do, without taking a CPU from them.
#pragma once

#include <chrono>
#include <thread>

namespace pinion::test_support {

// True as soon as `condition` is; false when it is not within a time that is too long for anything.
template <class Condition>
[[nodiscard]] bool eventually(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace pinion::test_support
