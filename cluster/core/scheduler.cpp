#include "cluster/core/scheduler.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cluster/core/gang_refusal.h"
#include "cluster/core/hole_text.h"
#include "cluster/core/pod_fit.h"
#include "cluster/core/task_groups.h"

namespace pinion::cluster {
namespace {

using State = Member::State;

const std::string kHeadClaim = "head of the queue";  // of the CPUs that are held for it

GangRefusal refusal_of(GangReason reason, std::string text) {
  GangRefusal refusal;
  refusal.reason = reason;
  refusal.text = std::move(text);
  return refusal;
}

std::vector<Member*> members_in(Job& job, State state) {
  std::vector<Member*> members;
  for (auto& [id, member] : job.members) {
    if (member.state == state) members.push_back(&member);
  }
  return members;
}

std::vector<Member*> next_of(Job& job) {
  std::vector<Member*> members;
  for (const Member* member : next_members(job)) members.push_back(&job.members.at(member->id));
  return members;
}

std::vector<Job::Shape> shapes_of(const std::vector<const Member*>& members) {
  std::vector<Job::Shape> shapes;
  for (const Member* member : members) {
    for (const auto& request : member->requests) {
      const auto known = std::find_if(shapes.begin(), shapes.end(), [&](const Job::Shape& shape) {
        return same_shape(shape.like, request) && shape.terms == member->terms;
      });
      if (known == shapes.end()) {
        shapes.push_back({.like = request, .terms = member->terms, .members = 1});
      } else {
        ++known->members;
      }
    }
  }
  return shapes;
}

std::vector<NodeIndex> all_of(const Fleet& fleet) {
  std::vector<NodeIndex> nodes;
  for (const auto& [name, node] : fleet.by_name()) nodes.push_back(node);
  return nodes;
}

std::string why_incomplete(const Job& job) {
  return std::to_string(job.members.size()) + " of the " + std::to_string(job.spec.size) +
         " that start together exist";
}

// Different for different jobs, the same for the same.
std::uint64_t seed_of(const JobId& job) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;  // FNV-1a
  for (const char byte : job) hash = (hash ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211U;
  return hash;
}

}  // namespace

// --- jobs

void Scheduler::submit(const JobId& id, JobSpec spec, std::int64_t now_ms) {
  Job* job = book_.find(id);
  if (job == nullptr) {
    book_.add(id, std::move(spec), now_ms);
    return;
  }
  if (job->spec == spec) return;
  const bool planned_for = job->spec.size == spec.size && job->spec.task_groups == spec.task_groups;
  if (!planned_for && !job->started) withdraw(id, "the job has changed", now_ms);
  job->spec = std::move(spec);
  requeue(*job);
}

bool Scheduler::join(const JobId& id, const MemberId& member,
                     std::vector<topology::Request> requests, std::int64_t now_ms,
                     MemberTerms terms) {
  if (book_.member(member) != nullptr) return false;
  Job& job = *book_.find(id);
  for (auto& request : requests) {
    if (request.job.empty()) request.job = id;
    member_of_claim_[request.id] = member;
  }
  Member& joined = book_.join(job, member, std::move(requests));
  joined.since_ms = now_ms;
  joined.terms = std::move(terms);
  job.touched_ms = now_ms;
  requeue(job);
  return true;
}

bool Scheduler::leave(const MemberId& id, std::int64_t now_ms) {
  Job* job = book_.job_of(id);
  if (job == nullptr) return false;
  Member& member = job->members.at(id);
  // Another one will come in its place: the rest is planned anew with it.
  if (member.state != State::kWaiting && !job->started) {
    withdraw(job->id, "a member of the job is gone", now_ms);
  }
  give_back(*job, member);
  for (const auto& request : member.requests) member_of_claim_.erase(request.id);
  book_.leave(id);
  if (job->members.empty()) job->started = false;
  requeue(*job);
  changed_ = true;
  return true;
}

void Scheduler::end(const JobId& id, std::int64_t now_ms) {
  Job* job = book_.find(id);
  if (job == nullptr) return;
  withdraw(id, "the job is gone", now_ms);
  for (auto& [name, member] : job->members) {
    give_back(*job, member);
    for (const auto& request : member.requests) member_of_claim_.erase(request.id);
  }
  unqueue(id);
  hopeless_.erase(id);
  book_.erase(id);
  changed_ = true;
}

// Whether the job is in the queue, and with what.
void Scheduler::requeue(Job& job) {
  const auto members = job.complete() ? next_members(job) : std::vector<const Member*>();
  hopeless_.erase(job.id);
  job.refused = false;
  job.hopeless = false;
  job.again_ms = 0;
  job.shapes = shapes_of(members);
  if (!members.empty()) {
    int cpus = 0;
    for (const Member* member : members) cpus += member->cpus();
    queue_.push({.job = job.id,
                 .name_space = job.spec.owner.name_space,
                 .priority = job.spec.priority,
                 .submitted_ms = job.submitted_ms,
                 .cpus = cpus});
    changed_ = true;
    return;
  }
  unqueue(job.id);
}

void Scheduler::unqueue(const JobId& job) {
  queue_.erase(job);
  if (!head_ || head_->job != job) return;
  drop_head_room();
  changed_ = true;
}

// --- placing

Gang Scheduler::gang_of(const Job& job, const std::vector<Member*>& members) const {
  Gang gang;
  for (const Member* member : members) gang.emplace_back(member->requests, member->terms);
  if (job.spec.task_groups > 0) {
    std::map<std::string, int> cpus;
    for (const auto& [id, member] : job.members) {
      if (member.state == State::kWaiting) continue;
      for (const auto& request : member.requests) cpus[request.task_group] += request.cpus;
    }
    join_groups(job.spec.owner.name, job.spec.task_groups, std::move(cpus), gang);
  }
  return gang;
}

PlaceAnswer Scheduler::place(const JobId& id, const std::vector<NodeIndex>* among,
                             std::int64_t now_ms) {
  Job& job = *book_.find(id);
  job.touched_ms = now_ms;
  if (!job.complete()) return {.never = true, .why = job.why = why_incomplete(job)};
  const std::vector<Member*> waiting = next_of(job);
  if (waiting.empty()) return {.placed = true};
  if (!job.started) return place_all(job, waiting, among, now_ms);
  PlaceAnswer answer{.placed = true};
  for (Member* member : waiting) {
    auto one = place_all(job, {member}, among, now_ms);
    if (!one.placed) answer = std::move(one);
  }
  return answer;
}

PlaceAnswer Scheduler::place_member(const MemberId& id, const std::vector<NodeIndex>* among,
                                    std::int64_t now_ms) {
  Job& job = *book_.job_of(id);
  Member& member = job.members.at(id);
  if (!job.started) {
    auto answer = place(job.id, among, now_ms);
    if (answer.placed && member.state == State::kWaiting) {
      return {.never = true,
              .why = "its job has all of the " + std::to_string(job.spec.size) +
                     " that start together"};
    }
    return answer;
  }
  job.touched_ms = now_ms;
  if (member.state != State::kWaiting) return {.placed = true};
  return place_all(job, {&member}, among, now_ms);
}

PlaceAnswer Scheduler::place_anew(const std::vector<MemberId>& members,
                                  const std::vector<NodeIndex>* among, const std::string& why,
                                  std::int64_t now_ms) {
  Job& job = *book_.job_of(members.front());
  job.touched_ms = now_ms;
  std::vector<Member*> moved;
  for (const MemberId& id : members) {
    Member& member = job.members.at(id);
    if (member.state != State::kReserved) continue;
    give_back(job, member);
    moved.push_back(&member);
  }
  if (moved.empty()) return {.placed = true};
  requeue(job);
  auto answer = place_all(job, moved, among, now_ms);
  if (!answer.placed) withdraw(job.id, why, now_ms);
  return answer;
}

void Scheduler::prefer(const MemberId& id, const std::string& node) {
  book_.member(id)->prefers = node;
}

bool Scheduler::would_place(const JobId& id, std::int64_t now_ms) {
  Job& job = *book_.find(id);
  if (!job.complete()) return false;
  std::vector<Member*> members = next_of(job);
  if (members.empty()) return true;
  if (job.started) members.resize(1);
  if (must_wait_its_turn(job) || hindered(job, now_ms) != nullptr) return false;
  const bool lift = may_take_head_room(job, now_ms);
  if (lift) lift_head_room();
  bool fits = false;
  if (members.size() == 1) {
    const auto& requests = members.front()->requests;
    const MemberTerms& terms = members.front()->terms;
    const std::vector<NodeIndex> nodes =
        requests.size() == 1 ? std::vector<NodeIndex>() : all_of(fleet_);
    const PodFit together(fleet_, requests);
    fits = requests.size() == 1 ? fleet_.best_node(requests.front(), terms) >= 0
                                : std::any_of(nodes.begin(), nodes.end(), [&](NodeIndex node) {
                                    return fleet_.takes(node, terms) && together.fit(node);
                                  });
  } else {
    fits = std::holds_alternative<GangPlan>(
        place_gang(policy_of(job), fleet_, gang_of(job, members), {.steps = 0}, seed_of(job.id)));
  }
  if (lift) hold_head_room();
  return fits;
}

PlaceAnswer Scheduler::place_all(Job& job, const std::vector<Member*>& members,
                                 const std::vector<NodeIndex>* among, std::int64_t now_ms) {
  auto refusal = attempt(job, members, among, now_ms);
  if (refusal && refusal->reason != GangReason::kNever) {
    // What less urgent jobs merely keep goes before anything that runs.
    std::vector<std::pair<Member*, NodeIndex>> lifted;
    for (const JobId& id : reserved_) {
      Job& other = *book_.find(id);
      if (other.spec.priority >= job.spec.priority) continue;
      for (Member* member : members_in(other, State::kReserved)) {
        lifted.emplace_back(member, fleet_.find(member->node));
      }
    }
    for (const auto& [member, node] : lifted) {
      for (const auto& request : member->requests) fleet_.release(request.id);
      put_back_share(member->node, member->terms.share);
    }
    if (!lifted.empty()) refusal = attempt(job, members, among, now_ms);
    std::set<JobId> lost;
    for (const auto& [member, node] : lifted) {
      if (node < 0 || !has(fleet_.node(node).spare, member->terms.share)) {
        lost.insert(book_.job_of(member->id)->id);
      }
      take_share(member->node, member->terms.share);
      for (const auto& request : member->requests) {
        const auto again = fleet_.promise(node, request, kNoExpiry);
        if (!again || !std::holds_alternative<topology::Decision>(*again)) {
          lost.insert(book_.job_of(member->id)->id);
        }
      }
    }
    for (const JobId& id : lost) withdraw(id, "a more urgent job needs its room", now_ms);
    if (!lifted.empty()) hold_head_room();
  }
  if (!refusal) {
    ++counters_.placed;
    job.why.clear();
    tell(JobNews::Kind::kReserved, job, {}, static_cast<int>(members.size()));
    requeue(job);
    return {.placed = true};
  }
  ++counters_.refused;
  job.why = refusal->text;
  job.refused = true;
  job.again_ms = now_ms + settings_.retry_ms;
  const bool never = refusal->reason == GangReason::kNever;
  if (never) tell_if_hopeless(job, members);
  if (!never) {
    keep_head_room(job, gang_of(job, members), among, now_ms);
  } else if (among == nullptr) {
    unqueue(job.id);
    hopeless_.insert(job.id);
  }
  return {.never = never, .why = job.why};
}

// What was refused may be hopeless on the nodes that were offered alone.
void Scheduler::tell_if_hopeless(Job& job, const std::vector<Member*>& members) {
  if (job.hopeless || fleet_.by_name().empty()) return;
  const bool fits = std::all_of(members.begin(), members.end(), [&](const Member* member) {
    const bool looked_at = member != members.front() && member->terms == members.front()->terms &&
                           member->cpus() <= members.front()->cpus();
    return looked_at || fits_when_idle(member->requests, member->terms);
  });
  if (fits) return;
  job.hopeless = true;
  tell(JobNews::Kind::kHopeless, job, job.why, static_cast<int>(members.size()));
}

// Whether a glance tells that there is no room: of its members that start together, or of a job
// that has started for any of them.
const Job::Shape* Scheduler::hindered(const Job& job, std::int64_t now_ms) const {
  const bool takes_held = may_take_head_room(job, now_ms);
  const auto hinders = [&](const Job::Shape& shape) {
    const int members = job.started ? 1 : shape.members;
    const std::int64_t room = fleet_.room_at_most(shape.like);
    return members > room && (!takes_held || members > room + held_room_at_most(shape.like));
  };
  const auto& shapes = job.shapes;
  const auto found = std::find_if(shapes.begin(), shapes.end(), hinders);
  if (found == shapes.end()) return nullptr;
  return !job.started || std::all_of(shapes.begin(), shapes.end(), hinders) ? &*found : nullptr;
}

// No less than the containers like this one for which there would be room beside the others if
// nothing were held for the head: a domain of which a part is held has room for one more at most
// than for those that the held part alone would take.
std::int64_t Scheduler::held_room_at_most(const topology::Request& request) const {
  std::int64_t room = 0;
  for (const auto& [index, cpus] : head_->cpus) {
    const FleetNode& node = fleet_.node(index);
    const topology::Claim* held = node.ledger.find(kHeadClaim);
    const int count = held == nullptr ? 0 : held->cpus.count();
    if (count == 0 || node.holes.free + count < request.cpus) continue;
    const auto domains = static_cast<int>(node.holes.of(request.align).size());
    room += count / request.cpus + std::min(domains, count);
  }
  return room;
}

// Whether some node would take them with nothing running.
bool Scheduler::fits_when_idle(const std::vector<topology::Request>& requests,
                               const MemberTerms& terms) const {
  const auto& nodes = fleet_.by_name();
  IdleFit idle(fleet_, requests);
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
    return fleet_.takes_idle(entry.second, terms) && idle.fit(entry.second);
  });
}

