// What bounds a job, from what was measured of its earlier runs: figures of a run, what is kept of
// all of them, and the profile that follows.
//
// What it cannot see: an MPI library that waits by polling keeps its cores busy, so a job that only
// waits for messages looks like one that computes. One with fewer threads than CPUs leaves CPUs
// unused without waiting, so unused time counts as waiting only where threads do wait, if that is
// counted.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/core/job_shape.h"
#include "cluster/core/memory_pressure.h"

namespace pinion::cluster {

// Of one run of a job, over all of its containers that have cores of their own. Times are those in
// which a container did something (RunBook). All >= 0.
struct RunFigures {
  double seconds = 0;   // of the run
  double allotted = 0;  // CPU-seconds: a container's CPUs times its seconds
  double used = 0;      // CPU-seconds that its threads ran
  // L3 misses and instructions, and the CPU-seconds (of those allotted) in which both were counted.
  double counted = 0;
  double misses = 0;
  double instructions = 0;
  // How often its threads gave up a CPU to wait for something; and the same of that.
  double waits_counted = 0;
  double waits = 0;

  RunFigures& operator+=(const RunFigures& other);  // but for `seconds`
};

// The mean of a figure over runs. A run counts by its seconds, at most kFullRunSeconds; of what was
// there before at most twice that is kept, so a full run counts for a third of the mean at least,
// and one of five runs ago for less than a fifth of what it did. A run that was short, as after a
// crash, changes little.
struct MeanFigure {
  double value = 0;    // 0 .. kLargestFigure
  double seconds = 0;  // the weight, 0 .. 3 x kFullRunSeconds; 0: there is no value

  [[nodiscard]] bool known() const { return seconds > 0; }
  bool operator==(const MeanFigure&) const = default;
};
inline constexpr double kFullRunSeconds = 600;
// No figure is larger; a run's that is, counts as not measured.
inline constexpr double kLargestFigure = 1e15;

struct ProfileHistory {
  int runs = 0;                  // that were learnt, 1 .. kMostRuns; more are not counted
  std::int64_t last_unix_s = 0;  // when the last one ended, 0 .. kLastSecond
  MeanFigure used = {};          // CPU-seconds used for each that was allotted, 0 .. 1
  MeanFigure misses = {};        // L3 misses for each CPU-second allotted
  MeanFigure per_kilo = {};      // L3 misses per 1,000 instructions
  MeanFigure waits = {};         // voluntary context switches for each CPU-second allotted

  bool operator==(const ProfileHistory&) const = default;
};
inline constexpr int kMostRuns = 1'000'000;
inline constexpr std::int64_t kLastSecond = 253'402'300'799;  // of the year 9999

// A job that was observed more briefly, in all of its runs together, has no profile: the figures
// are those of its start. Two intervals of a RunBook.
inline constexpr double kLeastSeconds = 60;
// Misses of 1,000 instructions from which a job is memory-bound: as many as a memory-bound CPU
// (memory_pressure.h) has at 2 thousand million instructions per second, the pace of a core of
// 2 GHz that does one in each cycle. A core that waits for its memory all the time does fewer
// instructions than that, and would be missed by its misses per second alone.
inline constexpr double kBoundMissesPerKilo = kMissesOfBoundCpu / (2e9 / 1000);
// The share of its CPUs' time that a network-bound job leaves unused. Nobody else can take time of
// cores that it has alone, so what it does not use it has waited for others: a quarter is more than
// start, end and ranks of unequal work usually cost. Chosen, not measured.
inline constexpr double kBlockedShare = 0.25;
// Waits for each CPU-second allotted, below which unused time is that of CPUs without a thread: a
// thread that waits a quarter of the time and less often than this waits 25 ms each time, which is
// a disk or a timer and no message. Chosen, not measured.
inline constexpr double kLeastWaits = 10;

// With one more run. One in which nothing was allotted changes nothing. `ended_unix_s` is cut to
// what last_unix_s may be.
[[nodiscard]] ProfileHistory learn(ProfileHistory history, const RunFigures& run,
                                   std::int64_t ended_unix_s);

struct LearntProfile {
  Profile profile = Profile::kNone;  // kNone: nothing can be said yet
  // One sentence with the figures that decided: "21 L3 misses per 1,000 instructions in 3 runs,
  // last 2026-11-20".
  std::string why = {};

  bool operator==(const LearntProfile&) const = default;
};

// In this order: memory where the L3 misses load the memory controllers, or are many for each
// instruction of a job that does not wait; network where it waits; cpu otherwise.
[[nodiscard]] LearntProfile profile_of(const ProfileHistory& history);

// "cpu", "memory" and so on; "none" for kNone.
[[nodiscard]] std::string word_or_none(Profile profile);

// "memory: 21 L3 misses per 1,000 instructions ...": what a user is told.
[[nodiscard]] std::string sentence_of(const LearntProfile& learnt);

// Of that second, UTC: "2026-11-20". Precondition: 0 .. kLastSecond.
[[nodiscard]] std::string date_text(std::int64_t unix_s);

}  // namespace pinion::cluster
