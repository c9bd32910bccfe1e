#include "cluster/extender/elastic/history.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/rfc3339.h"
#include "base/utf8.h"

namespace pinion::cluster::elastic {

PastStep past_step(std::int64_t now_ms, std::string_view what, std::string why) {
  using namespace std::chrono;
  constexpr std::size_t to_seconds = 19;  // "2026-11-25T15:22:48"
  const system_clock::time_point now{milliseconds(std::max<std::int64_t>(now_ms, 0))};
  return {.at = micro_time(now).substr(0, to_seconds) + "Z",
          .what = std::string(what),
          .why = std::move(why)};
}

std::vector<PastStep> read_history(std::string_view text) {
  std::vector<PastStep> steps;
  while (!text.empty() && steps.size() < kStepsKept) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto blank = line.find(' ');
    const auto colon = line.find(": ", blank == std::string_view::npos ? line.size() : blank);
    if (colon == std::string_view::npos || line.size() > kLongestStep) continue;
    steps.push_back({.at = std::string(line.substr(0, blank)),
                     .what = std::string(line.substr(blank + 1, colon - blank - 1)),
                     .why = std::string(line.substr(colon + 2))});
  }
  return steps;
}

std::string history_text(const std::vector<PastStep>& steps) {
  std::string text;
  for (std::size_t i = 0; i < std::min(steps.size(), kStepsKept); ++i) {
    const PastStep& step = steps[i];
    std::string line = step.at + " " + step.what + ": " + step.why;
    std::replace(line.begin(), line.end(), '\n', ' ');
    if (!text.empty()) text += '\n';
    text += cut_utf8(line, kLongestStep);
  }
  return text;
}

}  // namespace pinion::cluster::elastic
