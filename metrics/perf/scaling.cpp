#include "metrics/perf/scaling.h"

#include <limits>

namespace pinion::metrics::perf {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
// 64-bit cycles times 64-bit nanoseconds do not fit in 64 bits after some hours.
__extension__ using Wide = unsigned __int128;

}  // namespace

std::uint64_t scale(const Reading& reading) {
  if (reading.running == 0 || reading.running >= reading.enabled) return reading.value;
  const Wide product = Wide{reading.value} * reading.enabled;  // fits: both below 2^64
  const Wide quotient = product / reading.running;
  const Wide rest = product % reading.running;
  const bool up = rest >= reading.running - rest;
  if (quotient >= kMost) return kMost;
  return static_cast<std::uint64_t>(quotient) + (up ? 1 : 0);
}

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > kMost - b ? kMost : a + b;
}

}  // namespace pinion::metrics::perf
