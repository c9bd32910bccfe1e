// Whether the main loop still turns, for who asks on another thread.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace pinion::agent {

class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;

  // Longer than any piece of the main loop's work, which is meant to take milliseconds, and than
  // its longest wait, a second.
  static constexpr std::chrono::seconds kPatience{10};

  explicit Heartbeat(Clock::time_point now) : last_(now) {}

  void beat(Clock::time_point now) { last_ = now; }
  // Empty: it beats.
  [[nodiscard]] std::string missing(Clock::time_point now) const {
    const auto silent = std::chrono::duration_cast<std::chrono::seconds>(now - last_.load());
    if (silent <= kPatience) return {};
    return "the main loop has hung for " + std::to_string(silent.count()) + " s";
  }

 private:
  std::atomic<Clock::time_point> last_;
};

}  // namespace pinion::agent
