// A job of a trace cut into the workers that are placed, by the policies that cut jobs in a
// cluster (cluster/core/granularity.h).
#pragma once

#include <vector>

#include "cluster/core/fleet.h"
#include "cluster/core/granularity.h"
#include "cluster/sim/job.h"

namespace pinion::sim {

struct ShapeRules {
  cluster::Policy granularity = cluster::Policy::kNone;
  bool pinned = true;  // workers have CPUs of their own inside a NUMA node; false: of the node
  bool insist = true;  // a worker that fits in a NUMA node starts in one or not at all
  bool groups = true;  // the workers are cut into task groups where the policy says so
};

struct Cut {
  std::vector<int> tasks;                   // of each worker
  std::vector<topology::Request> requests;  // the same; without id and job
  int groups = 0;                           // 0: none
};

// What the idle machines could give to one worker.
struct Largest {
  int numa = 0;  // CPUs of one NUMA node
  int node = 0;  // CPUs of one node
};
[[nodiscard]] Largest largest_of(const cluster::Fleet& fleet);

// Where neither the policy nor the job says it, the job has as few workers as fit in a NUMA node
// each. Errors: kInvalid for a job that choose_granularity() refuses, or one whose workers do not
// fit in any node.
Result<Cut> cut(const Job& job, const ShapeRules& rules, const Largest& largest,
                const cluster::Fleet& fleet);
// The same for an elastic job that has so many workers now: each is a task, whatever the policy.
// Before them comes its launcher, without tasks, if it has processors of its own.
Result<Cut> cut_elastic(const Job& job, int workers, const ShapeRules& rules,
                        const Largest& largest, const cluster::Fleet& fleet);

}  // namespace pinion::sim
