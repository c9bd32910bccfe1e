// Whether slots are becoming free: those of a job that ends come back one by one, as its processes
// end and its system clears up. No clock: the caller says what time it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace pinion::cluster {

class Settling {
 public:
  // What follows within so long belongs together: longer than processes take to end that need not
  // be killed.
  static constexpr std::int64_t kSettleMs = 5'000;
  // Where jobs end all the time, it has settled once at least in so long and a look.
  static constexpr std::int64_t kLongestMs = 30'000;

  // So many slots are free now; any clock that never goes back. True: more than before have become
  // free in the last kSettleMs. The first look counts as such: who has just begun to look may see
  // but a part.
  bool look(std::int64_t free, std::int64_t now_ms) {
    if (!free_ || free > *free_) {
      if (!settles_) since_ms_ = now_ms;
      rose_ms_ = now_ms;
      settles_ = true;
    }
    free_ = free;
    settles_ = settles_ && now_ms - rose_ms_ < kSettleMs && now_ms - since_ms_ < kLongestMs;
    return settles_;
  }

  // When it will have settled if nothing more becomes free. Precondition: look() said true last.
  [[nodiscard]] std::int64_t settles_at_ms() const {
    return std::min(rose_ms_ + kSettleMs, since_ms_ + kLongestMs);
  }

 private:
  std::optional<std::int64_t> free_;  // at the last look
  std::int64_t rose_ms_ = 0;
  std::int64_t since_ms_ = 0;  // without a pause
  bool settles_ = false;
};

}  // namespace pinion::cluster
