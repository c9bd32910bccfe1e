// Pauses between tries that fail: twice as long each time, with jitter, so that many clients of a
// server that comes back do not come all at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>

namespace pinion::kube {

// From 0 to below 1.
using Random = std::function<double()>;

class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds longest)
      : first_(first), longest_(longest), next_(first) {}

  // Between half of the pause and all of it; the pause doubles up to the longest.
  std::chrono::milliseconds next(const Random& random) {
    const auto pause = static_cast<double>(next_.count());
    next_ = std::min(next_ * 2, longest_);
    return std::chrono::milliseconds(static_cast<long>(pause * (0.5 + random() / 2)));
  }
  void reset() { next_ = first_; }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds longest_;
  std::chrono::milliseconds next_;
};

// Seeded by the system; for one thread.
Random system_random();

}  // namespace pinion::kube
