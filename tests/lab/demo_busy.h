// The demo's first part: a job of busy loops and noise around it, with the agent and without; what
// each container got and where it really ran.
#pragma once

#include "base/error.h"
#include "tests/lab/containerd_lab.h"
#include "tests/lab/demo_job.h"
#include "topology/topology.h"

namespace pinion::lab {

// Prints a table for each run of so many seconds, and a verdict. Error: kInternal when the ranks
// were not pinned, or as of the lab.
Status show_busy_job(ContainerdLab& lab, const Job& job, int seconds,
                     const topology::Topology& machine);

}  // namespace pinion::lab