// One member, wherever its hole is the tightest.
std::optional<GangRefusal> Scheduler::attempt_one(Job& job, Member& member,
                                                  const std::vector<NodeIndex>* among,
                                                  std::int64_t now_ms) {
  if (among == nullptr && member.requests.size() == 1) {
    const NodeIndex node = fleet_.best_node(member.requests.front(), member.terms);
    if (node >= 0 && reserve(job, member, node, now_ms)) return std::nullopt;
  }
  const std::vector<NodeIndex> nodes = among != nullptr ? *among : all_of(fleet_);
  const PodFit together(fleet_, member.requests);
  for (const NodeIndex node : nodes) {
    if (fleet_.takes(node, member.terms) && together.fit(node) &&
        reserve(job, member, node, now_ms))
      return std::nullopt;
  }
  const bool ever = fits_when_idle(member.requests, member.terms);
  std::string text = "needs " + hole_text(member.requests.front());
  if (member.requests.size() > 1) {
    text += " and CPUs of " + std::to_string(member.requests.size() - 1) + " more beside it";
  }
  return refusal_of(ever ? GangReason::kNoHole : GangReason::kNever,
                    text + (ever ? "; no node has that now" : "; no node could ever give that"));
}

bool Scheduler::must_wait_its_turn(const Job& job) const {
  return !settings_.backfill && queue_.contains(job.id) && queue_.first() != job.id;
}

