// Gangs whose pods wait at Pinion's scheduling gate.
#include "cluster/extender/scheduling/pod_scheduler.h"

#include <utility>

#include "cluster/extender/scheduling/pod_scheduler_parts.h"

namespace pinion::cluster {

// Of a pod that is no member of a gang the scheduler asks, and tells its user what is wrong with
// it.
void PodScheduler::note_gates(const Pod& pod) {
  if (!pod.gang_gate || !pod.node.empty()) return gates_.erase(pod.uid);
  const Job* job = book().job_of(pod.uid);
  if (job == nullptr || !is_gang(job->id)) {
    gates_.seen(pod, {});
    gates_.open(pod.uid, {});
    return;
  }
  gates_.seen(pod, job->id);
  const Member& member = job->members.at(pod.uid);
  if (member.state == Member::State::kReserved) gates_.open(pod.uid, member.node);
}

// A member that waits at its gate is there, or no other gate keeps it any more.
void PodScheduler::plan_if_ready(const KnownPod& known, std::int64_t now_ms) {
  const Gates::Gang* gates = gates_.find(known.demand.gang);
  if (gates == nullptr || !gates->others.empty()) return;
  if (!book().find(known.demand.gang)->complete()) return;
  plan_ms_ = kAtOnce;
  plan_gated(now_ms);
}

// The gangs that nothing but their gates keeps, in the queue's order; as many at a time as the
// scheduler may have bindings under way.
void PodScheduler::plan_gated(std::int64_t now_ms) {
  if (!acts_) return;
  if (plan_ms_ <= now_ms && may_plan()) {
    const std::uint64_t before = scheduler_.counters().refused;
    plan_ms_ = scheduler_.run_some(gates_.ready(), now_ms, [&] {
      heed();
      return may_plan();
    });
    heed();
    gang_counters_.refused += scheduler_.counters().refused - before;
    ask_for_evictions(now_ms);
  }
  gates_.due(now_ms, effects_.openings);
}

// kube-scheduler evicts only for pods that it asks about: a gang that could start if less urgent
// pods were gone is let through without a plan.
void PodScheduler::ask_for_evictions(std::int64_t now_ms) {
  for (const JobId& id : gates_.ready()) {
    Gates::Gang& gates = *gates_.find(id);
    const Job& job = *book().find(id);
    const bool may_help = job.refused && job.never.empty() && job.complete();
    if (gates.asked || !may_help || !gates.ask.over(now_ms)) continue;
    const KnownPod& known = *cache_.find(*gates.ours.begin());
    if (!cache_.any_below(known.priority)) continue;
    gates.ask.begin(now_ms);
    Pod pod;
    pod.uid = known.pod.uid;
    pod.priority = known.priority;
    bool could = false;
    scheduler_.see_as(pod.uid, now_ms, [&] {
      could = preemption_.could_use(pod, known.demand, now_ms).has_value();
    });
    if (!could) continue;
    gates.asked = true;
    follow_plan(id);
  }
}

// The gates of those are taken off that have their places now. Others of the gang that have none,
// be it that the extender has ended when some were off, were refused before, and are asked about
// again.
void PodScheduler::follow_plan(const JobId& gang) {
  const Gates::Gang* gates = gates_.find(gang);
  const Job* job = book().find(gang);
  if (gates == nullptr || job == nullptr) return;
  for (const auto& [uid, member] : job->members) {
    const bool reserved = member.state == Member::State::kReserved;
    if (!gates_.on(uid)) {
      const KnownPod& known = *cache_.find(uid);
      const bool refused = known.asked_ms == 0 || waiting_.all().contains(uid);
      if (reserved && refused) effects_.wake.push_back(known.pod);
      continue;
    }
    if (reserved || gates->asked) {
      gates_.open(uid, member.node);
    } else {
      gates_.keep(uid);
    }
  }
}

// Precondition: it is not complete.
std::string PodScheduler::why_incomplete(const Job& job) const {
  if (!job.spec.at_odds.empty()) return job.spec.at_odds;
  return of(static_cast<int>(job.members.size()), job.spec.size) + " pods of its gang exist";
}

std::string PodScheduler::why_gated(const Job& job) const {
  if (!job.complete()) return why_incomplete(job);
  const Gates::Gang* gates = gates_.find(job.id);
  if (gates == nullptr) return {};
  if (!gates->others.empty()) {
    return of(static_cast<int>(gates->others.size()), static_cast<int>(job.members.size())) +
           " pods of its gang wait at other scheduling gates";
  }
  return job.why;
}

// Nobody asks about those that wait at their gates, so their user is told here: each reason once.
void PodScheduler::explain(std::int64_t now_ms) {
  if (!acts_ || now_ms - looked_ms_ < kLookMs) return;
  looked_ms_ = now_ms;
  judge_refused();
  for (auto& [id, gates] : gates_.gangs()) {
    const Job& job = *book().find(id);
    if (!job.complete() && now_ms - job.touched_ms < kComplainMs) continue;
    std::string why = why_gated(job);
    if (why.empty() || why == gates.told || !gates.tell.over(now_ms)) continue;
    gates.tell.begin(now_ms);
    effects_.explanations.push_back({.pod = cache_.find(*gates.ours.begin())->pod, .why = why});
    gates.told = std::move(why);
  }
}

// kube-scheduler asks only about nodes that it would take itself: whom it refuses on all of them is
// told its words alone. Where the pod fits no idle node either, its user is told that.
void PodScheduler::judge_refused() {
  if (fleet().awaits()) return;
  for (int i = 0; i < kJudgedEachSecond && !refused_.empty(); ++i) {
    const std::string uid = std::move(refused_.extract(refused_.begin()).value());
    if (book().member(uid) != nullptr) scheduler_.refused_elsewhere(uid);
  }
  heed();
}

}  // namespace pinion::cluster
