// Rates between two readings of one container, source by source: pure. A counter that went back
// (which a source should not do) or was not there before gives no rate rather than a wrong one.
#pragma once

#include "metrics/figures.h"

namespace pinion::metrics {

// Each sets those of now.rates that come from its source; `seconds` > 0 lie between the two
// readings of that source. `cores` is the number of CPUs that the container holds.
void set_perf_rates(const ContainerFigures& before, double seconds, int cores,
                    ContainerFigures& now);
void set_cgroup_rates(const ContainerFigures& before, double seconds, ContainerFigures& now);
void set_task_rates(const ContainerFigures& before, double seconds, ContainerFigures& now);

}  // namespace pinion::metrics
