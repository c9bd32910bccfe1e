#include "cluster/core/learnt_profile.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include "topology/words.h"

namespace pinion::cluster {
namespace {

constexpr double kLineBytes = 64;  // that an L3 miss fetches

// With three digits, as a person reads them: "0.031", "2.1", "21", "2100".
std::string digits(double value) {
  std::array<char, 32> text{};
  const int decimals = value >= 10 || value == 0 ? 0 : value >= 1 ? 1 : 3;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, decimals);
  return end.ec == std::errc() ? std::string(text.data(), end.ptr) : "very many";
}

std::string percent(double share) {
  return digits(std::round(100 * share)) + " %";
}

void add(MeanFigure& mean, double value, double seconds) {
  const double weight = std::min(seconds, kFullRunSeconds);
  if (!(weight > 0) || !(value >= 0 && value <= kLargestFigure)) return;
  const double before = std::min(mean.seconds, 2 * kFullRunSeconds);
  mean.value = (mean.value * before + value * weight) / (before + weight);
  mean.seconds = before + weight;
}

std::string unused_text(const ProfileHistory& history) {
  return percent(1 - history.used.value) + " of its CPU time unused";
}

std::string per_kilo_text(const ProfileHistory& history) {
  return digits(history.per_kilo.value) + " L3 misses per 1,000 instructions";
}

bool waits(const ProfileHistory& history) {
  if (1 - history.used.value < kBlockedShare) return false;
  return !history.waits.known() || history.waits.value >= kLeastWaits;
}

LearntProfile decide(const ProfileHistory& history) {
  if (history.used.seconds < kLeastSeconds) {
    return {.why = "it was observed for " + digits(history.used.seconds) + " s, and " +
                   digits(kLeastSeconds) + " s are needed,"};
  }
  if (history.misses.known() && history.misses.value >= kMissesOfBoundCpu) {
    return {
        .profile = Profile::kMemory,
        .why = digits(history.misses.value * kLineBytes / 1e9) + " GB/s from memory for each CPU"};
  }
  if (waits(history)) {
    std::string why = unused_text(history);
    if (history.waits.known()) {
      why += ", with " + digits(history.waits.value) + " waits a second for each CPU,";
    }
    return {.profile = Profile::kNetwork, .why = std::move(why)};
  }
  if (history.per_kilo.known() && history.per_kilo.value >= kBoundMissesPerKilo) {
    return {.profile = Profile::kMemory, .why = per_kilo_text(history)};
  }
  return {.profile = Profile::kCpu,
          .why = history.per_kilo.known() ? per_kilo_text(history) + " and " + unused_text(history)
                                          : unused_text(history) + ", and no L3 misses counted,"};
}

}  // namespace

RunFigures& RunFigures::operator+=(const RunFigures& other) {
  allotted += other.allotted;
  used += other.used;
  counted += other.counted;
  misses += other.misses;
  instructions += other.instructions;
  waits_counted += other.waits_counted;
  waits += other.waits;
  return *this;
}

ProfileHistory learn(ProfileHistory history, const RunFigures& run, std::int64_t ended_unix_s) {
  if (!(run.allotted > 0) || !(run.seconds > 0)) return history;
  history.runs = std::min(history.runs + 1, kMostRuns);
  history.last_unix_s = std::clamp<std::int64_t>(ended_unix_s, 0, kLastSecond);
  add(history.used, std::min(run.used / run.allotted, 1.0), run.seconds);
  if (run.counted > 0) {
    const double seconds = run.seconds * run.counted / run.allotted;
    add(history.misses, run.misses / run.counted, seconds);
    if (run.instructions > 0) add(history.per_kilo, 1000 * run.misses / run.instructions, seconds);
  }
  if (run.waits_counted > 0) {
    add(history.waits, run.waits / run.waits_counted,
        run.seconds * run.waits_counted / run.allotted);
  }
  return history;
}

LearntProfile profile_of(const ProfileHistory& history) {
  if (history.runs == 0) return {.why = "no earlier run was observed"};
  LearntProfile learnt = decide(history);
  learnt.why += " in " + std::to_string(history.runs) + (history.runs == 1 ? " run" : " runs") +
                ", last " + date_text(history.last_unix_s);
  return learnt;
}

std::string sentence_of(const LearntProfile& learnt) {
  return word_or_none(learnt.profile) + ": " + learnt.why;
}

std::string word_or_none(Profile profile) {
  const std::string_view word = word_of(profile, topology::kProfileWords);
  return word.empty() ? "none" : std::string(word);
}

std::string date_text(std::int64_t unix_s) {
  using namespace std::chrono;
  const year_month_day date{floor<days>(sys_seconds(seconds(unix_s)))};
  const auto number = [](unsigned int value, std::size_t width) {
    const std::string text = std::to_string(value);
    return std::string(width - std::min(width, text.size()), '0') + text;
  };
  return number(static_cast<unsigned int>(static_cast<int>(date.year())), 4) + "-" +
         number(static_cast<unsigned int>(date.month()), 2) + "-" +
         number(static_cast<unsigned int>(date.day()), 2);
}

}  // namespace pinion::cluster
