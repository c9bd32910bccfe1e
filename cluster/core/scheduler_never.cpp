// The verdict that a job never fits, whatever ends.
#include "cluster/core/scheduler.h"

#include <algorithm>

#include "cluster/core/never_fits.h"
#include "cluster/core/pod_fit.h"
#include "cluster/core/scheduler_parts.h"

namespace pinion::cluster {

// Of a job that has started each member is on its own; where some have begun, their nodes may be
// closed by now or gone.
bool Scheduler::is_to_be_judged(const Job& job) const {
  return job.fixed() == 0 && !job.started && job.judged_at != machines_ && !fleet_.awaits();
}

// Whether those that start together would ever fit: looked at when they are first refused, and
// again when the fleet has other nodes.
std::optional<GangRefusal> Scheduler::judge(Job& job, const std::vector<Member*>& members) {
  if (!is_to_be_judged(job)) return std::nullopt;
  job.judged_at = machines_;
  std::vector<Member*> all = members;
  for (auto& [id, member] : job.members) {
    if (member.state != Member::State::kWaiting) all.push_back(&member);
  }
  auto never = never_fits(idle_, gang_of(job, all), limit_of_nodes(job.spec.nodes), policy_of(job),
                          seed_of(job.id));
  if (never) {
    job.never = never->text;
    tell(JobNews::Kind::kHopeless, job, job.never, static_cast<int>(all.size()));
  }
  return never;
}

void Scheduler::refused_elsewhere(const MemberId& member) {
  Job& job = *book_.job_of(member);
  if (!job.complete()) return;
  const std::vector<Member*> waiting = members_in(job, Member::State::kWaiting);
  // Whoever refused it may still take it where nobody speaks for a node.
  const bool elsewhere = std::any_of(waiting.begin(), waiting.end(), [&](const Member* other) {
    return fleet_.unheard(other->terms) > 0;
  });
  if (waiting.empty() || elsewhere || !judge(job, waiting)) return;
  job.why = job.never;
  unqueue(job.id);
  hopeless_.insert(job.id);
}

// What was refused may be hopeless on the nodes that were offered alone.
void Scheduler::tell_if_hopeless(Job& job, const std::vector<Member*>& members) {
  if (!job.never.empty() || fleet_.by_name().empty()) return;
  const bool fits = std::all_of(members.begin(), members.end(), [&](const Member* member) {
    const bool looked_at = member != members.front() &&
                           member->terms.same_nodes(members.front()->terms) &&
                           member->cpus() <= members.front()->cpus();
    return looked_at || fits_when_idle(member->requests, member->terms);
  });
  if (fits) return;
  job.never = job.why;
  tell(JobNews::Kind::kHopeless, job, job.why, static_cast<int>(members.size()));
}

// Whether some node would take them with nothing running.
bool Scheduler::fits_when_idle(const std::vector<topology::Request>& requests,
                               const MemberTerms& terms) const {
  const auto& nodes = fleet_.by_name();
  IdleFit idle(fleet_, requests);
  return fleet_.awaits() || std::any_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
           return fleet_.takes_idle(entry.second, terms) && idle.fit(entry.second);
         });
}

}  // namespace pinion::cluster
