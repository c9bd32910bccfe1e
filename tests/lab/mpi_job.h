// A real MPI program in a container of the lab: HPC Challenge under Open MPI, both the machine's
// own (Debian's hpcc and openmpi-bin), whose /usr the container sees read-only.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/error.h"
#include "tests/lab/containerd_lab.h"
#include "tests/lab/hpcc.h"
#include "tests/lab/usage.h"
#include "topology/topology.h"

namespace pinion::lab {

// One Guaranteed container: mpirun and a rank for each of its cores.
struct MpiJob {
  int ranks = 1;
  int cpus = 1;  // whole cores: ranks x the hardware threads of a core
};

// As wide as the widest NUMA node without the reserved CPUs, at most 16 ranks. Error: kExhausted
// when no core is left.
Result<MpiJob> make_mpi_job(const topology::Topology& machine, const topology::CpuSet& reserved);

// "" when the programs are installed, else what is missing.
std::string why_no_mpi();

// One run from the start of mpirun to its end.
struct MpiRun {
  double seconds = 0;
  std::chrono::steady_clock::time_point begun;  // just before its container was made
  std::string container;                        // id
  topology::CpuSet cpuset;                      // its cgroup's own file
  ContainerUse use;                             // mpirun and the ranks
  HpccFigures hpcc;
};

// Runs the job once, in a pod of this name that must be new to the lab, and removes it again.
// `at_end` is called when the program has ended and its container still lives. Errors: as of the
// lab; kUnavailable when a run takes more than five minutes; kInternal, with the end of its output,
// when it fails.
Result<MpiRun> run_mpi(ContainerdLab& lab, const MpiJob& job, const std::string& name,
                       const std::function<Status(const MpiRun&)>& at_end);

}  // namespace pinion::lab
