// How fast a job runs with so many workers: as it was seen, else as its user says, else by
// Amdahl's law (1967) with a cautious share of serial work.
#pragma once

#include <span>
#include <vector>

namespace pinion::cluster {

struct SizeRate {
  int workers = 0;  // >= 1
  double rate = 0;  // work per second, > 0; 1: what is called one unit of work takes one second

  bool operator==(const SizeRate&) const = default;
};

// A cautious guess where nobody has said or seen anything: 16 workers are 6.4 times as fast as one.
inline constexpr double kCautiousSerial = 0.1;

class SpeedUp {
 public:
  // By Amdahl's law, so that rate(reference) is 1. Preconditions: 0 <= serial <= 1, reference >= 1.
  explicit SpeedUp(double serial = kCautiousSerial, int reference = 1);
  // As declared. The time of one unit of work, 1 / rate, is linear between the sizes (as in the
  // simulations of the elastic Charm++ paper, 4.3.1). Below the smallest size as many times slower
  // as there are fewer workers, above the largest no faster. Precondition: not empty, sizes differ.
  explicit SpeedUp(std::vector<SizeRate> declared);

  // What was seen counts from now on: exactly at its sizes; between and beyond them the shape of
  // what was known before, scaled by what was seen nearby. Of one size the last one counts.
  void see(std::span<const SizeRate> seen);

  // > 0. Precondition: workers >= 1.
  [[nodiscard]] double rate(int workers) const;

 private:
  struct Factor {
    int workers = 0;
    double factor = 1;
  };

  [[nodiscard]] double known_before(int workers) const;

  double serial_ = kCautiousSerial;
  int reference_ = 1;
  std::vector<SizeRate> declared_;  // by size; empty: Amdahl
  std::vector<Factor> seen_;        // by size: what was seen through known_before()
};

}  // namespace pinion::cluster
