// The workers of elastic jobs among all pods: which NUMA nodes become wholly free when the last of
// them leave, and what room there is for more. They are known by their names, which the jobs'
// controllers make: JOB-NUMBER and five letters of an Indexed Job, JOB-worker-NUMBER of an MPIJob,
// JOB-TASK-NUMBER of a Volcano Job. On a shrink all of these end the workers with the highest
// numbers.
#pragma once

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

// By uid, of all these jobs. What becomes wholly free is known of those whose workers, all that
// they state and no others, are among the pods.
[[nodiscard]] std::map<std::string, OnFleet> on_fleet(const Fleet& fleet,
                                                      const std::vector<ElasticObject>& jobs,
                                                      const std::vector<PodCpus>& pods);

}  // namespace pinion::cluster::elastic
