#include "cluster/extender/jobs/gang.h"

#include <map>

#include "cluster/extender/jobs/child_pod.h"
#include "cluster/extender/jobs/entitlement.h"

namespace pinion::cluster::jobs {
namespace {

// The template of the worker at `index`: the launcher's is the first, where it works.
const PodTemplate& template_of(const JobObject& job, int index) {
  const PodTemplate* last = &job.templates.front();
  for (const PodTemplate& one : job.templates) {
    if (!one.member) continue;
    last = &one;
    if (index-- == 0) break;
  }
  return *last;
}

}  // namespace

Gang gang_of(const json& object, const Cut& cut, const policy::Defaults& defaults,
             const LockedFleet& locked) {
  Gang gang;
  const Granularity& chosen = cut.decision.granularity;
  std::map<const PodTemplate*, GangMember> alike;
  for (int i = 0; i < chosen.workers; ++i) {
    const PodTemplate& its = template_of(cut.job, i);
    const auto [known, fresh] = alike.try_emplace(&its);
    if (fresh) {
      const Pod pod = pod_of_template(object.at(its.at));
      MemberTerms terms = locked.terms(pod.nodes, pod.requests);
      terms.apart = pod.apart || (locked.fleet.rules().apart && !is_service(pod));
      known->second = GangMember(demand_of(pod, defaults).requests, std::move(terms));
    }
    GangMember member = known->second;
    member.id = cut.job.name + "/worker-" + std::to_string(i);
    if (member.task_group.empty() && cut.job.kind != JobKind::kPod) {
      member.task_group = group_name(job_of_gang(member.job), i, chosen.groups);
    }
    for (topology::Request& request : member.beside) {
      request.id = member.id + "/" + request.id;
      request.task_group = member.task_group;
    }
    gang.push_back(std::move(member));
  }
  return gang;
}

}  // namespace pinion::cluster::jobs
