// A total that never goes back though the counter below it is closed and opened anew, and though a
// scaled value may wobble from one reading to the next.
//
// Each reading adds what was counted since the one before, scaled by the share of just that time.
// So the total can only grow, and a phase in which the event was crowded out of the PMU does not
// change what was counted before it. Time in which the event was not on the PMU at all waits for
// the next time that it is, and is filled with the rate found then.
#pragma once

#include <cstdint>

#include "metrics/perf/scaling.h"

namespace pinion::metrics::perf {

class Carry {
 public:
  // What the kernel says now, since the last reopened(). A part that is less than it was is taken
  // as not changed.
  void read(const Reading& now);
  // The event was closed; the next reading starts from nothing.
  void reopened();

  [[nodiscard]] std::uint64_t total() const { return total_; }
  // Nanoseconds over all lives of the event.
  [[nodiscard]] std::uint64_t enabled() const;
  [[nodiscard]] std::uint64_t running() const;

 private:
  std::uint64_t total_ = 0;
  Reading counted_;                    // up to here all is in total_
  Reading seen_;                       // the last reading; only its times are used
  std::uint64_t earlier_enabled_ = 0;  // of the lives before this one
  std::uint64_t earlier_running_ = 0;
};

}  // namespace pinion::metrics::perf
