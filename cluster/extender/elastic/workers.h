// The workers of elastic jobs among all pods, and which NUMA nodes become wholly free when the last
// of them leave. They are known by their names, which the jobs' controllers make: JOB-NUMBER and
// five letters of an Indexed Job, JOB-worker-NUMBER of an MPIJob, JOB-TASK-NUMBER of a Volcano Job.
// On a shrink all of these end the workers with the highest numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/core/whole_nodes.h"
#include "cluster/extender/elastic/elastic_job.h"

namespace pinion::cluster::elastic {

struct PodCpus {
  std::string name_space;
  std::string name;
  HeldCpus held;
};

// As ElasticJob::frees_whole, by the uids of those of these jobs whose workers, all that they state
// and no others, are among the pods.
[[nodiscard]] std::map<std::string, std::vector<std::int64_t>> frees_whole(
    const Fleet& fleet, const std::vector<ElasticObject>& jobs, const std::vector<PodCpus>& pods);

}  // namespace pinion::cluster::elastic
