// Any readings, any re-openings: a total never goes back, and never misses what a reading has that
// is beyond all before it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "metrics/perf/carry.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::perf_carry {
PINION_FUZZ_TARGET(perf_carry) {
  using namespace pinion::metrics::perf;
  Carry carry;
  std::uint64_t most = 0;     // of this life's values
  std::uint64_t earlier = 0;  // total when this life began
  for (std::size_t at = 0; at + 25 <= size; at += 25) {
    if ((data[at] & 3U) == 0) {
      carry.reopened();
      most = 0;
      earlier = carry.total();
    }
    std::uint64_t words[3];
    std::memcpy(words, data + at + 1, sizeof(words));
    const unsigned shift = data[at] >> 2U;
    const Reading reading{words[0] >> shift, words[1] >> shift, words[2] >> shift};
    const std::uint64_t before = carry.total();
    carry.read(reading);
    if (carry.total() < before) std::abort();
    if (reading.value > most) most = reading.value;
    if (carry.total() < saturating_add(earlier, most)) std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::perf_carry
