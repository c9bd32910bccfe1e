// What this machine has to count with.
#pragma once

#include <string>

#include "metrics/perf/cpu_model.h"

namespace pinion::metrics::perf {

struct PerfMachine {
  CpuModel cpu;
  bool has_pmu = false;  // the kernel has a PMU of the cores; many virtual machines have none
};

// `root` is the directory that holds the machine's proc/ and sys/ ("" or "/" for this machine).
// Never fails: what cannot be read is not there.
PerfMachine read_perf_machine(const std::string& root);

}  // namespace pinion::metrics::perf
