// The demo's job: ranks that each want whole cores, and noise around them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/lab/containerd_lab.h"
#include "tests/lab/pod.h"
#include "tests/lab/usage.h"
#include "topology/topology.h"

namespace pinion::lab {

struct Job {
  std::vector<PodSpec> noise_before;  // starts before the ranks
  std::vector<PodSpec> ranks;
  std::vector<PodSpec> noise_after;
  topology::CpuSet reserved;  // the first core: never a rank's
  int cpus_per_rank = 1;
  int loops_per_noise = 1;
};

// One rank for each core but the first, at most `most_ranks`; a rank is as wide as a core. Noise:
// two single-threaded loops for each core in at most 16 containers, Burstable and BestEffort in
// turn; the Burstable ones request what the first core has, so that the job is one that a scheduler
// would have placed. Error: kExhausted on a machine of one core.
Result<Job> make_job(const topology::Topology& machine, int most_ranks);

// One container of the job, as it was found to run.
struct Row {
  std::string name;
  Qos qos = Qos::kBestEffort;
  bool rank = false;
  std::int64_t asked = 0;  // thousandths of a CPU
  std::string id;
  topology::CpuSet cpuset;  // its cgroup's own file
  ContainerUse use;
};

// A started pod's own program is at work: it is no longer runc's process, and all its loops are
// there.
bool is_at_work(const CgroupTree& tree, const std::string& cgroup, std::size_t loops);

// Starts all, waits until all run, looks for `seconds`, removes all. Errors gain the pod's name.
Result<std::vector<Row>> run_job(ContainerdLab& lab, const Job& job, int seconds,
                                 const topology::Topology& machine,
                                 const std::function<Status(std::vector<Row>&)>& while_running);

}  // namespace pinion::lab
