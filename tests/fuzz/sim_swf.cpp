// A trace takes any bytes: each line is an error with a short text, nothing, or a job within the
// limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cluster/sim/swf.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::sim_swf {
PINION_FUZZ_TARGET(sim_swf) {
  using namespace pinion::sim;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + (line.size() < rest.size() ? 1 : 0));
    bool skipped = false;
    const auto job = parse_swf_line(line, skipped);
    if (!job) {
      if (job.error().text.empty() || job.error().text.size() > 200 || skipped) std::abort();
      continue;
    }
    if (!*job) continue;
    const Job& it = **job;
    const bool within = it.submit >= 0 && it.run >= 0 && it.request >= it.run &&
                        it.processors() >= 1 && it.processors() <= kMaxProcessors &&
                        static_cast<double>(it.request) <= 1000 * kMaxSwfSeconds;
    if (!within || skipped) std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::sim_swf
