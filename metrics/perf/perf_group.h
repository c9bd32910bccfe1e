// One group of events on one CPU: opened together, read with one system call.
#pragma once

#include <vector>

#include "base/error.h"
#include "metrics/perf/layout.h"
#include "metrics/perf/scaling.h"
#include "metrics/perf/syscalls.h"
#include "topology/cpuset.h"

namespace pinion::metrics::perf {

// Whose work is counted.
struct Target {
  int fd_or_pid = 0;
  bool cgroup = false;

  // All tasks of the cgroup whose directory `fd` is, and of the groups below it, while they run on
  // the CPU. The directory must be of the hierarchy that the kernel binds perf_event to:
  // cgroup::Mounts::perf of base/cgroup/mounts.h.
  static Target cgroup_directory(int fd) { return {fd, true}; }
  // The calling thread.
  static Target self() { return {0, false}; }
};

inline constexpr topology::CpuId kAnyCpu = -1;  // with Target::self() only

class PerfGroup {
 public:
  // All events of `group` or none: what was opened is closed again on failure. They begin to count
  // in the same moment. Kernel and user mode are counted. Errors: the kernel's errno in
  // Error::sys_errno (refusal.h says what it means), kExhausted for EMFILE and ENFILE.
  // Precondition: the group is not empty and has no event twice; `syscalls` outlives the group.
  static Result<PerfGroup> open(PerfSyscalls& syscalls, const Group& group, const Target& target,
                                topology::CpuId cpu);

  PerfGroup(PerfGroup&& other) noexcept;
  PerfGroup& operator=(PerfGroup&& other) noexcept;
  PerfGroup(const PerfGroup&) = delete;
  PerfGroup& operator=(const PerfGroup&) = delete;
  ~PerfGroup();

  // One reading for each event, in the group's order, appended to `readings`. The times are those
  // of the whole group. Errors: kUnavailable with errno ENODEV where the events can count no more
  // since their CPU went offline (open them anew); otherwise the kernel's errno. `readings` is
  // then as before.
  Status read(std::vector<Reading>& readings) const;

  [[nodiscard]] std::size_t descriptors() const { return fds_.size(); }

 private:
  explicit PerfGroup(PerfSyscalls& syscalls) : syscalls_(&syscalls) {}
  Status add(const Counted& counted, bool waits, const Target& target, topology::CpuId cpu);
  void close();

  PerfSyscalls* syscalls_;
  std::vector<int> fds_;  // the leader first
};

}  // namespace pinion::metrics::perf