// Reserves for all of them, or says why not.
std::optional<GangRefusal> Scheduler::attempt(Job& job, const std::vector<Member*>& members,
                                              const std::vector<NodeIndex>* among,
                                              std::int64_t now_ms) {
  if (must_wait_its_turn(job)) {
    return refusal_of(GangReason::kTooFew,
                      book_.find(queue_.first())->called() + " is before it in the queue");
  }
  if (const Job::Shape* shape = hindered(job, now_ms)) {
    if (!job.refused && !fits_when_idle({shape->like}, shape->terms)) {
      return refusal_of(GangReason::kNever,
                        "needs " + hole_text(shape->like) + "; no node could ever give that");
    }
    if (among != nullptr && members.size() > 1) {  // somebody asks, and is told all
      if (may_take_head_room(job, now_ms)) lift_head_room();
      auto refusal = refuse(fleet_, Draft(fleet_, gang_of(job, members), among));
      hold_head_room();
      return refusal;
    }
    return refusal_of(GangReason::kTooFew, "needs " + std::to_string(shape->members) + " x " +
                                               hole_text(shape->like) + "; there is room for " +
                                               std::to_string(fleet_.room_at_most(shape->like)) +
                                               " at most");
  }
  const bool lift = may_take_head_room(job, now_ms);
  if (lift) lift_head_room();
  auto refusal = attempt_here(job, members, among, now_ms);
  if (lift) hold_head_room();
  return refusal;
}

