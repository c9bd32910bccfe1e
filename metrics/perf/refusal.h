// What it means that the kernel refused an event, and what would help.
#pragma once

#include <optional>
#include <string>

#include "metrics/figures.h"

namespace pinion::metrics::perf {

// The state that an errno of perf_event_open(2) stands for. `hardware`: the event needs a PMU;
// `has_pmu`: the machine has one. Unexpected ones are kNotSupported.
Availability availability_of(int sys_errno, bool hardware, bool has_pmu);

// One line: the error and what a human can do. `paranoid` is kernel.perf_event_paranoid if known.
std::string explain(int sys_errno, std::optional<int> paranoid);

}  // namespace pinion::metrics::perf
