// The texts of /proc/stat and of a thread's schedstat, status and sched that are read in every
// pass, as values. Pure. Sources: proc_stat(5), the kernel's Documentation/scheduler/
// sched-stats.rst ("/proc/<pid>/schedstat") and scheduler/sched-debug.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "topology/cpuset.h"

namespace pinion::metrics {

// One line "cpuN" of /proc/stat: what the CPU did since boot, in USER_HZ ticks
// (sysconf(_SC_CLK_TCK) a second, as a rule 100). The kernel counts `iowait` with no great care:
// it may go back. Guests' time is a part of `user` and `nice`, so it is not kept apart.
struct CpuTimes {
  topology::CpuId cpu = 0;
  std::uint64_t user = 0;
  std::uint64_t nice = 0;
  std::uint64_t system = 0;
  std::uint64_t idle = 0;
  std::uint64_t iowait = 0;
  std::uint64_t irq = 0;
  std::uint64_t softirq = 0;
  std::uint64_t steal = 0;  // the hypervisor ran something else

  bool operator==(const CpuTimes&) const = default;
};

// Ticks in which the CPU ran something of this machine's: user, nice, system, irq, softirq.
[[nodiscard]] constexpr std::uint64_t busy_ticks(const CpuTimes& times) {
  return times.user + times.nice + times.system + times.irq + times.softirq;
}

// The online CPUs, in the order of the text (the kernel writes them ascending). Lines other than
// cpuN are skipped. Errors: kInvalid where a cpuN line lacks one of the eight numbers or has one
// that is none, or where there is no such line at all.
Result<std::vector<CpuTimes>> parse_cpu_times(std::string_view proc_stat);

// /proc/TID/schedstat of one thread, since it started.
struct SchedStat {
  std::uint64_t run_ns = 0;   // on a CPU
  std::uint64_t wait_ns = 0;  // ready to run, waiting for one
  std::uint64_t slices = 0;   // times it was put on a CPU

  bool operator==(const SchedStat&) const = default;
};
// A kernel without CONFIG_SCHED_INFO writes "0 0 0" for every thread; one that never ran reads the
// same. Errors: kInvalid for anything but three numbers.
Result<SchedStat> parse_sched_stat(std::string_view text);

// How often a thread left its CPU or was moved, since it started. What the text does not say is not
// set.
struct TaskSwitches {
  std::optional<std::uint64_t> voluntary{};    // it waited for something
  std::optional<std::uint64_t> involuntary{};  // the scheduler took the CPU from it
  std::optional<std::uint64_t> migrations{};   // the scheduler moved it to another CPU

  bool operator==(const TaskSwitches&) const = default;
};
// Of /proc/TID/status (no migrations there). Unlike parse_task_status it looks at nothing else.
// Errors: kInvalid where one of its lines has no readable value; likewise below.
Result<TaskSwitches> parse_status_switches(std::string_view text);
// Of /proc/TID/sched, which has all three.
Result<TaskSwitches> parse_sched_switches(std::string_view text);

// A list of task ids, one on a line (cgroup.threads, tasks, cgroup.procs), ascending and each
// once. An id of 0 stands for a task that the reader's pid namespace does not see: left out.
// Errors: kInvalid for anything that is not a task id.
Result<std::vector<int>> parse_task_ids(std::string_view text);

}  // namespace pinion::metrics
