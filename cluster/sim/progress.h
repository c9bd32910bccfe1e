// A line on a terminal that says how far a simulation is and how long it will still take.
#pragma once

#include <chrono>

#include "cluster/sim/job_source.h"

namespace pinion::sim {

class Progress {
 public:
  // Writes to standard error, and only where that is a terminal. `source` must outlive it.
  explicit Progress(const JobSource& source);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // takes the line away

  // To be called after every event.
  void step();

 private:
  using Clock = std::chrono::steady_clock;

  const JobSource& source_;
  const bool shown_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point said_ = began_;
  int steps_ = 0;
};

}  // namespace pinion::sim
