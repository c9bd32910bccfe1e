// The saved file takes any bytes; what it accepts is the same after a way through the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/kept_file.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::agent_kept_cores {
PINION_FUZZ_TARGET(agent_kept_cores) {
  using namespace pinion::agent;
  const auto kept = decode({reinterpret_cast<const char*>(data), size});
  if (!kept) {
    if (kept.error().text.empty()) std::abort();
    return 0;
  }
  const auto again = decode(encode(*kept));
  if (!again || *again != *kept) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::agent_kept_cores
