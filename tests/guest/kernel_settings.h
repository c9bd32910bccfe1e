// What the kernel says of its own work: where it may run, and how often it has interrupted CPUs.
// Read here by other means than the agent's, so that a test does not believe its own code.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/error.h"
#include "topology/topology.h"

namespace pinion::guest {

using topology::CpuId;
using topology::CpuSet;

// The texts of all interrupts' affinities, of the default and of the workqueues' masks, by path.
std::map<std::string, std::string> kernel_settings();

// Where RCU's offload threads may run, by name; there are some only with rcu_nocbs.
std::map<std::string, CpuSet> rcu_threads();

// The kernel's threads, as "PID (NAME)", that are bound to no CPU and may run on one of these.
std::set<std::string> kernel_threads_on(const CpuSet& cpus);

// Interrupts by number whose affinity the kernel lets nobody write: not even what it is already.
std::set<std::string> fixed_irqs();
// All others whose affinity names one of these CPUs, as text; "" where there are none.
std::string movable_irqs_on(const CpuSet& cpus, const std::set<std::string>& fixed);

// Interrupts counted on a CPU since boot: all of them (local timers, calls of other CPUs), or those
// of devices alone.
struct Interrupts {
  long all = 0;
  long devices = 0;
};
Interrupts interrupts_on(CpuId cpu);

// An interrupt of the serial port that has the console: its number, 0 where there is none.
int console_irq();
Status set_affinity_list(int irq, const std::string& list);

}  // namespace pinion::guest