std::optional<GangRefusal> Scheduler::attempt_here(Job& job, const std::vector<Member*>& members,
                                                   const std::vector<NodeIndex>* among,
                                                   std::int64_t now_ms) {
  Gang gang = gang_of(job, members);
  const bool by_index = policy_of(job) == PlacementPolicy::kHoles && among == nullptr;
  if (gang.size() == 1 && (by_index || !gang.front().beside.empty())) {
    return attempt_one(job, *members.front(), among, now_ms);
  }
  std::vector<NodeIndex> nodes;
  if (auto refusal = reserve_gang(job, members, gang, among, nodes)) return refusal;
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (auto& request : members[i]->requests) request.task_group = gang[i].task_group;
    reserve(job, *members[i], nodes[i], now_ms);
  }
  return std::nullopt;
}

// Promises all of them: where they prefer to be, if the rest then find their places among those
// nodes; else all among them. Says where.
std::optional<GangRefusal> Scheduler::reserve_gang(const Job& job,
                                                   const std::vector<Member*>& members, Gang& gang,
                                                   const std::vector<NodeIndex>* among,
                                                   std::vector<NodeIndex>& nodes) {
  nodes.assign(gang.size(), -1);
  std::vector<std::size_t> rest;
  // For the look at the others; reserve() takes them for good.
  std::vector<std::pair<std::string, Share>> taken;
  const auto put_back = [&] {
    for (const auto& [node, share] : std::exchange(taken, {})) put_back_share(node, share);
  };
  for (std::size_t i = 0; i < gang.size(); ++i) {
    const NodeIndex node = members[i]->prefers.empty() ? -1 : fleet_.find(members[i]->prefers);
    const bool there = node >= 0 && !fleet_.node(node).stale && fleet_.takes(node, gang[i].terms);
    if (there && promise(*members[i], node, kNoExpiry)) {
      nodes[i] = node;
      taken.emplace_back(members[i]->prefers, gang[i].terms.share);
      take_share(members[i]->prefers, gang[i].terms.share);
    } else {
      rest.push_back(i);
    }
  }
  const PlanLimits limits{.steps = settings_.plan_steps, .among = among};
  for (;;) {
    if (rest.empty()) break;
    Gang others;
    for (const std::size_t i : rest) others.push_back(gang[i]);
    const auto outcome = place_gang(policy_of(job), fleet_, others, limits, seed_of(job.id));
    if (const auto* plan = std::get_if<GangPlan>(&outcome)) {
      // One owner: the fleet is as it was planned on.
      if (!promise_gang(fleet_, others, *plan, kNoExpiry)) std::abort();
      for (std::size_t i = 0; i < rest.size(); ++i) nodes[rest[i]] = plan->placements[i].node;
      break;
    }
    if (rest.size() == gang.size()) return std::get<GangRefusal>(outcome);
    put_back();
    rest.clear();
    for (std::size_t i = 0; i < gang.size(); ++i) {
      for (const auto& request : gang[i].requests()) {
        if (nodes[i] >= 0) fleet_.release(request.id);
      }
      nodes[i] = -1;
      rest.push_back(i);
    }
  }
  put_back();
  return std::nullopt;
}

