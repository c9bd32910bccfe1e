// Tasks to workers (the paper's Algorithm 2): what each worker pod asks for, and the hostfile.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/core/job_shape.h"

namespace pinion::cluster {

struct Worker {
  int tasks = 0;
  int cpus = 0;      // request and limit, whole CPUs
  Bytes memory = 0;  // request and limit; 0: none

  bool operator==(const Worker&) const = default;
};

// Round robin: each worker has tasks / workers, the first tasks % workers have one more.
// Errors: kInvalid for tasks or CPUs below 1, workers outside 1 .. tasks, and a worker whose CPUs
// are more than any machine has (CpuSet::kCapacity) or whose memory does not fit in 64 bits.
Result<std::vector<Worker>> split(const JobShape& job, int workers);

// One line "HOST slots=TASKS" for each worker, the first host for the first worker.
// Errors: kInvalid when their numbers differ, or for a host that is empty or holds a blank, a
// control character or '#', which mpirun would read as something else.
Result<std::string> hostfile(const std::vector<std::string>& hosts,
                             const std::vector<Worker>& workers);

}  // namespace pinion::cluster
