// Core intrusion: how long the exclusive cores of a container ran anything that was not the
// container (kernel threads, host daemons, other tasks, interrupts outside of it). Pure arithmetic:
//
//   intrusion = sum over its cores of (busy time of the core - time the container ran on it)
//   busy time = elapsed - idle - waiting for I/O
//
// In a virtual machine time stolen by the hypervisor is in both where perf counts the container
// (its task clock runs on), and taken off the busy time where the scheduler's account is used.
//
// All since the core was taken. The kernel reads idle and I/O waiting time one after the other and
// can count a spell of idleness in neither (Linux calls its iowait unreliable), so a rise counts
// once the reading after it confirms it: what is shown lags one reading behind. Exactness:
// /proc/stat counts in ticks of 10 ms, and the two clocks of a core are read one after the other,
// so a reading is off by up to some 20 ms for each core; the error does not grow with time, because
// differences are taken against the first reading and not the last. Interrupts that arrive while
// the container itself runs are charged to it by the kernel, unless that accounts interrupt time
// apart (CONFIG_IRQ_TIME_ACCOUNTING): then they are intrusion too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "topology/cpuset.h"

namespace pinion::metrics {

// One core's two clocks at the same moment, in nanoseconds since whatever beginning.
struct CoreTimes {
  std::uint64_t busy_ns = 0;
  std::uint64_t own_ns = 0;  // of that, the container's
};

class Intrusion {
 public:
  // Called with every core that the container holds now; one not seen before begins at 0, one not
  // seen again keeps what it had. A core whose container clock went back (its counter was opened
  // anew) goes on from there.
  void update(const std::map<topology::CpuId, CoreTimes>& cores);

  // Nanoseconds since the first update(), never less than before. Not set before it.
  [[nodiscard]] std::optional<std::uint64_t> total_ns() const;

 private:
  struct Core {
    CoreTimes first;
    CoreTimes last;
    std::uint64_t before = 0;    // from earlier holds of this core
    std::uint64_t previous = 0;  // of this hold: what the last reading said
    std::uint64_t highest = 0;   // and what two readings agreed on
    bool held = true;
  };
  static void begin(Core& core, const CoreTimes& times);

  std::map<topology::CpuId, Core> cores_;
  bool started_ = false;
};

}  // namespace pinion::metrics
