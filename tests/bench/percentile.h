// How long each turn takes, so that the slowest of a hundred can be told.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

namespace pinion::bench {

// The time that this thread has had a CPU: a busy machine does not show in it.
inline double thread_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

class Percentile {
 public:
  template <class Work>
  void turn(Work work) {
    const double begin = thread_us();
    work();
    times_.push_back(thread_us() - begin);
  }
  void report(benchmark::State& state, const std::string& name = {}) {
    std::sort(times_.begin(), times_.end());
    state.counters[name + "p50_us"] = times_[times_.size() / 2];
    state.counters[name + "p99_us"] = times_[times_.size() * 99 / 100];
  }

 private:
  std::vector<double> times_;
};

}  // namespace pinion::bench
