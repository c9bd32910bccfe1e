#include "cluster/extender/jobs/gang.h"

#include <algorithm>
#include <map>

#include "cluster/core/hole_text.h"
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

// No less than the members of this kind that it takes; of several containers each is looked at by
// itself.
int room_when_idle(const MachineKind& machine, const GangMember& member, int wanted) {
  int room = wanted;
  for (const topology::Request& request : member.requests()) {
    topology::Holes holes = machine.idle;
    if (request.use_isolated && holes.isolated) continue;
    room = std::min(room, topology::reserve_in(holes, request, room));
  }
  return member.beside.empty() ? room : std::min(room, machine.idle.free / member.all_cpus());
}

// Members of this kind for which the fleet has room when nothing runs, counted up to `wanted`.
int idle_room(const Fleet& fleet, const GangMember& member, int wanted) {
  std::map<const MachineKind*, int> by_kind;
  int room = 0;
  for (const auto& [name, index] : fleet.by_name()) {
    const FleetNode& node = fleet.node(index);
    const int shares = fleet.may_ever_use(index, member.terms)
                           ? times(node.capacity, member.terms.requests, wanted)
                           : 0;
    if (shares == 0) continue;
    const auto [known, fresh] = by_kind.try_emplace(node.kind.get());
    if (fresh) known->second = room_when_idle(*node.kind, member, wanted);
    room += std::min(known->second, shares);
    if (room >= wanted) return wanted;
  }
  return room;
}

}  // namespace

Gang gang_of(const json& object, const Cut& cut, const policy::Defaults& defaults,
             const FleetSight& sight) {
  Gang gang;
  const Granularity& chosen = cut.decision.granularity;
  std::map<const PodTemplate*, GangMember> alike;
  for (int i = 0; i < chosen.workers; ++i) {
    const PodTemplate& its = template_of(cut.job, i);
    const auto [known, fresh] = alike.try_emplace(&its);
    if (fresh) {
      const Pod pod = pod_of_template(object.at(its.at));
      known->second =
          GangMember(demand_of(pod, defaults).requests, sight.terms(pod.nodes, pod.requests));
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

std::string why_never(const Fleet& fleet, const Gang& gang) {
  struct Kind {
    const GangMember* like;
    int members = 0;
  };
  std::vector<Kind> kinds;
  for (const GangMember& member : gang) {
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) {
      return same_shape(*kind.like, member);
    });
    if (known == kinds.end()) {
      kinds.push_back({.like = &member, .members = 1});
    } else {
      ++known->members;
    }
  }
  if (fleet.by_name().empty()) return {};
  for (const auto& [like, members] : kinds) {
    const int room = idle_room(fleet, *like, members);
    if (room >= members) continue;
    return "needs " + std::to_string(members) + " x " + hole_text(*like) +
           (like->beside.empty() ? "" : " and CPUs of its other containers") +
           "; with nothing running the nodes that it may use have room for " + std::to_string(room);
  }
  return {};
}

}  // namespace pinion::cluster::jobs
