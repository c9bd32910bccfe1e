// Counters of a container's threads, added up so that the sums never go back although threads end.
// Pure: metrics/task_scan.h reads the threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace pinion::metrics {

// One thread's counters since it started; not set: the kernel does not say.
struct TaskCounters {
  std::optional<std::uint64_t> voluntary_switches{};
  std::optional<std::uint64_t> involuntary_switches{};
  std::optional<std::uint64_t> run_queue_wait_ns{};
  std::optional<std::uint64_t> migrations{};

  bool operator==(const TaskCounters&) const = default;
};

// A scan is: begin_scan() with the ids of all threads there are, then add() for each of those that
// it names and that could be read. What a thread counted until it was last read stays in the sums
// when it ends; what it counted after that, and threads that lived between two scans only, are
// missing.
//
// An id that is given to a new thread is told by a counter that went back, or by a scan without it;
// if neither happens the sums miss some of the new thread's counts, but never go back. A thread
// that is moved into the container brings with it what it counted elsewhere.
class TaskTotals {
 public:
  struct Limits {
    std::size_t read_per_scan = 1024;  // the threads of a larger container take turns
    std::size_t tracked = 65536;       // threads whose last counters are kept (72 bytes each)
  };

  // `fresh`: the container is watched from its start, so all that its threads ever counted belongs
  // to it. Else the threads of the first scan begin at 0 with their first reading. A thread first
  // seen later counts from its start in both cases.
  explicit TaskTotals(bool fresh) : TaskTotals(fresh, Limits{}) {}
  TaskTotals(bool fresh, Limits limits) : fresh_(fresh), limits_(limits) {}

  // `tasks`: ascending, each once; `complete`: that is all there are. Returns those to read now, at
  // most limits.read_per_scan.
  [[nodiscard]] std::vector<int> begin_scan(const std::vector<int>& tasks, bool complete = true);

  // Of a thread that begin_scan() named; any other is ignored.
  void add(int task, const TaskCounters& now);

  // Summed up; not set before some thread had that counter.
  [[nodiscard]] const TaskCounters& sums() const { return sums_; }
  // Threads of the last scan, read or not. Not set before the first.
  [[nodiscard]] std::optional<std::uint64_t> threads() const { return threads_; }
  // Some thread may not have been counted, or not from its start, because there were more than
  // limits.tracked at one time or a list was not complete. Stays true.
  [[nodiscard]] bool incomplete() const { return incomplete_; }

 private:
  struct Task {
    int id = 0;
    bool baseline = false;  // a counter's first reading is where it begins, not all to be added
    TaskCounters last;      // the last known of each
  };

  void track(const std::vector<int>& tasks, bool complete);
  [[nodiscard]] std::vector<int> choose();

  bool fresh_;
  Limits limits_;
  bool scanned_ = false;
  bool incomplete_ = false;
  bool left_out_ = false;    // some thread was, or may have been, in the last scan
  int next_ = 0;             // the turn begins with the first task of at least this id
  std::vector<Task> tasks_;  // ascending by id
  std::optional<std::uint64_t> threads_;
  TaskCounters sums_;
};

}  // namespace pinion::metrics