// It has ended when the head of the queue can start.
bool Scheduler::over_by_then(const Job& job, std::int64_t now_ms) const {
  return job.spec.run_ms > 0 && head_->from_ms != kUnknownTime &&
         now_ms + job.spec.run_ms <= head_->from_ms;
}

bool Scheduler::may_take_head_room(const Job& job, std::int64_t now_ms) const {
  if (!head_) return false;
  if (head_->job == job.id || over_by_then(job, now_ms)) return true;
  return queue_.contains(job.id) && queue_.before(job.id, head_->job);
}

void Scheduler::hold_head_room_at(NodeIndex node) {
  if (!head_) return;
  const auto room = head_->cpus.find(node);
  if (room == head_->cpus.end()) return;
  fleet_.drop_hold(node, kHeadClaim);
  const auto free = room->second - fleet_.node(node).ledger.exclusive();
  if (!free.empty()) fleet_.hold(node, kHeadClaim, free);
}

void Scheduler::hold_head_room() {
  if (!head_) return;
  for (const auto& [node, cpus] : head_->cpus) hold_head_room_at(node);
}

void Scheduler::lift_head_room() {
  if (!head_) return;
  for (const auto& [node, cpus] : head_->cpus) fleet_.drop_hold(node, kHeadClaim);
}

void Scheduler::drop_head_room() {
  lift_head_room();
  head_.reset();
}

// Whether all of the head's CPUs are free or will be given back by then.
bool Scheduler::head_room_comes() const {
  return std::all_of(head_->cpus.begin(), head_->cpus.end(), [&](const auto& room) {
    const auto& claims = fleet_.node(room.first).ledger.claims();
    return std::all_of(claims.begin(), claims.end(), [&](const auto& entry) {
      if (entry.first == kHeadClaim || !entry.second.cpus.intersects(room.second)) return true;
      const auto ending = ending_of_.find(entry.first);
      return ending != ending_of_.end() && ending->second.at_ms <= head_->from_ms;
    });
  });
}

// Room is kept for the first of those that were refused.
void Scheduler::keep_head_room(const Job& job, const Gang& gang,
                               const std::vector<NodeIndex>* among, std::int64_t now_ms) {
  if (!settings_.backfill || !queue_.contains(job.id)) return;
  // Of several containers it is not told which CPUs of one node they will get.
  if (std::any_of(gang.begin(), gang.end(), [](const auto& it) { return !it.beside.empty(); })) {
    return;
  }
  if (now_ms - job.submitted_ms < settings_.head_after_ms || now_ms < job.passed_over_ms) return;
  if (head_) {
    const bool same = head_->job == job.id;
    if (same ? head_room_comes() : !queue_.before(job.id, head_->job)) return;
  }
  const std::int64_t since = head_ && head_->job == job.id ? head_->since_ms : now_ms;
  drop_head_room();
  head_ = find_head_room(fleet_, job.id, gang, endings_, among);
  if (head_) head_->since_ms = since;
  hold_head_room();
}

void Scheduler::see_as(const MemberId& member, std::int64_t now_ms,
                       const std::function<void()>& look) {
  const bool lift = may_take_head_room(*book_.job_of(member), now_ms);
  if (lift) lift_head_room();
  look();
  if (lift) hold_head_room();
}

void Scheduler::run(std::int64_t now_ms) {
  if (!std::exchange(changed_, false)) return;
  std::vector<JobId> jobs;
  queue_.visit([&](const std::string& job) {
    jobs.push_back(job);
    return static_cast<int>(jobs.size()) < settings_.depth;
  });
  if (try_again(jobs, now_ms, [] { return true; })) changed_ = true;
}

bool Scheduler::run_some(std::vector<JobId> jobs, std::int64_t now_ms,
                         const std::function<bool()>& go_on) {
  std::erase_if(jobs, [&](const JobId& id) { return !queue_.contains(id); });
  const auto depth = std::min(jobs.size(), static_cast<std::size_t>(settings_.depth));
  std::partial_sort(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(depth), jobs.end(),
                    [&](const JobId& a, const JobId& b) { return queue_.before(a, b); });
  jobs.resize(depth);
  return try_again(jobs, now_ms, go_on);
}

// In this order. Whether one of them has its turn later.
bool Scheduler::try_again(const std::vector<JobId>& jobs, std::int64_t now_ms,
                          const std::function<bool()>& go_on) {
  bool later = false;
  for (const JobId& id : jobs) {
    // A reservation that was withdrawn for another is not tried before the next time.
    if (!queue_.contains(id)) continue;
    if (!go_on()) return true;
    const Job& job = *book_.find(id);
    if (is_refused_again(job, now_ms)) {
      ++counters_.refused;
    } else if (now_ms >= job.again_ms || id == jobs.front()) {
      place(id, nullptr, now_ms);
    } else {
      later = true;
    }
  }
  return later;
}

