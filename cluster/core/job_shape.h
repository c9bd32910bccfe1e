// A job as its user states it, before it is cut into workers.
#pragma once

#include "topology/allocate.h"

namespace pinion::cluster {

using topology::Bytes;
using topology::Profile;

struct JobShape {
  int tasks = 1;              // MPI processes (the paper's Nt), >= 1
  int cpus_per_task = 1;      // >= 1
  Bytes memory_per_task = 0;  // limit; 0: none
  Profile profile = Profile::kNone;
  int workers = 1;  // the user's own choice (Nw), 1 .. tasks: kept where no policy decides
  int groups = 0;   // the user's own choice (Ng), 0: none
  topology::Smt smt = topology::Smt::kPreferFull;  // of its workers
};

}  // namespace pinion::cluster
