// What `squeue --json` prints.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "cluster/slurm/job.h"

namespace pinion::slurm {

// As Slurm 22.05 writes it, and with the objects and lists that later ones put in place of numbers
// and words. A job without an id is left out; what else is missing is not said. Errors:
// kUnavailable for what is no such list, also one that is cut off.
Result<std::vector<Job>> read_jobs(std::string_view text);

}  // namespace pinion::slurm
