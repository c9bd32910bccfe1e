// What was seen of an elastic job: how fast it was with how many workers, and how long its rescales
// took. An annotation of the job keeps it, so that the next leader knows what was seen of it at
// sizes which it has left:
//
//   progress 2:105.3 4:190 shrink:2 expand:4 expand:3
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cluster/core/elastic.h"

namespace pinion::cluster::elastic {

struct SpeedSeen {
  enum class Measure {
    kNone,
    kInstructions,  // that its containers' cores did, as agents count them
    kProgress,      // what its application reports
  };
  Measure measure = Measure::kNone;  // of `rates`: work of that kind each second
  std::vector<SizeRate> rates;       // by size, which differ
  std::vector<double> shrinks;       // seconds, the newest last
  std::vector<double> expands;

  // Replaces what was seen with so many workers. That of another measure goes, and beyond
  // kSizesKept sizes it is not kept.
  void add_rate(Measure of, int workers, double rate);
  [[nodiscard]] std::optional<double> rate_of(Measure of, int workers) const;
  // Precondition: seconds > 0.
  void add_cost(bool expand, double seconds);

  bool operator==(const SpeedSeen&) const = default;
};
// "progress", "instructions", "".
[[nodiscard]] std::string_view to_string(SpeedSeen::Measure measure);
inline constexpr std::size_t kSizesKept = 24;
inline constexpr std::size_t kCostsKept = 5;    // of shrinks, and of expands
inline constexpr double kLargestAmount = 1e15;  // of work, and of it in a second
inline constexpr double kLeastAmount = 1e-12;   // the same, so that quotients stay numbers
inline constexpr double kLargestCostS = 600;    // longer than an application is waited for
inline constexpr int kLargestSize = 1'000;

// Parts that are none of these are passed over: people may write there, too.
[[nodiscard]] SpeedSeen read_speed_seen(std::string_view text);
// Empty where nothing was seen.
[[nodiscard]] std::string speed_seen_text(const SpeedSeen& seen);

// What its user says: "1:1 2:1.9 4:3.4". Errors: kInvalid, for what is none of these, a size that
// is there twice or not from 1 to kLargestSize, a rate that is none from kLeastAmount to
// kLargestAmount, and more than kSizesKept sizes.
Result<std::vector<SizeRate>> read_speed_up(std::string_view text);

// As the policy sees it: what was seen counts, else what is declared, else SpeedUp's guess.
struct ScaledSpeedUp {
  SpeedUp speed_up;
  // So much work of the measure that was seen is one unit of speed_up's; 0: nothing was seen.
  double unit = 0;
};
[[nodiscard]] ScaledSpeedUp scaled_speed_up(const std::vector<SizeRate>& declared,
                                            const SpeedSeen& seen);

// What a job has done, and of how much if that is known, in the unit of its measure.
struct Progress {
  double done = 0;                // 0, or kLeastAmount .. kLargestAmount
  std::optional<double> whole{};  // kLeastAmount .. kLargestAmount

  bool operator==(const Progress&) const = default;
};
// "DONE" or "DONE/WHOLE"; nullopt: it is neither.
[[nodiscard]] std::optional<Progress> read_progress(std::string_view text);

}  // namespace pinion::cluster::elastic
