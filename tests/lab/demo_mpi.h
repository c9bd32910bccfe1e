// The demo's second part: a real MPI program beside the same noise, pinned and not, several rounds.
#pragma once

#include <string>

#include "base/error.h"
#include "tests/lab/containerd_lab.h"
#include "tests/lab/demo_job.h"
#include "topology/topology.h"

namespace pinion::lab {

// Prints each run on its way, then a table of medians and spread and what it means; writes the same
// as a plot to `svg`. Errors: as of the lab, and of writing the file.
Status show_mpi_job(ContainerdLab& lab, const Job& noise, int rounds,
                    const topology::Topology& machine, const std::string& svg);

}  // namespace pinion::lab