// Nothing that was given back helps it, and it is not to get the room that is kept for the head.
bool Scheduler::is_refused_again(const Job& job, std::int64_t now_ms) const {
  if (!job.refused) return false;
  const bool may_lift = std::any_of(reserved_.begin(), reserved_.end(), [&](const JobId& id) {
    return book_.find(id)->spec.priority < job.spec.priority;
  });
  if (may_lift) return false;
  if (!settings_.backfill) return queue_.first() != job.id;
  if (!head_ || hindered(job, now_ms) == nullptr) return false;
  return head_->job == job.id ? head_room_comes() : queue_.before(head_->job, job.id);
}

PlaceAnswer Scheduler::place_at(const MemberId& id, const std::string& name, std::int64_t now_ms) {
  Job& job = *book_.job_of(id);
  Member& member = job.members.at(id);
  job.touched_ms = now_ms;
  const NodeIndex node = fleet_.find(name);
  if (node < 0) return {.why = "no agent speaks for the node"};
  bool done = false;
  see_as(id, now_ms, [&] { done = reserve(job, member, node, now_ms); });
  if (!done) return {.why = "needs " + hole_text(member.requests.front()) + ", taken meanwhile"};
  ++counters_.placed;
  job.why.clear();
  requeue(job);
  return {.placed = true};
}

// Those of its containers that have no CPUs yet get them there, or none does.
bool Scheduler::promise(const Member& member, NodeIndex node, std::int64_t expires_ms) {
  std::vector<std::string_view> done;
  for (const auto& request : member.requests) {
    if (fleet_.knows(request.id)) continue;
    const auto outcome = fleet_.promise(node, request, expires_ms);
    if (outcome && std::holds_alternative<topology::Decision>(*outcome)) {
      done.push_back(request.id);
      continue;
    }
    for (const auto id : done) fleet_.release(id);
    return false;
  }
  return true;
}

bool Scheduler::reserve(Job& job, Member& member, NodeIndex node, std::int64_t now_ms) {
  if (!promise(member, node, kNoExpiry)) return false;
  member.state = State::kReserved;
  member.node = fleet_.node(node).name;
  member.since_ms = now_ms;
  reserved_.insert(job.id);
  queue_.charge(job.spec.owner.name_space, member.cpus());
  take_share(member.node, member.terms.share);
  note_end(job, member, now_ms);
  return true;
}

// What it has is free, as far as its agent does not say otherwise.
void Scheduler::give_back(Job& job, Member& member) {
  if (member.state == State::kWaiting) return;
  for (const auto& request : member.requests) fleet_.release(request.id);
  const NodeIndex node = fleet_.find(member.node);
  if (node >= 0) hold_head_room_at(node);
  forget_end(member);
  queue_.charge(job.spec.owner.name_space, -member.cpus());
  put_back_share(member.node, member.terms.share);
  member.state = State::kWaiting;
  member.node.clear();
  if (job.spec.task_groups > 0) {
    for (auto& request : member.requests) request.task_group.clear();
  }
  if (job.count(State::kReserved) == 0) reserved_.erase(job.id);
  changed_ = true;
}

void Scheduler::withdraw(const JobId& id, const std::string& why, std::int64_t now_ms) {
  Job& job = *book_.find(id);
  const auto members = members_in(job, State::kReserved);
  if (members.empty()) return;
  for (Member* member : members) {
    give_back(job, *member);
    member->since_ms = now_ms;
  }
  ++counters_.withdrawn;
  job.why = why;
  tell(JobNews::Kind::kWithdrawn, job, why, static_cast<int>(members.size()));
  requeue(job);
}

void Scheduler::note_end(const Job& job, const Member& member, std::int64_t now_ms) {
  const NodeIndex node = fleet_.find(member.node);
  if (node < 0) return;  // gone meanwhile
  const std::int64_t at = job.spec.run_ms > 0 ? now_ms + job.spec.run_ms : kUnknownTime;
  for (const auto& request : member.requests) {
    Ending ending{.at_ms = at, .order = begun_++, .id = request.id, .node = node};
    endings_.insert(ending);
    ending_of_.insert_or_assign(request.id, std::move(ending));
  }
}

void Scheduler::forget_end(const Member& member) {
  for (const auto& request : member.requests) {
    const auto ending = ending_of_.find(request.id);
    if (ending == ending_of_.end()) continue;
    endings_.erase(ending->second);
    ending_of_.erase(ending);
  }
}

void Scheduler::tell(JobNews::Kind kind, const Job& job, const std::string& why, int members) {
  news_.push_back({.kind = kind, .job = job.id, .why = why, .members = members});
}

// --- starting

