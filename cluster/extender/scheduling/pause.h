// What did not help is done again more and more seldom.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/backoff.h"

namespace pinion::cluster {

// 1 s, and twice as long each time, up to 60 s.
class Pause {
 public:
  // Also before the first begin().
  [[nodiscard]] bool over(std::int64_t now_ms) const { return now_ms >= until_ms_; }
  [[nodiscard]] std::int64_t until_ms() const { return until_ms_; }
  void begin(std::int64_t now_ms) { until_ms_ = now_ms + backoff_.next().count(); }

 private:
  std::int64_t until_ms_ = 0;
  Backoff backoff_{std::chrono::seconds(1), std::chrono::seconds(60)};
};

}  // namespace pinion::cluster
