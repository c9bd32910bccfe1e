// How a job is cut: what its user has stated, what a policy chooses, and whether the two agree.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/core/fleet.h"
#include "cluster/core/granularity.h"
#include "cluster/core/learnt_profile.h"
#include "cluster/core/split.h"
#include "cluster/extender/jobs/job_object.h"
#include "cluster/extender/scheduling/node_demand.h"
#include "policy/policy.h"

namespace pinion::cluster::jobs {

struct Options {
  std::string scheduler;  // of our pods; empty: theirs is left as it is
  // An extended resource of which each pod with whole CPUs is given one, so that the scheduler asks
  // the extender about those alone (managedResources); only pods of the default scheduler and of
  // `scheduler` are. Empty: none.
  std::string managed_resource = {};
  bool gates = true;  // the pods of gangs get the scheduling gate kGangGate
  // Instead: whether kube-scheduler keeps gangs together itself, so that they get a PodGroup of
  // scheduling.k8s.io (pod_group.h); called on many threads at once. Empty: it does not.
  std::function<bool()> pod_groups = {};
  Policy policy = Policy::kNone;  // of jobs that state neither a policy nor a number of workers
  policy::Defaults defaults;      // of the nodes' agents
  // What was learnt of earlier runs of a job; called on many threads at once. Empty: nothing is
  // learnt here, and who asks for it is refused.
  std::function<LearntProfile(const std::string& name_space, const std::string& job)> learnt = {};
};

// Asks a policy; `nodes` is how many nodes the job may use at most, 0: all; `where` says which.
// Errors: kInvalid as choose_granularity(), kUnavailable when there is no such node now.
using Choose = std::function<Result<Granularity>(const JobShape& job, Policy policy, int nodes,
                                                 const NodeDemand& where)>;

// The fleet, and which nodes of it pods of a demand may use (NodeFacts::allowed()).
struct LockedFleet {
  const Fleet& fleet;
  std::function<std::shared_ptr<const NodeSet>(const NodeDemand&)> allowed = [](const NodeDemand&) {
    return nullptr;
  };

  [[nodiscard]] MemberTerms terms(const NodeDemand& where,
                                  const ResourceList& requests = {}) const {
    return {.requests = requests, .nodes = allowed(where)};
  }
};

// Lets somebody see the fleet, in the call and not afterwards; the fleet may change between two.
using LookAtFleet = std::function<void(const std::function<void(const LockedFleet&)>& see)>;

// By the fleet as it is when asked. It looks only as long as it takes to copy what it needs.
[[nodiscard]] Choose choose_by(LookAtFleet look);

struct Decision {
  JobShape job;
  Policy policy = Policy::kNone;
  Granularity granularity;
  std::vector<Worker> workers;  // the first is the largest, and what the template asks for

  [[nodiscard]] const Worker& largest() const { return workers.front(); }
  [[nodiscard]] bool even() const { return workers.front() == workers.back(); }
};

// `where`: which nodes its workers may use. Errors: kInvalid where what is stated contradicts
// itself, or what the policy chose; as `choose`.
Result<Decision> decide(const JobObject& object, const JobRequest& request, const Options& options,
                        const NodeDemand& where, const Choose& choose);

// The task group of the worker at `index` of `workers` equal ones in so many groups.
[[nodiscard]] constexpr int group_of(int index, int groups) {
  return index % groups;
}

}  // namespace pinion::cluster::jobs