bool Scheduler::start(const MemberId& id, std::int64_t now_ms) {
  Job* job = book_.job_of(id);
  if (job == nullptr) return false;
  Member& member = job->members.at(id);
  if (member.state != State::kReserved) return false;
  member.state = State::kStarting;
  member.since_ms = now_ms;
  forget_end(member);
  note_end(*job, member, now_ms);
  job->touched_ms = now_ms;
  if (job->count(State::kReserved) == 0) reserved_.erase(job->id);
  if (!job->started && job->fixed() >= job->spec.size) {
    job->started = true;
    tell(JobNews::Kind::kStarted, *job, {}, job->fixed());
    requeue(*job);
  }
  return true;
}

void Scheduler::started(const MemberId& id, bool done, std::int64_t now_ms) {
  Job* job = book_.job_of(id);
  if (job == nullptr) return;
  Member& member = job->members.at(id);
  if (member.state != State::kStarting) return;
  member.since_ms = now_ms;
  job->touched_ms = now_ms;
  if (done) {
    member.state = State::kRunning;
    for (const auto& request : member.requests) {
      fleet_.extend(request.id, now_ms + settings_.confirm_ms);
    }
  } else {
    member.state = State::kReserved;
    reserved_.insert(job->id);
    // Its room may have gone meanwhile, or its others have lost theirs.
    const bool whole =
        job->started || job->count(State::kReserved) + job->fixed() >= job->spec.size;
    if (!whole || !stands(member))
      withdraw(job->id, "a member of the job could not be started", now_ms);
  }
}

bool Scheduler::runs(const MemberId& id, const std::string& name, std::int64_t now_ms,
                     bool together) {
  Job& job = *book_.job_of(id);
  Member& member = job.members.at(id);
  if (member.state != State::kWaiting && member.node != name) {
    // Somebody else has started it, elsewhere: what was planned with it does not hold.
    if (!job.started) withdraw(job.id, "a member of the job was started elsewhere", now_ms);
    give_back(job, member);
  }
  const NodeIndex node = fleet_.find(name);
  bool room = node >= 0;
  if (room) fleet_.drop_hold(node, kHeadClaim);  // who runs is there, whatever waits
  if (member.state == State::kWaiting) {
    room = room && reserve(job, member, node, now_ms);
    if (!room) {
      queue_.charge(job.spec.owner.name_space, member.cpus());
      take_share(name, member.terms.share);
    }
    member.node = name;
  } else {
    room = room && promise(member, node, kNoExpiry);
  }
  if (node >= 0) hold_head_room_at(node);
  member.state = State::kRunning;
  member.since_ms = now_ms;
  for (const auto& request : member.requests) fleet_.extend(request.id, kNoExpiry);
  if (job.count(State::kReserved) == 0) reserved_.erase(job.id);
  if (together || job.fixed() >= job.spec.size) job.started = true;
  requeue(job);
  return room;
}

bool Scheduler::still_runs(const MemberId& id, std::int64_t expires_ms) {
  const Member& member = *book_.member(id);
  const NodeIndex node = fleet_.find(member.node);
  if (node < 0) return false;
  const bool named = std::all_of(member.requests.begin(), member.requests.end(),
                                 [&](const auto& request) { return fleet_.knows(request.id); });
  if (named) return true;
  fleet_.drop_hold(node, kHeadClaim);
  const bool room = promise(member, node, expires_ms);
  hold_head_room_at(node);
  return room;
}

// --- the fleet

Result<std::vector<LostPromise>> Scheduler::report(NodeReport report, std::int64_t now_ms) {
  for (topology::Claim& claim : report.claims) {
    // Jobs are told apart by their ids, not by the names that agents know.
    claim.job.clear();
    const auto member = member_of_claim_.find(claim.id);
    if (member != member_of_claim_.end()) {
      claim.job = book_.member(member->second)->requests.front().job;
    }
  }
  const std::string name = report.name;
  const bool other_machine = report.topology != nullptr;
  const bool fresh = fleet_.find(name) < 0;
  auto lost = fleet_.report(std::move(report), now_ms);
  if (!lost) return lost;
  if (fresh) set_terms(fleet_.find(name), name);
  changed_ = true;
  if (!lost->empty()) withdraw_fallen("its room on a node is gone", now_ms);
  hold_head_room_at(fleet_.find(name));
  if (other_machine) requeue_hopeless();
  return lost;
}

void Scheduler::requeue_hopeless() {
  for (const JobId& id : std::exchange(hopeless_, {})) requeue(*book_.find(id));
}

void Scheduler::terms(const std::string& node, const NodeTerms& terms, std::int64_t now_ms) {
  Site& site = sites_[node];
  const NodeTerms before = std::exchange(site.terms, terms);
  if (before == terms) return;
  set_terms(fleet_.find(node), node);
  const bool more = before.others.milli_cpus > terms.others.milli_cpus ||
                    before.others.memory > terms.others.memory ||
                    before.others.members > terms.others.members;
  const bool other = before.open != terms.open || before.capacity != terms.capacity;
  changed_ = changed_ || more || other;
  const bool nothing_said = terms == NodeTerms() && site.taken == Share();
  if (nothing_said) sites_.erase(node);
  if (other) requeue_hopeless();
  if (before.open && !terms.open) withdraw_fallen("a node of its plan is closed", now_ms);
}

