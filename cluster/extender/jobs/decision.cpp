#include "cluster/extender/jobs/decision.h"

#include <algorithm>

#include "cluster/core/auto_granularity.h"
#include "cluster/extender/scheduling/demand.h"
#include "policy/annotations.h"
#include "topology/words.h"

namespace pinion::cluster::jobs {
namespace {

tl::unexpected<Error> contradiction(const std::string& text) {
  return failure(Errc::kInvalid, text);
}

Result<topology::Smt> smt_of(const JobRequest& request, const Options& options) {
  const auto stated = request.for_workers.find(annotation::kSmt);
  if (stated == request.for_workers.end()) return options.defaults.smt;
  const auto smt = value_of(stated->second, topology::kSmtWords);
  if (smt) return *smt;
  return contradiction("annotation " + std::string(annotation::kSmt) +
                       ": unknown value, use one of: " + list_of(topology::kSmtWords));
}

Policy policy_for(const JobObject& object, const JobRequest& request, const Options& options) {
  return request.policy.value_or(object.workers ? Policy::kNone : options.policy);
}

Result<JobShape> job_of(const JobObject& object, const JobRequest& request,
                        const Options& options) {
  const auto smt = smt_of(request, options);
  if (!smt) return failure(smt.error());
  JobShape job;
  job.tasks = request.tasks;
  job.cpus_per_task = request.cpus_per_task;
  job.memory_per_task = request.memory_per_task.value_or(0);
  job.profile = request.profile;
  job.workers = object.workers.value_or(1);
  job.smt = *smt;
  if (job.workers > job.tasks) {
    return contradiction(object.workers_field + ": " + std::to_string(job.workers) +
                         " workers for " + std::to_string(job.tasks) + " tasks");
  }
  return job;
}

// What is stated against what was chosen.
Status agree(const JobObject& object, const JobRequest& request, const Decision& decision) {
  const Granularity& chosen = decision.granularity;
  const std::string policy = "policy " + std::string(to_string(decision.policy));
  if (object.workers && *object.workers != chosen.workers) {
    return contradiction(object.workers_field + ": " + std::to_string(*object.workers) +
                         " workers are stated, and " + policy + " chose " + to_string(chosen) +
                         ". Leave the number out, or set " + annotation::kPolicy + " to none");
  }
  if (request.groups > 0 && request.groups != chosen.groups) {
    return contradiction("annotation " + std::string(annotation::kTaskGroups) + ": " +
                         std::to_string(request.groups) + " groups are stated, and " + policy +
                         " chose " + to_string(chosen) + ". Leave the annotation out, or set " +
                         annotation::kPolicy + " to none");
  }
  const int slots = decision.largest().tasks;
  if (object.slots && *object.slots != slots) {
    return contradiction("spec.slotsPerWorker: " + std::to_string(*object.slots) +
                         " is stated, and a worker has " + std::to_string(slots) +
                         " of the job's tasks. Leave it out");
  }
  if (chosen.workers > kMaxGang) {
    return contradiction(std::to_string(chosen.workers) + " workers: at most " +
                         std::to_string(kMaxGang) + " start together");
  }
  return {};
}

Result<Granularity> granularity_of(const JobShape& job, const JobRequest& request, Policy policy,
                                   const NodeDemand& where, const Choose& choose) {
  if (policy != Policy::kNone && job.profile != Profile::kNone) {
    return choose(job, policy, request.nodes, where);
  }
  JobShape with_groups = job;
  with_groups.groups = request.groups;
  // Without a profile no policy looks at the fleet.
  return choose_granularity(with_groups, policy == Policy::kAuto ? Policy::kScale : policy, 1);
}

}  // namespace

Choose choose_by(LookAtFleet look) {
  return [look = std::move(look)](const JobShape& job, Policy policy, int nodes,
                                  const NodeDemand& where) -> Result<Granularity> {
    const bool by_holes = policy == Policy::kAuto;
    std::vector<FreeNode> holes;
    look([&](const LockedFleet& locked) { holes = free_nodes(locked.fleet, locked.terms(where)); });
    const auto there = static_cast<int>(holes.size());
    if (there == 0) {
      return failure(Errc::kUnavailable,
                     "no node that it may use is known now, so policy " +
                         std::string(to_string(policy)) +
                         " cannot choose: try again later, or state the number of workers");
    }
    const int used = nodes > 0 ? std::min(nodes, there) : there;
    return by_holes ? choose_by_fleet(job, used, holes, kMaxGang)
                    : choose_granularity(job, policy, used);
  };
}

Result<Decision> decide(const JobObject& object, const JobRequest& request, const Options& options,
                        const NodeDemand& where, const Choose& choose) {
  Decision decision;
  decision.policy = policy_for(object, request, options);
  if (object.kind == JobKind::kPod && decision.policy != Policy::kNone) {
    return contradiction("annotation " + std::string(annotation::kPolicy) +
                         ": a Pod is one worker, so only none makes sense");
  }
  auto job = job_of(object, request, options);
  if (!job) return failure(std::move(job.error()));
  decision.job = *job;
  auto chosen = granularity_of(*job, request, decision.policy, where, choose);
  if (!chosen) return failure(std::move(chosen.error()));
  decision.granularity = std::move(*chosen);
  auto workers = split(*job, decision.granularity.workers);
  if (!workers) return failure(std::move(workers.error()));
  decision.workers = std::move(*workers);
  if (Status good = agree(object, request, decision); !good)
    return failure(std::move(good.error()));
  return decision;
}

}  // namespace pinion::cluster::jobs
