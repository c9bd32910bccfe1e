// How often something took how long, in fixed buckets. A value without lock: one thread observes,
// copies are handed to others. Not only for Prometheus: the NRI layer keeps one for each method.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace pinion::prometheus {

class Histogram {
 public:
  // Upper bounds in seconds, each included in its bucket. Of calls: from what an answer without any
  // work takes to the time after which the runtime gives a plugin up.
  using Bounds = std::array<double, 15>;
  static constexpr Bounds kCalls{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                 0.025,   0.05,   0.1,     0.25,   0.5,   1,      2};

  // Of jobs that wait, told in whole seconds: up to a day.
  static constexpr Bounds kWaits{0.5, 1,   2,    5,    10,   30,    60,   120,
                                 300, 600, 1800, 3600, 7200, 21600, 86400};

  Histogram() : Histogram(kCalls) {}
  explicit Histogram(const Bounds& bounds) : bounds_(bounds) {}

  // Below 0 (a clock that went back) counts as 0; what is no number is left out.
  void observe(double seconds) {
    if (!(seconds == seconds)) return;
    seconds = std::max(seconds, 0.0);
    const auto* const bound = std::lower_bound(bounds_.begin(), bounds_.end(), seconds);
    ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
    ++count_;
    sum_ += seconds;
  }

  [[nodiscard]] const Bounds& bounds() const { return bounds_; }
  // Observations of at most bounds()[bucket] seconds.
  [[nodiscard]] std::uint64_t cumulative(std::size_t bucket) const {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i <= bucket; ++i) total += counts_[i];
    return total;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }  // seconds

  bool operator==(const Histogram&) const = default;

 private:
  Bounds bounds_;
  std::array<std::uint64_t, std::tuple_size_v<Bounds> + 1>
      counts_{};  // the last: more than all bounds
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace pinion::prometheus
