#include "cluster/extender/jobs/gang.h"

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

Gang gang_of(const json& object, const Cut& cut, const policy::Defaults& defaults) {
  Gang gang;
  const Granularity& chosen = cut.decision.granularity;
  for (int i = 0; i < chosen.workers; ++i) {
    const json& pod = object.at(template_of(cut.job, i).at);
    const Demand demand = demand_of_template(pod, defaults);
    topology::Request request = demand.requests.front();
    request.id = cut.job.name + "/worker-" + std::to_string(i);
    if (request.task_group.empty() && cut.job.kind != JobKind::kPod) {
      request.task_group = group_name(job_of_gang(request.job), i, chosen.groups);
    }
    gang.push_back(std::move(request));
  }
  return gang;
}

}  // namespace pinion::cluster::jobs
