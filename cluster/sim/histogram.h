// Percentiles of durations in memory that does not grow with their number.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "cluster/sim/job.h"

namespace pinion::sim {

// Exact below 512 ms, else the middle of a bucket no wider than 1/256 of its value.
class Histogram {
 public:
  // Precondition: value >= 0.
  void add(Ms value) {
    const std::size_t bucket = bucket_of(value);
    if (bucket >= counts_.size()) counts_.resize(bucket + 1);
    ++counts_[bucket];
    ++count_;
  }
  // The smallest value that `share` of all do not pass, 0 < share <= 1. 0 where there are none.
  [[nodiscard]] double percentile(double share) const {
    const double rank = share * static_cast<double>(count_);
    double seen = 0;
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      seen += static_cast<double>(counts_[bucket]);
      if (seen >= rank && seen > 0) return value_of(bucket);
    }
    return 0;
  }

 private:
  static constexpr int kBits = 8;
  static constexpr std::uint64_t kHalf = std::uint64_t{1} << kBits;

  static std::size_t bucket_of(Ms value) {
    const auto bits = static_cast<std::uint64_t>(value);
    if (bits < 2 * kHalf) return bits;
    const int shift = static_cast<int>(std::bit_width(bits)) - kBits - 1;
    return static_cast<std::size_t>(shift) * kHalf + (bits >> shift);
  }
  static double value_of(std::size_t bucket) {
    if (bucket < 2 * kHalf) return static_cast<double>(bucket);
    const auto shift = static_cast<int>(bucket / kHalf) - 1;
    const std::uint64_t top = bucket % kHalf + kHalf;
    const double low = static_cast<double>(top << shift);
    return low + static_cast<double>((std::uint64_t{1} << shift) - 1) / 2;
  }

  std::vector<std::int64_t> counts_;
  std::int64_t count_ = 0;
};

}  // namespace pinion::sim
