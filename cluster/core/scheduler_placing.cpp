// Which CPUs a job gets: its plan, what is reserved of it, and what is given back.
#include "cluster/core/scheduler.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cluster/core/gang_refusal.h"
#include "cluster/core/hole_text.h"
#include "cluster/core/pod_fit.h"
#include "cluster/core/scheduler_parts.h"
#include "cluster/core/task_groups.h"

namespace pinion::cluster {
namespace {

using State = Member::State;

GangRefusal refusal_of(GangReason reason, std::string text) {
  GangRefusal refusal;
  refusal.reason = reason;
  refusal.text = std::move(text);
  return refusal;
}

std::vector<Member*> next_of(Job& job) {
  std::vector<Member*> members;
  for (const Member* member : next_members(job)) members.push_back(&job.members.at(member->id));
  return members;
}

std::vector<NodeIndex> all_of(const Fleet& fleet) {
  std::vector<NodeIndex> nodes;
  for (const auto& [name, node] : fleet.by_name()) nodes.push_back(node);
  return nodes;
}

std::string why_incomplete(const Job& job) {
  if (!job.spec.at_odds.empty()) return job.spec.at_odds;
  return std::to_string(job.members.size()) + " of the " + std::to_string(job.spec.size) +
         " that start together exist";
}

// The same in any order, as kube-scheduler names equal nodes in any. Each is mixed as by SplitMix64
// (Steele, Lea, Flood 2014).
std::uint64_t hash_of(const std::vector<NodeIndex>& nodes) {
  std::uint64_t sum = nodes.size();
  for (const NodeIndex node : nodes) {
    std::uint64_t mixed = (static_cast<std::uint64_t>(node) + 1) * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    sum += mixed ^ (mixed >> 31);
  }
  return sum;
}

FleetView::Leaving leave_of(const Member& member) {
  FleetView::Leaving leaving{.who = member.id, .ids = {}, .requests = member.terms.requests};
  for (const auto& request : member.requests) leaving.ids.push_back(request.id);
  return leaving;
}

}  // namespace

Gang Scheduler::gang_of(const Job& job, std::span<const Member* const> members) const {
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
  touch(job, now_ms);
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
  touch(job, now_ms);
  if (member.state != State::kWaiting) return {.placed = true};
  return place_all(job, {&member}, among, now_ms);
}

PlaceAnswer Scheduler::place_anew(const std::vector<MemberId>& members,
                                  const std::vector<NodeIndex>* among, const std::string& why,
                                  std::int64_t now_ms) {
  Job& job = *book_.job_of(members.front());
  touch(job, now_ms);
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
  std::string& prefers = book_.member(id)->prefers;
  if (prefers == node) return;
  prefers = node;
  book_.job_of(id)->answered.reset();
}

bool Scheduler::would_place(const JobId& id, std::int64_t now_ms) {
  Job& job = *book_.find(id);
  if (!job.complete()) return false;
  std::vector<Member*> members = next_of(job);
  if (members.empty()) return true;
  if (job.started) members.resize(1);
  if (any_runs(members) || (!job.never.empty() && !job.started)) return false;
  if (must_wait_its_turn(job) || hindered(job, now_ms) != nullptr) return false;
  const bool lift = may_take_head_room(job, now_ms);
  if (lift) lift_head_room();
  bool fits = false;
  if (members.size() == 1 && job.spec.nodes == 0) {
    const auto& requests = members.front()->requests;
    const MemberTerms& terms = members.front()->terms;
    const bool by_index = requests.size() == 1 && !terms.apart;
    const std::vector<NodeIndex> nodes = by_index ? std::vector<NodeIndex>() : all_of(fleet_);
    const PodFit together(fleet_, requests);
    fits = by_index ? fleet_.best_node(requests.front(), terms) >= 0
                    : std::any_of(nodes.begin(), nodes.end(), [&](NodeIndex node) {
                        return fleet_.takes(node, terms) && together.fit(node) &&
                               !fleet_.too_near(node, terms, requests.front().job);
                      });
  } else {
    fits = std::holds_alternative<GangPlan>(
        place_gang(policy_of(job), fleet_, gang_of(job, members),
                   {.steps = 0, .nodes = node_limit(job)}, seed_of(job.id)));
  }
  if (lift) hold_head_room();
  return fits;
}

std::optional<std::set<NodeIndex>> Scheduler::would_use(const MemberId& id,
                                                        const FleetView& fleet) const {
  const Job& job = *book_.job_of(id);
  if (!job.complete()) return std::nullopt;
  const Member& asks = job.members.at(id);
  const auto members = job.started ? std::vector<const Member*>{&asks} : next_members(job);
  std::set<NodeIndex> nodes = fleet.nodes_of_job(asks.requests.front().job);
  if (members.empty()) return nodes;
  const auto outcome = place_gang(policy_of(job), fleet, gang_of(job, members),
                                  {.steps = 0, .nodes = node_limit(job)}, seed_of(job.id));
  const auto* plan = std::get_if<GangPlan>(&outcome);
  if (plan == nullptr) return std::nullopt;
  for (const Placement& placement : plan->placements) nodes.insert(placement.node);
  return nodes;
}

FleetView Scheduler::without_reserved_below(std::int32_t priority) const {
  std::map<NodeIndex, std::vector<FleetView::Leaving>> leaving;
  for (const auto& [id, kept_until] : reserved_.all()) {
    const Job& job = *book_.find(id);
    if (job.spec.priority >= priority || !may_be_lifted(job)) continue;
    for (const auto& [name, member] : job.members) {
      const NodeIndex node = member.state == State::kReserved ? fleet_.find(member.node) : -1;
      if (node >= 0) leaving[node].push_back(leave_of(member));
    }
  }
  FleetView fleet(fleet_);
  for (const auto& [node, those] : leaving) fleet.vacate(node, those);
  return fleet;
}

void Scheduler::drop_running_below(std::int32_t priority, FleetView& fleet) const {
  std::map<NodeIndex, std::vector<FleetView::Leaving>> leaving;
  for (const auto& [id, job] : book_.jobs()) {
    if (job.spec.priority >= priority) continue;
    for (const auto& [name, member] : job.members) {
      const NodeIndex node = member.fixed() ? fleet_.find(member.node) : -1;
      if (node >= 0) leaving[node].push_back(leave_of(member));
    }
  }
  for (const auto& [node, those] : leaving) fleet.vacate(node, those);
}

// Of a job that has begun to start, and is not whole without those, the others would run in vain.
bool Scheduler::may_be_lifted(const Job& reserved) {
  const int fixed = reserved.fixed();
  return fixed == 0 || fixed >= reserved.spec.size;
}

// What less urgent jobs have reserved is free until put_back().
std::vector<Scheduler::Lifted> Scheduler::lift_for(const Job& job) {
  std::vector<Lifted> lifted;
  for (const auto& [id, kept_until] : reserved_.all()) {
    Job& other = *book_.find(id);
    if (other.spec.priority >= job.spec.priority || !may_be_lifted(other)) continue;
    for (Member* member : members_in(other, State::kReserved)) {
      lifted.push_back({.member = member, .node = fleet_.find(member->node), .cpus = {}});
    }
  }
  for (Lifted& each : lifted) {
    for (const auto& request : each.member->requests) {
      const topology::Claim* claim =
          each.node < 0 ? nullptr : fleet_.node(each.node).ledger.find(request.id);
      each.cpus.push_back(claim == nullptr ? topology::CpuSet() : claim->cpus);
      fleet_.release(request.id);
    }
    remove_requests(each.member->node, each.member->terms);
  }
  return lifted;
}

// Where they were, as far as that is free; then the others on what else is free there. Returns the
// jobs of those for which there is no room any more, if anything was `taken` meanwhile.
std::set<JobId> Scheduler::put_back(std::vector<Lifted>& lifted, bool taken) {
  lift_head_room();  // it may hold by now what they had
  const auto moved = std::stable_partition(lifted.begin(), lifted.end(), [&](const Lifted& each) {
    return each.node >= 0 &&
           std::none_of(each.cpus.begin(), each.cpus.end(), [&](const topology::CpuSet& cpus) {
             return cpus.intersects(fleet_.node(each.node).ledger.exclusive());
           });
  });
  std::set<JobId> lost;
  for (auto each = lifted.begin(); each != lifted.end(); ++each) {
    const auto& [member, node, cpus] = *each;
    if (each == moved) hold_head_room();
    // Else whoever may not be there any more was left there on purpose.
    if (node < 0 || (taken && (!has(fleet_.node(node).spare, member->terms.requests) ||
                               fleet_.unwelcome(node, member->terms) != Unwelcome::kNo))) {
      lost.insert(book_.job_of(member->id)->id);
    }
    add_requests(member->node, member->terms);
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      topology::Request request = member->requests[i];
      request.preferred = cpus[i];
      const auto again = fleet_.promise(node, request, kNoExpiry);
      if (!again || !std::holds_alternative<topology::Decision>(*again)) {
        lost.insert(book_.job_of(member->id)->id);
      }
    }
  }
  return lost;
}

