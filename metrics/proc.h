// The text of /proc/PID/{stat,status,sched} (and of the same files of one thread) as values. Pure:
// the caller brings the text, metrics/proc_files.h reads it from the machine.
// Source of every field: proc_pid_stat(5), proc_pid_status(5), and the kernel's
// Documentation/scheduler/sched-debug for `sched`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "topology/cpuset.h"

namespace pinion::metrics {

// One line of /proc/PID/stat or /proc/PID/task/TID/stat.
struct TaskStat {
  int id = 0;        // field 1: thread id as this pid namespace sees it
  std::string comm;  // field 2: any bytes, blanks and parentheses included
  char state = '?';  // field 3: 'R' runs or waits for its CPU, 'S' sleeps, 'Z' zombie ...
  std::uint64_t minor_faults = 0;  // field 10: page faults since it started, served from memory
  std::uint64_t major_faults = 0;  // field 12: those that waited for a disk
  std::uint64_t user_ticks = 0;    // field 14: in sysconf(_SC_CLK_TCK) units, since it started
  std::uint64_t system_ticks = 0;  // field 15: likewise
  std::uint64_t start_ticks = 0;   // field 22: after boot; with `id` it names the task for good
  topology::CpuId last_cpu = 0;    // field 39: where it runs, or last ran

  bool operator==(const TaskStat&) const = default;
};

// Errors: kInvalid where the text is not such a line, naming the field.
Result<TaskStat> parse_task_stat(std::string_view line);

// The lines of /proc/PID/status that Pinion uses. What the kernel did not write is not set.
struct TaskStatus {
  std::optional<topology::CpuSet> cpus_allowed;       // Cpus_allowed_list
  std::optional<topology::NodeSet> mems_allowed;      // Mems_allowed_list
  std::optional<std::uint64_t> threads;               // of the process
  std::optional<std::uint64_t> voluntary_switches;    // of the thread, since it started: it waited
  std::optional<std::uint64_t> involuntary_switches;  // it was made to yield its CPU

  bool operator==(const TaskStatus&) const = default;
};

// Unknown lines are skipped. Errors: kInvalid where one of the lines above has no readable value.
Result<TaskStatus> parse_task_status(std::string_view text);

// se.nr_migrations of /proc/PID/sched: times the scheduler moved the thread to another CPU. Not set
// where the kernel does not say (no CONFIG_SCHED_DEBUG), or what it says is no number.
std::optional<std::uint64_t> parse_migrations(std::string_view text);

}  // namespace pinion::metrics