void Scheduler::nodes_changed(std::int64_t now_ms) {
  changed_ = true;
  requeue_hopeless();
  withdraw_fallen("a node of its plan is closed to it", now_ms);
}

void Scheduler::set_terms(NodeIndex node, const std::string& name) {
  const auto site = sites_.find(name);
  if (node >= 0 && site != sites_.end()) {
    fleet_.set_terms(node, site->second.terms, site->second.taken);
  }
}

void Scheduler::take_share(const std::string& node, const Share& share) {
  if (share == Share()) return;
  sites_[node].taken += share;
  set_terms(fleet_.find(node), node);
}

void Scheduler::put_back_share(const std::string& node, const Share& share) {
  const auto site = sites_.find(node);
  if (share == Share() || site == sites_.end()) return;
  site->second.taken -= share;
  set_terms(fleet_.find(node), node);
  if (site->second.taken == Share() && site->second.terms == NodeTerms()) sites_.erase(site);
}

bool Scheduler::heard(std::string_view node, std::int64_t now_ms) {
  const NodeIndex index = fleet_.find(node);
  if (index < 0) return false;
  changed_ = changed_ || fleet_.node(index).stale;
  fleet_.heard(index, now_ms);
  return true;
}

void Scheduler::measured(std::string_view node, MissRates rates) {
  const NodeIndex index = fleet_.find(node);
  if (index >= 0) fleet_.measured(index, std::move(rates));
}

// What is reserved for the member is there: its node, and its agent has left room for it.
bool Scheduler::stands(const Member& member) const {
  const NodeIndex node = fleet_.find(member.node);
  return node >= 0 && !fleet_.node(node).stale &&
         std::all_of(member.requests.begin(), member.requests.end(),
                     [&](const topology::Request& request) { return fleet_.knows(request.id); });
}

void Scheduler::withdraw_fallen(const std::string& why, std::int64_t now_ms) {
  std::set<JobId> fallen;
  for (const JobId& id : reserved_) {
    const auto members = members_in(*book_.find(id), State::kReserved);
    if (!std::all_of(members.begin(), members.end(), [&](const Member* member) {
          return stands(*member) && fleet_.may_use(fleet_.find(member->node), member->terms);
        })) {
      fallen.insert(id);
    }
  }
  for (const JobId& id : fallen) withdraw(id, why, now_ms);
}

int Scheduler::age(std::int64_t now_ms, std::int64_t silent_ms) {
  const int silent = fleet_.age(now_ms, silent_ms);
  if (silent > 0) withdraw_fallen("a node of its plan is silent", now_ms);
  return silent;
}

void Scheduler::lost(std::string_view name, std::int64_t now_ms) {
  if (const auto site = sites_.find(name); site != sites_.end()) {
    site->second.terms = {};
    if (site->second.taken == Share()) sites_.erase(site);
  }
  const NodeIndex node = fleet_.find(name);
  if (node < 0) return;
  std::erase_if(endings_, [&](const Ending& ending) {
    if (ending.node != node) return false;
    ending_of_.erase(ending.id);
    return true;
  });
  if (head_ && head_->cpus.contains(node)) drop_head_room();
  fleet_.remove(name);
  withdraw_fallen("a node of its plan is gone", now_ms);
}

void Scheduler::tick(std::int64_t now_ms) {
  std::set<JobId> idle;
  for (const JobId& id : reserved_) {
    if (now_ms - book_.find(id)->touched_ms >= settings_.keep_ms) idle.insert(id);
  }
  for (const JobId& id : idle) withdraw(id, "nobody has started it", now_ms);
  if (head_ && now_ms - head_->since_ms >= settings_.head_ms) {
    book_.find(head_->job)->passed_over_ms = now_ms + settings_.head_ms;
    drop_head_room();
    changed_ = true;
  }
  const auto expired = fleet_.expire(now_ms);
  if (expired.empty()) return;
  std::set<MemberId> untold;
  for (const auto& id : expired) {
    // Else it was not known any more.
    const auto member = member_of_claim_.find(id);
    if (member != member_of_claim_.end()) untold.insert(member->second);
  }
  for (const MemberId& id : untold) {
    Job& job = *book_.job_of(id);
    Member& member = job.members.at(id);
    if (member.state != State::kRunning || stands(member)) continue;
    give_back(job, member);
    member.since_ms = now_ms;
    tell(JobNews::Kind::kWithdrawn, job, "nobody has told of its start", 1);
    requeue(job);
  }
  hold_head_room();
  changed_ = true;
}

std::vector<JobNews> Scheduler::take_news() {
  return std::exchange(news_, {});
}

}  // namespace pinion::cluster