// A start that was given up may be told of late, by the agent first: what waits has no CPUs.
bool Scheduler::any_runs(std::span<const Member* const> waiting) const {
  return std::any_of(waiting.begin(), waiting.end(), [&](const Member* member) {
    return std::any_of(member->requests.begin(), member->requests.end(),
                       [&](const auto& request) { return fleet_.knows(request.id); });
  });
}

// All that are tried again are so at the same moments.
std::int64_t Scheduler::next_turn_ms(std::int64_t now_ms) const {
  const std::int64_t every = settings_.retry_ms;
  return every > 0 ? now_ms + every - now_ms % every : now_ms;
}

// The same question as that of its last refusal, by another member, and nothing was given back
// since: kube-scheduler asks about each member of a gang, and each answer would take a whole plan.
bool Scheduler::is_asked_again(const Job& job, const std::vector<NodeIndex>* among,
                               std::int64_t now_ms) const {
  if (among == nullptr || job.started || !job.refused || !job.answered) return false;
  if (changed_ || job.refused_at != changes_ || !settings_.backfill) return false;
  return job.answered->among == hash_of(*among) &&
         job.answered->head == (head_ ? head_->job : JobId()) &&
         job.answered->takes_held == may_take_head_room(job, now_ms);
}

void Scheduler::note_answer(Job& job, const std::vector<NodeIndex>* among, std::int64_t now_ms) {
  job.answered.reset();
  if (among == nullptr || job.started) return;
  job.answered = {.among = hash_of(*among),
                  .head = head_ ? head_->job : JobId(),
                  .takes_held = may_take_head_room(job, now_ms),
                  .why = job.why};
}

