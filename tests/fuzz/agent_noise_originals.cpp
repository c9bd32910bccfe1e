// The saved file takes any bytes; what it accepts is the same after a way through the file, and no
// name in it can leave the folder that it is looked up in.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/noise/originals.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::agent_noise_originals {
PINION_FUZZ_TARGET(agent_noise_originals) {
  using namespace pinion::noise;
  const auto originals = decode({reinterpret_cast<const char*>(data), size});
  if (!originals) {
    if (originals.error().text.empty()) std::abort();
    return 0;
  }
  for (const auto& [knob, cpus] : originals->cpus) {
    if (cpus.empty() || knob.name.find("..") != std::string::npos) std::abort();
  }
  const auto again = decode(encode(*originals));
  if (!again || *again != *originals) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::agent_noise_originals
