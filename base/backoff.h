// Pauses between tries that fail: each twice as long as the one before.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace pinion {

class Backoff {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // 0 < first <= longest.
  Backoff(Milliseconds first, Milliseconds longest)
      : first_(first), longest_(longest), next_(first) {}

  // How long to wait now.
  Milliseconds next() { return std::exchange(next_, std::min(2 * next_, longest_)); }
  // The next one is the first again.
  void reset() { next_ = first_; }

 private:
  Milliseconds first_;
  Milliseconds longest_;
  Milliseconds next_;
};

// Between half of the pause and all of it, so that many that failed together do not all come back
// together; `random` is from 0 to 1.
inline std::chrono::milliseconds jittered(std::chrono::milliseconds pause, double random) {
  const double whole = static_cast<double>(pause.count());
  return std::chrono::milliseconds(static_cast<long>(whole * (0.5 + random / 2)));
}

}  // namespace pinion
