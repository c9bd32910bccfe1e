// The counters of one container: its events on each CPU that it may use, summed, and carried over
// when its CPUs change. A count never goes back.
//
// An event in cgroup mode counts on its CPU only while a task of that cgroup (or of one below it)
// runs there. What runs on a CPU between its arrival in the cpuset and set_cpus() is not counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "metrics/figures.h"
#include "metrics/perf/carry.h"
#include "metrics/perf/layout.h"
#include "metrics/perf/perf_group.h"
#include "topology/cpuset.h"

namespace pinion::metrics::perf {

class ContainerCounters {
 public:
  // `cgroup_dir`: the container's own directory in the hierarchy that perf counts by
  // (cgroup::Mounts::perf of base/cgroup/mounts.h; one of another gives ENOENT), opened for
  // reading. Opens no event yet. `syscalls` outlives the object.
  ContainerCounters(PerfSyscalls& syscalls, EventSet events, Fd cgroup_dir);

  // The CPUs to count on from now on. Opens events on those that came and on those of uncounted(),
  // then reads those that went a last time and closes them. Others are not touched; without a
  // change and with nothing uncounted it costs no system call, so call it before each read().
  // On each CPU all events are opened or none. An offline CPU is no error: it is in uncounted().
  // Errors (the first one; the other CPUs are counted all the same): kNotFound when the cgroup has
  // gone, kExhausted without descriptors, kDenied, or what else the kernel says.
  Status set_cpus(const topology::CpuSet& cpus);

  // Takes the counts of all open groups, one system call each. A CPU that went offline meanwhile is
  // closed, its counts are kept, and it is in uncounted(). Error: the first other failure; what
  // could be read is taken. Also works when the cgroup has gone: these are its last values.
  Status read();

  // As of the last read() or set_cpus(). Not set: the event is not in the set, or nothing could be
  // opened so far.
  [[nodiscard]] std::optional<Count> count(Event event) const;

  // Nanoseconds that this container ran on that CPU while it was counted there. Goes on where it
  // was when a CPU comes back. Not set: the CPU is not counted now, or kTaskClock is not in the
  // set.
  [[nodiscard]] std::optional<std::uint64_t> task_clock_ns(topology::CpuId cpu) const;

  [[nodiscard]] std::size_t descriptors() const;  // open events
  // Groups opened after the first set_cpus().
  [[nodiscard]] std::uint64_t reopened() const { return reopened_; }
  // Asked for, but not counted now: offline, or refused.
  [[nodiscard]] const topology::CpuSet& uncounted() const { return uncounted_; }

 private:
  // One CPU, for as long as the container is known: its counts outlive its events.
  struct OnCpu {
    std::vector<PerfGroup> groups;  // empty: closed
    std::vector<Carry> carries;     // one for each event, in the order of the set
  };

  Status open(topology::CpuId cpu);
  Status open_all(const topology::CpuSet& cpus);
  Status read(OnCpu& on_cpu);
  static void close(OnCpu& on_cpu);

  PerfSyscalls& syscalls_;
  EventSet events_;
  Fd cgroup_;
  std::map<topology::CpuId, OnCpu> cpus_;
  topology::CpuSet wanted_;
  topology::CpuSet uncounted_;
  bool first_ = true;
  std::uint64_t reopened_ = 0;
  std::vector<Reading> readings_;  // kept between reads for its memory
};

}  // namespace pinion::metrics::perf
