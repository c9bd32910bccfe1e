// CPU masks take any bytes; what they accept is the same set when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/noise/cpu_mask.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::agent_noise_mask {
PINION_FUZZ_TARGET(agent_noise_mask) {
  using namespace pinion::noise;
  const auto cpus = parse_mask({reinterpret_cast<const char*>(data), size});
  if (!cpus) return 0;
  const auto again = parse_mask(to_mask(*cpus));
  if (!again || !(*again == *cpus)) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::agent_noise_mask
