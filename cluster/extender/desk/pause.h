// What did not help is done again more and more seldom.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pinion::cluster {

// 1 s, and twice as long each time, up to 60 s.
class Pause {
 public:
  // Also before the first begin().
  [[nodiscard]] bool over(std::int64_t now_ms) const { return now_ms >= until_ms_; }
  void begin(std::int64_t now_ms) {
    until_ms_ = now_ms + next_ms_;
    next_ms_ = std::min(2 * next_ms_, kLongestMs);
  }

 private:
  static constexpr std::int64_t kLongestMs = 60'000;

  std::int64_t until_ms_ = 0;
  std::int64_t next_ms_ = 1000;
};

}  // namespace pinion::cluster
