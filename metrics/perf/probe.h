// Which events this machine counts, found out by opening each one for a moment.
#pragma once

#include <vector>

#include "metrics/figures.h"
#include "metrics/perf/layout.h"
#include "metrics/perf/machine.h"
#include "metrics/perf/perf_group.h"

namespace pinion::metrics::perf {

struct ProbeOrder {
  PerfMachine machine{};
  // The root of perf's hierarchy: the permission that counting containers needs is then the one
  // that is tried. Target::self() asks for less, and suits only a test.
  Target target = Target::self();
  topology::CpuId cpu = kAnyCpu;  // any online CPU; with Target::self() also kAnyCpu
  bool hardware = true;           // false: hardware events are kOff and not tried
};

struct Probed {
  std::vector<EventAvailability> events;  // one for each Event, in their order
  int counters = 0;  // how many hardware events the PMU takes in one group; 0: none at all
  EventSet set;      // the counted events, laid out for that
};

// Opens and closes some twenty events, takes well below a millisecond. A PMU that accepts cycles
// and then does not count (some hypervisors) is kNotSupported.
Probed probe(PerfSyscalls& syscalls, const ProbeOrder& order);

}  // namespace pinion::metrics::perf
