// What a simulation comes to, added up as it runs.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "cluster/sim/histogram.h"
#include "cluster/sim/machine.h"

namespace pinion::sim {

// A job that has ended.
struct JobRecord {
  Handle handle = 0;
  Job job;
  Ms start = 0;
  Ms end = 0;
  std::vector<Piece> pieces{};  // at its end
  double work = 0;              // processor milliseconds that it held
  struct Stretch {
    Ms from = 0;
    int workers = 0;
    Ms decided = 0;  // at or before `from`: others may have to shrink for it first
  };
  std::vector<Stretch> sizes{};  // of an elastic job, from its start
  Ms rescaling = 0;              // time that its rescales took
  struct Stay {
    Piece piece;
    Ms from = 0;
    Ms to = 0;
  };
  std::vector<Stay> stays{};  // of an elastic job on nodes: all pieces that it ever had

  // Shrinks and expands.
  [[nodiscard]] std::int64_t rescales() const { return sizes.empty() ? 0 : std::ssize(sizes) - 1; }
};

// Of waits or responses, in seconds.
struct Spread {
  double mean = 0;
  double p95 = 0;  // within 0.4 %
  double p99 = 0;
  double weighted_mean = 0;  // by priority; as `mean` where none is above 0
};

struct Figures {
  std::int64_t jobs = 0;     // that have run
  std::int64_t refused = 0;  // larger than what there is
  std::int64_t skipped = 0;  // entries of the trace without anything to run
  double makespan = 0;       // from the first submission to the last end, seconds
  Spread wait;               // from submission to start
  Spread response;           // from submission to end
  double total_wait = 0;     // of all jobs
  double total_run = 0;
  double slowdown = 0;     // mean bounded slowdown, tau = 10 s
  double utilisation = 0;  // of all processors over the makespan, 0 .. 1
  // Of the free CPUs, the share that lay in NUMA nodes of which a part was taken, over the makespan
  // and weighted by how many were free; below 0: where processors are merely counted.
  double fragmentation = -1;
  std::int64_t rescales = 0;  // of all jobs
  double rescaling = 0;       // seconds that they took
};

class Accounts {
 public:
  void submitted(Ms now);
  void refused() { ++refused_; }
  void ended(const JobRecord& record);
  // What holds from now on.
  void sample(Ms now, std::int64_t free, double fragmentation);
  [[nodiscard]] Figures figures(std::int64_t processors, std::int64_t skipped) const;

 private:
  struct Sums {
    Histogram histogram;
    double sum = 0;
    double weighted = 0;

    void add(Ms value, std::int32_t weight);
    [[nodiscard]] Spread spread(std::int64_t count, double weights) const;
  };

  std::int64_t jobs_ = 0;
  std::int64_t refused_ = 0;
  Ms first_ = -1;
  Ms last_ = 0;
  Sums wait_;
  Sums response_;
  double weights_ = 0;
  double run_ = 0;
  double slowdown_ = 0;
  double busy_ = 0;  // processor milliseconds
  std::int64_t rescales_ = 0;
  Ms rescaling_ = 0;
  Ms sampled_ = 0;
  double free_ = 0;
  double fragmentation_ = -1;
  double free_time_ = 0;
  double broken_time_ = 0;
};

}  // namespace pinion::sim
