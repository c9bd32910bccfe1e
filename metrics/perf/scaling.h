// From what a counter saw to what it would have seen all the time.
#pragma once

#include <cstdint>

namespace pinion::metrics::perf {

// One event as the kernel reports it, since it was opened. Times in nanoseconds: `enabled` while
// the event could count (in cgroup mode: while the cgroup's tasks ran on that CPU), `running` while
// it was on the PMU. perf_event_open(2), PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING.
struct Reading {
  std::uint64_t value = 0;
  std::uint64_t enabled = 0;
  std::uint64_t running = 0;

  bool operator==(const Reading&) const = default;
};

// value * enabled / running, rounded to nearest, at most 2^64 - 1. Exactly `value` where the event
// was on the PMU all the time (running >= enabled), and where it never was (running is 0).
std::uint64_t scale(const Reading& reading);

// a + b, at most 2^64 - 1: a counter stands still at the end, it does not start anew.
std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b);

}  // namespace pinion::metrics::perf
