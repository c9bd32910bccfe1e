// What this machine can count, found out once at the start.
#pragma once

#include <memory>

#include "agent/config.h"
#include "base/log/log.h"
#include "metrics/collect/collector.h"

namespace pinion::agent {

// Reads what there is, opens each event once, raises the limit on descriptors to what the
// configured counting can need, and logs what is missing and what would help. Nothing here is a
// reason not to start: what cannot be counted is absent. `syscalls` must outlive the collector.
// `own_machine` is false where the agent works for another machine's topology: nothing is measured
// then.
[[nodiscard]] metrics::CollectorOptions choose_counting(const Config& config, bool own_machine,
                                                        const topology::CpuSet& online,
                                                        metrics::perf::PerfSyscalls& syscalls,
                                                        Log& log);

}  // namespace pinion::agent