PlaceAnswer Scheduler::place_all(Job& job, const std::vector<Member*>& members,
                                 const std::vector<NodeIndex>* among, std::int64_t now_ms) {
  if (any_runs(members)) {
    ++counters_.refused;
    job.again_ms = now_ms;
    return {.why = job.why = "a container of its members runs already, as its agent says"};
  }
  if (!job.never.empty() && !job.started) return {.never = true, .why = job.why = job.never};
  if (job.refused) job.changed = 0;
  if (is_asked_again(job, among, now_ms)) {
    ++counters_.refused;
    ++counters_.again;
    return {.why = job.why = job.answered->why};
  }
  auto refusal = attempt(job, members, among, now_ms);
  if (refusal && refusal->reason != GangReason::kNever) {
    // What less urgent jobs merely keep goes before anything that runs.
    std::vector<Lifted> lifted = lift_for(job);
    if (!lifted.empty()) {
      hold_head_room();  // of theirs, too
      refusal = attempt(job, members, among, now_ms);
      const std::set<JobId> lost = put_back(lifted, !refusal);
      for (const JobId& id : lost) withdraw(id, "a more urgent job needs its room", now_ms);
      hold_head_room();
    }
  }
  if (!refusal) {
    ++counters_.placed;
    job.why.clear();
    job.changed = 0;
    tell(JobNews::Kind::kReserved, job, {}, static_cast<int>(members.size()));
    requeue(job);
    return {.placed = true};
  }
  ++counters_.refused;
  if (auto never = judge(job, members)) refusal = std::move(never);
  job.why = refusal->text;
  job.refused = true;
  job.refused_at = changes_;
  job.again_ms = next_turn_ms(now_ms);
  const bool never = refusal->reason == GangReason::kNever;
  if (never) tell_if_hopeless(job, members);
  note_answer(job, never ? nullptr : among, now_ms);
  if (!never) {
    keep_head_room(job, gang_of(job, members), among, now_ms);
  } else if (among == nullptr || (!job.never.empty() && !job.started)) {
    unqueue(job.id);
    hopeless_.insert(job.id);
  }
  return {.never = never, .why = job.why};
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

// One member, wherever its hole is the tightest.
std::optional<GangRefusal> Scheduler::attempt_one(Job& job, Member& member,
                                                  const std::vector<NodeIndex>* among,
                                                  std::int64_t now_ms) {
  if (among == nullptr && member.requests.size() == 1 && !member.terms.apart) {
    const NodeIndex node = fleet_.best_node(member.requests.front(), member.terms);
    if (node >= 0 && reserve(job, member, node, now_ms)) return std::nullopt;
  }
  const std::vector<NodeIndex> nodes = among != nullptr ? *among : all_of(fleet_);
  const PodFit together(fleet_, member.requests);
  for (const NodeIndex node : nodes) {
    if (fleet_.takes(node, member.terms) && together.fit(node) &&
        !fleet_.too_near(node, member.terms, member.requests.front().job) &&
        reserve(job, member, node, now_ms))
      return std::nullopt;
  }
  const bool ever = fits_when_idle(member.requests, member.terms);
  std::string text = "needs " + hole_text(member.requests.front());
  if (member.requests.size() > 1) {
    text += " and CPUs of " + std::to_string(member.requests.size() - 1) + " more beside it";
  }
  text += "; " + absent_text(fleet_.unheard(member.terms), 0);
  return refusal_of(ever ? GangReason::kNoHole : GangReason::kNever,
                    text + (ever ? "no node has that now" : "no node could ever give that"));
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
    if (job.started && !job.refused && !fits_when_idle({shape->like}, shape->terms)) {
      return refusal_of(GangReason::kNever,
                        "needs " + hole_text(shape->like) + "; no node could ever give that");
    }
    if (among != nullptr && members.size() > 1) {  // somebody asks, and is told all
      if (may_take_head_room(job, now_ms)) lift_head_room();
      auto refusal =
          refuse(Draft(fleet_, gang_of(job, members), {.among = among, .nodes = node_limit(job)}));
      hold_head_room();
      return refusal;
    }
    return refusal_of(GangReason::kTooFew,
                      "needs " + std::to_string(shape->members) + " x " + hole_text(shape->like) +
                          "; " + absent_text(fleet_.unheard(shape->terms), 0) +
                          "there is room for " + std::to_string(fleet_.room_at_most(shape->like)) +
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
  const bool alone = gang.size() == 1 && job.spec.nodes == 0;
  if (alone && (by_index || !gang.front().beside.empty())) {
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
  std::vector<std::pair<std::string, MemberTerms>> taken;
  const auto put_back = [&] {
    for (const auto& [node, terms] : std::exchange(taken, {})) remove_requests(node, terms);
  };
  const int most = node_limit(job);
  std::set<NodeIndex> used = fleet_.nodes_of_job(gang.front().job);
  for (std::size_t i = 0; i < gang.size(); ++i) {
    const NodeIndex node = members[i]->prefers.empty() ? -1 : fleet_.find(members[i]->prefers);
    const bool there = node >= 0 && !fleet_.node(node).stale && fleet_.takes(node, gang[i].terms) &&
                       !fleet_.too_near(node, gang[i].terms, gang[i].job) &&
                       (used.contains(node) || static_cast<int>(used.size()) < most);
    if (there && promise(*members[i], node, kNoExpiry)) {
      nodes[i] = node;
      used.insert(node);
      taken.emplace_back(members[i]->prefers, gang[i].terms);
      add_requests(members[i]->prefers, gang[i].terms);
    } else {
      rest.push_back(i);
    }
  }
  const PlanLimits limits{.steps = settings_.plan_steps, .among = among, .nodes = most};
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

PlaceAnswer Scheduler::place_at(const MemberId& id, const std::string& name, std::int64_t now_ms) {
  Job& job = *book_.job_of(id);
  Member& member = job.members.at(id);
  touch(job, now_ms);
  const NodeIndex node = fleet_.find(name);
  if (node < 0) return {.why = "no agent speaks for the node"};
  if (const Unwelcome why = fleet_.unwelcome(node, member.terms); why != Unwelcome::kNo) {
    return {.why = std::string(to_string(why))};
  }
  if (const auto only = kept_to(job, member); only && !only->contains(node)) {
    return {.why = kNodeLimit};
  }
  bool done = false;
  see_as(id, now_ms, [&] { done = reserve(job, member, node, now_ms); });
  if (!done) return {.why = "needs " + hole_text(member.requests.front()) + ", taken meanwhile"};
  ++counters_.placed;
  job.why.clear();
  requeue(job);
  return {.placed = true};
}

// Those of its containers that have no CPUs yet get them there, or none does but those that are
// planned there.
bool Scheduler::promise(const Member& member, NodeIndex node, std::int64_t expires_ms) {
  std::vector<std::string_view> unplanned;
  bool room = true;
  for (const auto& request : member.requests) {
    if (fleet_.node(node).ledger.find(request.id) != nullptr || fleet_.promised(request.id)) {
      continue;
    }
    const auto outcome = fleet_.promise(node, request, expires_ms);
    const bool done = outcome && std::holds_alternative<topology::Decision>(*outcome);
    if (done && !request.planned) unplanned.push_back(request.id);
    room = room && done;
  }
  if (!room) {
    for (const auto id : unplanned) fleet_.release(id);
  }
  return room;
}

bool Scheduler::reserve(Job& job, Member& member, NodeIndex node, std::int64_t now_ms) {
  if (!promise(member, node, kNoExpiry)) return false;
  member.state = State::kReserved;
  member.node = fleet_.node(node).name;
  member.since_ms = now_ms;
  reserved_.set(job.id, after(job.touched_ms, settings_.keep_ms));
  queue_.charge(job.spec.owner.name_space, member.cpus());
  add_requests(member.node, member.terms);
  note_end(job, member, now_ms);
  return true;
}

// What it has is free, as far as its agent does not say otherwise.
void Scheduler::give_back(Job& job, Member& member) {
  if (member.state == State::kWaiting) return;
  for (const auto& request : member.requests) fleet_.release(request.id);
  const NodeIndex node = fleet_.find(member.node);
  if (node >= 0) {
    fleet_.bring_back(node);
    hold_head_room_at(node);
  }
  note_over(member, node);
  hasten_head(node);
  queue_.charge(job.spec.owner.name_space, -member.cpus());
  remove_requests(member.node, member.terms);
  member.state = State::kWaiting;
  member.node.clear();
  for (auto& request : member.requests) {
    forget_plan(request);
    if (job.spec.task_groups > 0) request.task_group.clear();
  }
  if (job.count(State::kReserved) == 0) reserved_.erase(job.id);
  if (node >= 0) note_ends_at(node);  // its agent may name one that was given up
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
  job.why = why;
  tell(JobNews::Kind::kWithdrawn, job, why, static_cast<int>(members.size()));
  requeue(job);
}

}  // namespace pinion::cluster
