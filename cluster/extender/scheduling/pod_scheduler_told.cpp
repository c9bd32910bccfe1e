// What the API server and the agents tell.
#include "cluster/extender/scheduling/pod_scheduler.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "cluster/core/gang.h"
#include "cluster/extender/scheduling/pod_scheduler_parts.h"
#include "policy/annotations.h"

namespace pinion::cluster {
namespace {

constexpr const char* kNotOurs = "the pod asks for no CPUs of its own any more";

// Without so many CPUs of it, whole cores first.
topology::CpuSet without_some(topology::CpuSet cpus, int count,
                              const topology::Topology& topology) {
  for (const topology::Core& core : topology.cores) {
    const topology::CpuSet part = cpus & core.cpus;
    if (part.count() > count) continue;
    cpus -= part;
    count -= part.count();
  }
  return cpus.lowest(std::max(0, cpus.count() - count));
}

// Why a pod is no member of its gang any more that is now what `demand` says.
std::string left_for(const Demand& demand) {
  if (demand.kind != Demand::Kind::kMember) return "the pod is no member of its gang any more";
  return "the pod is a member of the gang " + called(demand.gang) + " now";
}

// What each pod says of the whole gang, and by which annotation.
constexpr std::array kToldOfGang = {annotation::kGangSize, annotation::kNodes,
                                    annotation::kTaskGroups};
using ToldOfGang = std::array<int, kToldOfGang.size()>;

ToldOfGang told_of(const JobSpec& spec) {
  return {spec.size, spec.nodes, spec.task_groups};
}

// Whether both ask for the same CPUs, of the same containers.
bool same_requests(const Demand& a, const Demand& b) {
  return a.host == b.host && a.guests == b.guests &&
         std::equal(a.requests.begin(), a.requests.end(), b.requests.begin(), b.requests.end(),
                    [](const topology::Request& x, const topology::Request& y) {
                      return x.id == y.id && x.task_group == y.task_group && same_shape(x, y);
                    });
}

}  // namespace

KnownPod* PodScheduler::know(const Pod& pod, Demand demand, std::int64_t now_ms) {
  KnownPod* known = cache_.find(pod.uid);
  if (known == nullptr) {
    if (cache_.size() >= limits_.pods) return nullptr;
    KnownPod fresh;
    fresh.pod = ref_of(pod);
    fresh.demand = std::move(demand);
    fresh.terms = terms_of(pod, fresh.demand, now_ms);
    fresh.priority = pod.priority;
    // Once all that existed is told, nobody becomes old by what an old pod says of itself.
    const bool existed = !acts_ && pod.created_ms > 0;
    fresh.since_ms = existed ? std::min(now_ms, pod.created_ms - limits_.epoch_ms) : now_ms;
    known = &cache_.add(std::move(fresh));
    join(*known, now_ms);
    return known;
  }
  // What it asks for may change while it waits, its gang's size, and the gang itself. Of one
  // whose PodGroup is away it stays a member.
  if (!known->node.empty() || demand.kind == Demand::Kind::kWaiting) return known;
  if (job_of(*known) != job_of(pod.uid, demand)) {
    // It brings its age to one job. Of who waits for its PodGroup that is still to come.
    if (book().member(pod.uid) != nullptr) known->since_ms = now_ms;
    leave(*known, left_for(demand), now_ms);
  }
  const bool asks_otherwise = !same_requests(known->demand, demand);
  known->demand = std::move(demand);
  if (book().member(pod.uid) != nullptr) {
    if (!asks_otherwise) {
      if (is_gang(job_of(*known))) heed_spec(*known, now_ms);
      return known;
    }
    leave(*known, "what the pod asks for has changed", now_ms);
  }
  join(*known, now_ms);
  if (is_gang(job_of(*known))) wake_gang(job_of(*known), {});
  return known;
}

// What its members say of the whole gang holds when all that wait say the same. Until then it is
// not planned: each question would withdraw the plan of the one before. Precondition: the pod is a
// member of its job.
void PodScheduler::heed_spec(const KnownPod& known, std::int64_t now_ms) {
  const JobId id = job_of(known);
  const Job& job = *book().find(id);
  JobSpec spec = spec_of(known, limits_.scheduler);
  const bool as_known = job.spec.at_odds.empty() && told_of(spec) == told_of(job.spec);
  if (is_gang(id) && !job.started && !as_known) {
    if (std::string odds = contradiction(job); !odds.empty()) {
      spec = job.spec;
      spec.at_odds = std::move(odds);
    }
  }
  if (job.spec == spec) return;
  const bool agreed = !job.spec.at_odds.empty() && spec.at_odds.empty();
  scheduler_.submit(id, std::move(spec), now_ms);
  heed();
  if (agreed) wake_gang(id, {});
}

// The same after a change that is no pod's own.
void PodScheduler::heed_waiting(const Job& gang, std::int64_t now_ms) {
  const auto waits = std::find_if(gang.members.begin(), gang.members.end(),
                                  [](const auto& each) { return !each.second.fixed(); });
  if (waits != gang.members.end()) heed_spec(*cache_.find(waits->first), now_ms);
}

// In what those of its members that wait differ; empty: in nothing. The size is their PodGroup's
// word where they have one, and then no pod's.
std::string PodScheduler::contradiction(const Job& job) const {
  std::optional<ToldOfGang> least;
  std::optional<ToldOfGang> most;
  for (const auto& [uid, member] : job.members) {
    if (member.fixed()) continue;
    const Demand& demand = cache_.find(uid)->demand;
    const ToldOfGang told{is_of_group(job.id) ? 0 : demand.size, demand.nodes, demand.groups};
    if (!least) least = most = told;
    for (std::size_t i = 0; i < told.size(); ++i) {
      (*least)[i] = std::min((*least)[i], told[i]);
      (*most)[i] = std::max((*most)[i], told[i]);
    }
  }
  if (!least || least == most) return {};
  const auto differs = std::mismatch(least->begin(), least->end(), most->begin());
  return "the pods of its gang differ in " +
         std::string(kToldOfGang[static_cast<std::size_t>(differs.first - least->begin())]) + ": " +
         (*differs.first == 0 ? "none" : std::to_string(*differs.first)) + " and " +
         std::to_string(*differs.second);
}

// Known by a question. Precondition: it is not turned away.
KnownPod& PodScheduler::asked(const Pod& pod, Demand demand, std::int64_t now_ms) {
  KnownPod& known = *know(pod, std::move(demand), now_ms);
  if (known.asked_ms == 0 && !known.told) untold_.emplace_back(pod.uid, now_ms);
  known.asked_ms = now_ms;
  return known;
}

// The pod becomes a member of its job, where it is known what it asks for.
void PodScheduler::join(KnownPod& known, std::int64_t now_ms) {
  const Demand& demand = known.demand;
  if (demand.requests.empty() || demand.kind == Demand::Kind::kWaiting) return;
  const JobId job = job_of(known);
  if (book().find(job) == nullptr)
    scheduler_.submit(job, spec_of(known, limits_.scheduler), now_ms);
  scheduler_.waits_since(job, known.since_ms);
  scheduler_.join(job, known.pod.uid, demand.requests, now_ms, known.terms);
  if (is_gang(job)) heed_spec(known, now_ms);
}

// The pods of a gang have the labels of one template.
MemberTerms PodScheduler::terms_of(const Pod& pod, const Demand& demand, std::int64_t now_ms) {
  MemberTerms terms = nodes_.terms(pod.nodes, pod.requests);
  terms.apart = pod.apart && demand.kind == Demand::Kind::kMember;
  // Who says more than a day might as well say nothing: nobody is to wait for it before others.
  if (pod.run_ms > 0 && pod.run_ms <= kUnstatedRunMs) {
    const std::int64_t begun_ms =
        pod.started_ms > 0 ? std::min(now_ms, pod.started_ms - limits_.epoch_ms) : now_ms;
    terms.run_ms = std::max<std::int64_t>(begun_ms + pod.run_ms - now_ms, 1);
  }
  return terms;
}

// Which nodes it may use changes while it waits: whoever takes another gate off may say where the
// pod is to go, and tolerations may be added at any time.
void PodScheduler::heed_nodes(KnownPod& known, const Pod& pod, std::int64_t now_ms) {
  const Member* member = book().member(pod.uid);
  if (member != nullptr && member->fixed()) return;
  known.terms = terms_of(pod, known.demand, now_ms);
  if (member == nullptr) return;
  scheduler_.change_terms(pod.uid, known.terms, now_ms);
  heed();
}

void PodScheduler::leave(const KnownPod& known, const std::string& why, std::int64_t now_ms) {
  const std::string& uid = known.pod.uid;
  const Job* job = book().job_of(uid);
  if (job == nullptr) return;
  const JobId id = job->id;
  held_.refuse(id, uid, why);
  scheduler_.leave(uid, now_ms);
  if (job->members.empty()) {
    scheduler_.end(id, now_ms);
    sizes_.erase(id);
    cycles_.end(id);
  } else if (!job->spec.at_odds.empty()) {  // it may have been the one that differs
    heed_waiting(*job, now_ms);
  }
  heed();
}

Demand PodScheduler::demand_of(const Pod& pod) const {
  Demand demand = cluster::demand_of(pod, defaults_, groups_);
  if (const auto told = sizes_.find(demand.gang); told != sizes_.end()) {
    demand.size = told->second;
    demand.groups = std::min(demand.groups, demand.size);
  }
  return demand;
}

// A member without cores. It is not counted when the scheduler asks about it, but when the API
// server tells of it, which tells of its end, too.
void PodScheduler::note_other(const Pod& pod, std::int64_t now_ms) {
  if (pod.group.empty()) return;
  if (groups_.other(group_key(pod), pod.uid)) regroup(group_key(pod), now_ms);
}

void PodScheduler::regroup(const std::string& key, std::int64_t now_ms) {
  wake_ms_ = kAtOnce;
  const JobId gang = gang_of_group(key);
  const int size = groups_.size(key).value_or(0);
  if (size > 0 && book().find(gang) != nullptr) set_size(gang, size, now_ms);
}

// Precondition: the book has the gang.
void PodScheduler::set_size(const JobId& gang, int size, std::int64_t now_ms) {
  JobSpec spec = book().find(gang)->spec;
  spec.size = size;
  spec.task_groups = std::min(spec.task_groups, size);
  scheduler_.submit(gang, std::move(spec), now_ms);
  heed();
}

void PodScheduler::resize(const JobId& gang, int members, std::int64_t now_ms) {
  const Job* job = book().find(gang);
  if (job == nullptr || members < 1 || members > kMaxGang) return;
  sizes_[gang] = members;
  if (job->spec.size == members) return;
  for (const auto& [uid, member] : job->members) {
    Demand& demand = cache_.find(uid)->demand;
    demand.size = members;
    demand.groups = std::min(demand.groups, members);
  }
  set_size(gang, members, now_ms);
  heed_waiting(*job, now_ms);
  wake_gang(gang, {});
}

void PodScheduler::group(const std::string& key, std::optional<std::int64_t> members,
                         std::int64_t now_ms) {
  groups_.set(key, members);
  regroup(key, now_ms);
  for (PodRef& pod : waiting_.of_group(key)) effects_.wake.push_back(std::move(pod));
  const auto bound = groupless_.find(key);
  if (bound == groupless_.end()) return;
  const auto uids = std::move(bound->second);
  groupless_.erase(bound);
  for (const std::string& uid : uids) {
    KnownPod& known = *cache_.find(uid);  // all of them exist, see forget()
    known.late_group.clear();
    if (!members) continue;
    leave(known, kBound, now_ms);
    become_member(known.demand, gang_of_group(key), *groups_.size(key));
    join(known, now_ms);
    scheduler_.runs(uid, known.node, now_ms, known.by_us);
    heed();
  }
}

bool PodScheduler::seen(const Pod& pod, std::int64_t now_ms) {
  const bool room = take_in(pod, now_ms);
  // The core counts what its members request.
  if (pod.node.empty() || book().member(pod.uid) != nullptr) {
    nodes_.vacated(pod.uid, now_ms);
  } else {
    nodes_.occupied(pod.uid, pod.node,
                    {.requests = pod.requests,
                     .service = is_service(pod) && !pod.over && !pod.deleting,
                     .priority = pod.priority},
                    now_ms);
  }
  return room;
}

bool PodScheduler::take_in(const Pod& pod, std::int64_t now_ms) {
  if (pod.over || (pod.deleting && pod.node.empty())) {
    gone(pod.uid, now_ms);
    return true;
  }
  const bool room = take_in_as_it_is(pod, now_ms);
  if (pod.deleting) end_unless_awaited(pod.uid, now_ms);
  return room || pod.deleting;
}

// Who is asked to end may be about to start: nobody else is to have its CPUs before its agent has
// named all of it.
void PodScheduler::end_unless_awaited(const std::string& uid, std::int64_t now_ms) {
  const Member* member = book().member(uid);
  const bool awaited =
      member != nullptr &&
      std::any_of(member->requests.begin(), member->requests.end(),
                  [&](const auto& request) { return fleet().promised(request.id); });
  if (awaited) {
    ending_.insert(uid);
  } else {
    gone(uid, now_ms);
  }
}

// Precondition: it has not finished.
bool PodScheduler::take_in_as_it_is(const Pod& pod, std::int64_t now_ms) {
  Demand demand = demand_of(pod);
  const bool asks = !demand.requests.empty() || demand.kind == Demand::Kind::kWaiting;
  const KnownPod* before = cache_.find(pod.uid);
  const bool was_known = before != nullptr;
  const bool was_bound = was_known && before->bound;
  // Its annotations, or its PodGroup, have changed while it waits, or none but its init containers
  // had cores.
  if (!asks && was_known && (before->node.empty() || pod.initialized)) {
    drop(pod.uid, demand.kind == Demand::Kind::kRefused ? demand.text : kNotOurs, now_ms);
  }
  if (demand.kind == Demand::Kind::kNone) note_other(pod, now_ms);
  const bool late_group = demand.kind == Demand::Kind::kWaiting && !pod.node.empty();
  if (late_group) demand = cluster::demand_of(pod, defaults_);
  const std::vector<topology::Request> requests =
      was_bound || pod.node.empty() ? std::vector<topology::Request>() : demand.requests;
  KnownPod* known = asks ? know(pod, std::move(demand), now_ms) : nullptr;
  note_gates(pod);
  if (known == nullptr) return true;
  known->told = true;
  if (late_group && known->demand.kind == Demand::Kind::kSingle) {
    leave_late_group(*known);  // its label may be another one
    known->late_group = group_key(pod);
    groupless_[known->late_group].insert(pod.uid);
  }
  const bool member = known->demand.kind == Demand::Kind::kMember;
  if (pod.node.empty()) {
    known->nominated = pod.nominated;
    if (pod.unschedulable) refused_.insert(pod.uid);
    heed_nodes(*known, pod, now_ms);
    if (member) {
      scheduler_.prefer(pod.uid, pod.nominated);
      if (!was_known) wake_gang(known->demand.gang, {});
    }
    if (!pod.nominated.empty()) preemption_.nominated(pod.uid, pod.nominated);
    if (gates_.on(pod.uid)) plan_if_ready(*known, now_ms);
    return true;
  }
  waiting_.erase(pod.uid);
  refused_.erase(pod.uid);
  preemption_.forget(pod.uid);
  known->bound = true;
  known->by_us = pod.annotations.contains(annotation::kPlanned);
  cache_.set_node(*known, pod.node);
  if (book().member(pod.uid) == nullptr) return true;  // what it asks for is not known
  const JobId job = job_of(*known);
  held_.refuse(job, pod.uid, kBound);
  if (!was_bound) {
    scheduler_.planned(pod.uid, pod.node, requests, now_ms);
    drop_spoken_for(*known);
  }
  const bool room = scheduler_.runs(pod.uid, pod.node, now_ms, known->by_us);
  heed();  // the plan may have fallen with it
  if (held_.count(job) > 0) let_go_if_whole(job, 0, now_ms);
  heed();
  return room || fleet().find(pod.node) < 0;
}

// Its agent has reported it, and nobody has told of it before: what is promised to it next speaks
// for what its pod keeps and lends.
void PodScheduler::drop_spoken_for(const KnownPod& known) {
  const NodeIndex node = fleet().find(known.node);
  if (node < 0) return;
  const std::string kept = claim_id(known.pod.uid, "");
  const auto& claims = fleet().node(node).ledger.claims();
  NodeReport said;
  said.name = known.node;
  for (auto at = claims.lower_bound(kept); at != claims.end() && at->first.starts_with(kept);
       ++at) {
    if (!fleet().promised(at->first)) said.claims.push_back(at->second);
  }
  const std::vector<topology::Claim> before = said.claims;
  drop_lent(said);
  topology::CpuSet rest;
  for (const topology::Claim& claim : said.claims) rest |= claim.cpus;
  for (const topology::Claim& claim : before) {
    const bool stays =
        claim.id != kept && std::any_of(said.claims.begin(), said.claims.end(),
                                        [&](const auto& one) { return one.id == claim.id; });
    if (stays) {
      rest -= claim.cpus;
    } else {
      scheduler_.drop_reported(known.node, claim.id);
    }
  }
  if (!rest.empty()) scheduler_.hold(known.node, kept, rest);
}

// What is there and the report does not name is reserved before anybody else is given its room. Of
// who is not told of, only when the node comes: such a pod may have ended.
void PodScheduler::still_there(const std::string& node, bool fresh, std::int64_t now_ms) {
  const auto there = cache_.residents().find(node);
  if (there == cache_.residents().end()) return;
  for (const std::string& uid : there->second) {
    const KnownPod& known = *cache_.find(uid);
    if ((!known.told && !fresh) || book().member(uid) == nullptr) continue;
    scheduler_.still_runs(uid, known.bound ? kNoExpiry : now_ms + limits_.scheduler.confirm_ms);
  }
}

// An init container runs on CPUs that are promised to its pod for those that come after it, or were
// by an extender before: the promise speaks for both. So it does of containers that share these:
// its agent names another one as having them once the first is gone.
void PodScheduler::drop_lent(NodeReport& report) const {
  const NodeIndex node = fleet().find(report.name);
  drop_kept(report, node);
  const auto& claims = report.claims;
  std::vector<std::string> lent;
  for (const topology::Claim& claim : claims) {
    const KnownPod* pod = cache_.find(pod_of_claim(claim.id));
    if (pod == nullptr || pod->node != report.name) continue;
    const auto& guests = pod->demand.guests;
    if (std::find(guests.begin(), guests.end(), claim.id) == guests.end()) continue;
    const Member* member = book().member(pod->pod.uid);
    if (member == nullptr) continue;
    const topology::Request& host = member->requests[pod->demand.host];
    const bool runs = std::any_of(claims.begin(), claims.end(),
                                  [&](const auto& one) { return one.id == host.id; });
    if (runs) continue;
    topology::CpuSet place = host.planned ? host.preferred : topology::CpuSet();
    if (node >= 0 && fleet().promised(host.id)) {
      place = fleet().pinned(host.id);
      const topology::Claim* there = fleet().node(node).ledger.find(host.id);
      if (place.empty() && there != nullptr) place = there->cpus;
    }
    if (claim.cpus.is_subset_of(place)) lent.push_back(claim.id);
  }
  std::erase_if(report.claims, [&](const topology::Claim& claim) {
    return std::find(lent.begin(), lent.end(), claim.id) != lent.end();
  });
}

// A promise speaks also for what an agent keeps for containers to come: for what it shares with
// that, and where the agent was not told of it, for as many CPUs, from which it will serve them.
// What is kept may be more: after a large init container, as much as the pod requests as a whole.
// The rest counts with one of its containers that run, as it ends with them. Of who is not known it
// is all that is known.
void PodScheduler::drop_kept(NodeReport& report, NodeIndex node) const {
  std::vector<topology::Claim>& claims = report.claims;
  for (topology::Claim& kept : claims) {
    const KnownPod* pod = cache_.find(pod_of_claim(kept.id));
    if (pod == nullptr || kept.id != claim_id(pod->pod.uid, "")) continue;
    topology::CpuSet promised;
    int elsewhere = 0;
    topology::Claim* running = nullptr;
    bool all_counted = true;
    const Member* member = book().member(pod->pod.uid);
    for (const auto& request : member == nullptr ? pod->demand.requests : member->requests) {
      const auto named = std::find_if(claims.begin(), claims.end(),
                                      [&](const auto& one) { return one.id == request.id; });
      if (named != claims.end()) {
        if (running == nullptr) running = &*named;
      } else if (node >= 0 && fleet().promised(request.id)) {
        const topology::Claim* claim = fleet().node(node).ledger.find(request.id);
        const topology::CpuSet pinned = fleet().pinned(request.id);
        promised |= pinned;
        if (claim == nullptr) continue;
        promised |= claim->cpus;
        if (pinned.empty()) elsewhere += (claim->cpus - kept.cpus).count();
      } else if (request.planned) {
        promised |= request.preferred;  // it will be promised next, there
      } else {
        all_counted = false;  // anywhere
      }
    }
    if (!all_counted) kept.cpus = {};
    kept.cpus -= promised;
    if (elsewhere > 0) {
      kept.cpus = without_some(kept.cpus, elsewhere, fleet().node(node).topology());
    }
    if (running != nullptr) running->cpus |= std::exchange(kept.cpus, {});
  }
  std::erase_if(claims, [](const topology::Claim& claim) {
    return claim.cpus.empty() && claim.id.ends_with('/');
  });
}

void PodScheduler::gone(const std::string& uid, std::int64_t now_ms) {
  gone_.add(uid);
  nodes_.vacated(uid, now_ms);
  const KnownPod* known = cache_.find(uid);
  const std::string node = known == nullptr ? "" : known->node;
  forget(uid, now_ms);
  preemption_.deleted(uid, node);
}

// Bound, and its agent names it, or may do so at any moment.
bool PodScheduler::may_run(const KnownPod& known) const {
  const Member* member = book().member(known.pod.uid);
  return member != nullptr && member->fixed() && fleet().knows(member->requests.front().id);
}

// A pod that came and went while the watch was away is never told of: it is known by the question
// about it alone, and by its agent while it runs.
void PodScheduler::forget_untold(std::int64_t now_ms) {
  const std::int64_t confirm_ms = limits_.scheduler.confirm_ms;
  for (; !untold_.empty() && now_ms - untold_.front().second >= confirm_ms; untold_.pop_front()) {
    const std::string& uid = untold_.front().first;
    const KnownPod* known = cache_.find(uid);
    if (known == nullptr || known->told) continue;
    if (now_ms - known->asked_ms < confirm_ms || may_run(*known)) {
      untold_.emplace_back(uid, now_ms);
    } else {
      forget(uid, now_ms);
    }
  }
}

void PodScheduler::forget(const std::string& uid, std::int64_t now_ms) {
  groups_.gone(uid);
  drop(uid, kGone, now_ms);
}

// The pod may exist, but is not one that wants cores.
void PodScheduler::drop(const std::string& uid, const std::string& why, std::int64_t now_ms) {
  waiting_.erase(uid);
  preemption_.forget(uid);
  gates_.erase(uid);
  refused_.erase(uid);
  ending_.erase(uid);
  const KnownPod* known = cache_.find(uid);
  if (known == nullptr) return;
  leave_late_group(*known);
  leave(*known, why, now_ms);
  cache_.erase(uid);
}

void PodScheduler::leave_late_group(const KnownPod& known) {
  const auto late = groupless_.find(known.late_group);
  if (late == groupless_.end()) return;
  late->second.erase(known.pod.uid);
  if (late->second.empty()) groupless_.erase(late);
}

Result<std::vector<LostPromise>> PodScheduler::report(NodeReport report, std::int64_t now_ms) {
  const std::string node = report.name;
  const bool fresh = fleet().find(node) < 0;
  drop_lent(report);
  auto lost = scheduler_.report(std::move(report), now_ms);
  if (lost) {
    if (fresh) nodes_.known(node, now_ms);
    preemption_.reported(node);
    still_there(node, fresh, now_ms);
    for (const std::string& uid : std::set(ending_)) {
      if (cache_.find(uid)->node == node) end_unless_awaited(uid, now_ms);
    }
  }
  heed();
  wake_early(true, now_ms);
  return lost;
}

bool PodScheduler::heard(std::string_view node, std::int64_t now_ms) {
  return scheduler_.heard(node, now_ms);
}

void PodScheduler::unlinked(std::string_view node, std::int64_t now_ms) {
  scheduler_.unlinked(node, now_ms);
  heed();
}

void PodScheduler::measured(std::string_view node, MissRates rates) {
  scheduler_.measured(node, std::move(rates));
}

void PodScheduler::lost(std::string_view node, std::int64_t now_ms) {
  scheduler_.lost(node, now_ms);
  nodes_.gone(std::string(node), now_ms);
  preemption_.reported(std::string(node));
  heed();
}

// Gangs that are bound in part.
void PodScheduler::complete_gangs(std::int64_t now_ms) {
  std::vector<JobId> partly;
  for (const auto& [id, job] : book().jobs()) {
    if (job.fixed() > 0 && job.complete() && !next_members(job).empty()) partly.push_back(id);
  }
  for (const JobId& id : partly) scheduler_.place(id, nullptr, now_ms);
  heed();
  acts_ = true;
  plan_ms_ = kAtOnce;
}

}  // namespace pinion::cluster
