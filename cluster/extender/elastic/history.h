// What has been done to an elastic job, kept in an annotation of it, so that every leader and every
// user can read it: a line for each step, the newest first.
//
//   2026-11-25T15:22:48Z shrink: from 8 to 4 workers, to make room for wind
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pinion::cluster::elastic {

struct PastStep {
  std::string at;    // RFC 3339, in UTC
  std::string what;  // "start", "shrink", "expand", "resize", "done", "declined"
  std::string why;

  bool operator==(const PastStep&) const = default;
};

// Older ones are dropped, and the end of longer lines: the annotation stays below 4 KiB.
inline constexpr std::size_t kStepsKept = 10;
inline constexpr std::size_t kLongestStep = 300;  // bytes

// `now_ms`: since 1970.
[[nodiscard]] PastStep past_step(std::int64_t now_ms, std::string_view what, std::string why);
// Lines that are none of these are passed over: people may write there, too.
[[nodiscard]] std::vector<PastStep> read_history(std::string_view text);
[[nodiscard]] std::string history_text(const std::vector<PastStep>& steps);

}  // namespace pinion::cluster::elastic
