// The texts of a control group's files as values, for cgroup v1 and v2. Pure: the caller brings the
// text, metrics/cgroup_files.h reads it from the machine.
//
// Every parser skips lines and keys that it does not know (kernels add some with every release),
// and refuses with kInvalid, naming the kind of file and what is wrong in it, a line that it does
// know and cannot read, or a number that does not fit into 64 bits in the unit that is returned.
// Sources: the kernel's Documentation/admin-guide/cgroup-v2.rst, admin-guide/cgroup-v1/{cpuacct,
// memory,pids}.rst, scheduler/sched-bwc.rst and accounting/psi.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "metrics/figures.h"

namespace pinion::metrics {

// cpu.stat, all in nanoseconds or counts since the group was made. v2 has usage, user and system
// always, and the rest where the cpu controller is on for the group; v1 has only the rest.
struct CpuStat {
  std::optional<std::uint64_t> usage_ns{};   // exact: from the scheduler's clock
  std::optional<std::uint64_t> user_ns{};    // usage, divided as the ticks fell
  std::optional<std::uint64_t> system_ns{};  // likewise; user + system = usage
  std::optional<std::uint64_t> periods{};    // of the CPU quota, with runnable tasks
  std::optional<std::uint64_t> throttled_periods{};
  std::optional<std::uint64_t> throttled_ns{};  // summed over CPUs: may grow faster than time

  bool operator==(const CpuStat&) const = default;
};
// Either version: their keys differ (usage_usec, user_usec, system_usec, throttled_usec in
// microseconds; throttled_time in nanoseconds) and nr_periods, nr_throttled are common to both.
Result<CpuStat> parse_cpu_stat(std::string_view text);

// cpuacct.stat of v1: USER_HZ ticks (sysconf(_SC_CLK_TCK) a second).
struct CpuacctStat {
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;

  bool operator==(const CpuacctStat&) const = default;
};
// Both lines must be there.
Result<CpuacctStat> parse_cpuacct_stat(std::string_view text);

// A file of one number: pids.current, cpuacct.usage, .usage_user, .usage_sys (nanoseconds). `kind`
// names the file in errors.
Result<std::uint64_t> parse_single_number(std::string_view text, std::string_view kind);

// cpuacct.usage_percpu of v1: nanoseconds that the group ran on each possible CPU, in order of
// their numbers (which begin at 0 and have no holes on the machines that Linux numbers itself).
// Refused where there is none, or more of them than a CpuSet can hold.
Result<std::vector<std::uint64_t>> parse_usage_percpu(std::string_view text);

// memory.numa_stat of v1: the group's own pages ("total=6172 N0=6000 N1=172"), without those of
// groups inside it, which the lines hierarchical_* would add. That is what is on the kernel's page
// lists: anonymous memory, page cache with shared memory, and unevictable pages. Ascending by node.
// `page_bytes` is sysconf(_SC_PAGESIZE). Refused where there is no such line.
Result<std::vector<NodeMemory>> parse_numa_stat_v1(std::string_view text, std::uint64_t page_bytes);

// memory.numa_stat of v2: `anon` + `file`, groups inside it included. `file` has shared memory in
// it, so this is the same kind of memory as v1's total. What the kernel holds for the group (slab,
// stacks, page tables) is left out: a rank's data are what has to be near its cores.
// Refused where there is neither line.
Result<std::vector<NodeMemory>> parse_numa_stat_v2(std::string_view text);

// A PSI file (cpu.pressure, memory.pressure): time since the group was made in which some, or all,
// of its tasks that were not idle waited for the resource. cpu.pressure has no `full` line before
// Linux 5.13.
struct Pressure {
  std::optional<std::uint64_t> some_ns{};
  std::optional<std::uint64_t> full_ns{};

  bool operator==(const Pressure&) const = default;
};
Result<Pressure> parse_pressure(std::string_view text);

}  // namespace pinion::metrics
