// The value of the ConfigMap that keeps what was learnt of jobs: any bytes are an error with a
// text, or histories that stay as they are when they are written and read again, and from which a
// profile follows.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cluster/extender/profiles/history_map.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::extender_profiles {
PINION_FUZZ_TARGET(extender_profiles) {
  using namespace pinion::cluster;
  const auto read =
      profiles::read_histories(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read) {
    if (read.error().text.empty()) std::abort();
    return 0;
  }
  if (read->histories.size() > profiles::kMostJobs) std::abort();
  if ((read->ignored > 0) == read->samples.empty()) std::abort();
  for (const std::string& sample : read->samples) {
    if (sample.size() > 300) std::abort();
  }
  const std::string text = profiles::to_text(read->histories);
  const auto again = profiles::read_histories(text);
  // Figures have six digits once they are written.
  if (!again || again->ignored > 0 || again->histories.size() != read->histories.size()) {
    std::abort();
  }
  if (profiles::to_text(again->histories) != text) std::abort();
  for (const auto& [key, history] : read->histories) {
    const LearntProfile learnt = profile_of(learn(
        history, {.seconds = 600, .allotted = 600, .used = 300, .waits_counted = 600, .waits = 1},
        history.last_unix_s));
    if (learnt.why.empty() || learnt.why.size() > 300) std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::extender_profiles
