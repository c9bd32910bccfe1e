#include "cluster/core/scheduler.h"

#include <algorithm>
#include <utility>

#include "cluster/core/scheduler_parts.h"

namespace pinion::cluster {
namespace {

using State = Member::State;

// Doublings of the rest of a job that changes after each refusal: half a minute with retry_ms of
// 1 s.
constexpr int kLongestRest = 5;

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

// Until the last of them has ended; 0: one of them has not said.
std::int64_t run_of(const std::vector<const Member*>& members) {
  std::int64_t longest = 0;
  for (const Member* member : members) {
    if (member->terms.run_ms == 0) return 0;
    longest = std::max(longest, member->terms.run_ms);
  }
  return longest;
}

}  // namespace

void Scheduler::submit(const JobId& id, JobSpec spec, std::int64_t now_ms) {
  Job* job = book_.find(id);
  if (job == nullptr) {
    book_.add(id, std::move(spec), now_ms);
    return;
  }
  if (job->spec == spec) return;
  const bool same_gang = job->spec.size == spec.size && job->spec.task_groups == spec.task_groups;
  const bool planned_for = job->spec.nodes == spec.nodes && (same_gang || job->started);
  if (!spec.at_odds.empty() && !job->started) {
    withdraw(id, spec.at_odds, now_ms);
  } else if (!planned_for) {
    withdraw(id, "the job has changed", now_ms);
  }
  job->spec = std::move(spec);
  note_whole(*job);  // of fewer, enough may be on their way
  requeue(*job);
}

void Scheduler::waits_since(const JobId& id, std::int64_t at_ms) {
  Job& job = *book_.find(id);
  if (at_ms >= job.submitted_ms) return;
  job.submitted_ms = at_ms;
  if (queue_.contains(id)) requeue(job);
}

// All have begun that start together: from now on each is on its own.
bool Scheduler::note_whole(Job& job) {
  if (job.started || job.members.empty() || job.fixed() < job.spec.size) return false;
  job.started = true;
  tell(JobNews::Kind::kStarted, job, {}, job.fixed());
  return true;
}

bool Scheduler::join(const JobId& id, const MemberId& member,
                     std::vector<topology::Request> requests, std::int64_t now_ms,
                     MemberTerms terms) {
  Job* const known = book_.find(id);
  if (known == nullptr || book_.member(member) != nullptr) return false;
  Job& job = *known;
  for (auto& request : requests) {
    if (request.job.empty()) request.job = id;
    member_of_claim_[request.id] = member;
    fleet_.name_job(request.id, request.job);  // its agent may have told of it before
  }
  Member& joined = book_.join(job, member, std::move(requests));
  joined.since_ms = now_ms;
  joined.terms = heeded(job, std::move(terms));
  touch(job, now_ms);
  requeue(job);
  return true;
}

// Somebody asks for the job: what is reserved for it is kept on.
void Scheduler::touch(Job& job, std::int64_t now_ms) {
  job.touched_ms = now_ms;
  if (reserved_.contains(job.id)) reserved_.set(job.id, after(now_ms, settings_.keep_ms));
}

// As the cluster's rules are for such a member.
MemberTerms Scheduler::heeded(const Job& job, MemberTerms terms) const {
  terms.service = job.spec.service;
  terms.apart = terms.apart || (settings_.colocation.apart && !terms.service);
  if (settings_.colocation.counts()) terms.job = job.id;
  return terms;
}

void Scheduler::change_terms(const MemberId& id, MemberTerms terms, std::int64_t now_ms) {
  Job& job = *book_.job_of(id);
  Member& member = job.members.at(id);
  terms = heeded(job, std::move(terms));
  if (member.terms == terms) return;
  if (member.state == State::kReserved) {
    // It may have been let past another job for the sake of its end.
    const std::int64_t run = member.terms.run_ms;
    const bool longer = run > 0 && (terms.run_ms == 0 || terms.run_ms > run);
    if (!terms.same_nodes(member.terms)) {
      withdraw(job.id, "a member of the job may use other nodes", now_ms);
      job.rests_ms = next_turn_ms(now_ms);
    } else if (longer) {
      withdraw(job.id, "a member of the job runs for longer", now_ms);
    }
  }
  member.terms = std::move(terms);
  requeue(job);
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
  heed_limit(*job, now_ms);
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
  if (job.refused) {
    const int doublings = std::min(job.changed++, kLongestRest);
    job.rests_ms = after(job.again_ms, doubled(settings_.retry_ms, doublings) - settings_.retry_ms);
  }
  job.refused = false;
  job.never.clear();
  job.judged_at = 0;
  job.again_ms = 0;
  job.shapes = shapes_of(members);
  job.run_ms = run_of(members);
  if (!members.empty()) {
    int cpus = 0;
    for (const Member* member : members) cpus += member->cpus();
    queue_.push({.job = job.id,
                 .name_space = job.spec.owner.name_space,
                 .priority = job.spec.priority,
                 .submitted_ms = job.submitted_ms,
                 .run_ms = job.run_ms,
                 .cpus = cpus});
    changed_ = true;
    return;
  }
  unqueue(job.id);
}

void Scheduler::unqueue(const JobId& job) {
  queue_.erase(job);
  too_young_.erase(job);
  if (!head_ || head_->job != job) return;
  drop_head_room();
  changed_ = true;
}

void Scheduler::run(std::int64_t now_ms) {
  if (!take_changed() && now_ms < turn_ms_) return;
  std::vector<JobId> jobs;
  queue_.visit([&](const std::string& job) {
    jobs.push_back(job);
    return static_cast<int>(jobs.size()) < settings_.depth;
  });
  turn_ms_ = try_again(jobs, now_ms, [] { return true; });
}

bool Scheduler::take_changed() {
  const bool changed = std::exchange(changed_, false);
  if (changed) ++changes_;
  return changed;
}

std::int64_t Scheduler::run_some(std::vector<JobId> jobs, std::int64_t now_ms,
                                 const std::function<bool()>& go_on) {
  const auto before = [&](const JobId& a, const JobId& b) { return queue_.before(a, b); };
  std::erase_if(jobs, [&](const JobId& id) { return !queue_.contains(id); });
  const bool many = static_cast<int>(jobs.size()) > settings_.depth;
  const std::int64_t turn_ms = many ? choose(jobs, now_ms) : kNeverDue;
  std::sort(jobs.begin(), jobs.end(), before);
  return std::min(turn_ms, try_again(jobs, now_ms, go_on));
}

// Leaves as many of them as one pass looks at: but for the first one none that would be refused
// again; half by the queue's order, the others by who has waited longest for such a look, so that
// all have theirs. While one of that half rests, none that was refused is looked at: what is given
// back meanwhile is for all of them in order. When the first of the others has its turn.
std::int64_t Scheduler::choose(std::vector<JobId>& jobs, std::int64_t now_ms) {
  const auto before = [&](const JobId& a, const JobId& b) { return queue_.before(a, b); };
  const JobId first = *std::min_element(jobs.begin(), jobs.end(), before);
  const auto lowest = lowest_reserved();
  std::erase_if(jobs, [&](const JobId& id) {
    const Job& job = *book_.find(id);
    if (id == first || !job.refused) return false;
    return job.refused_at == changes_ || is_refused_again(job, lowest, now_ms);
  });
  const auto order_half = [&] {
    const auto some = std::min(static_cast<std::ptrdiff_t>(jobs.size()),
                               static_cast<std::ptrdiff_t>(settings_.depth / 2));
    std::nth_element(jobs.begin(), jobs.begin() + some, jobs.end(), before);
    return jobs.begin() + some;
  };
  std::int64_t rest_ms = kNeverDue;  // until the first of them does not rest any more
  std::for_each(jobs.begin(), order_half(), [&](const JobId& id) {
    const std::int64_t again_ms = book_.find(id)->again_ms;
    if (id != first && now_ms < again_ms) rest_ms = std::min(rest_ms, again_ms);
  });
  if (rest_ms != kNeverDue) {
    std::erase_if(jobs, [&](const JobId& id) { return id != first && book_.find(id)->refused; });
  }
  if (static_cast<int>(jobs.size()) <= settings_.depth) return rest_ms;
  const auto half = order_half();
  const auto end = jobs.begin() + settings_.depth;
  std::nth_element(half, end, jobs.end(), [&](const JobId& a, const JobId& b) {
    const std::int64_t a_ms = book_.find(a)->again_ms;
    const std::int64_t b_ms = book_.find(b)->again_ms;
    return a_ms != b_ms ? a_ms < b_ms : before(a, b);
  });
  jobs.erase(end, jobs.end());
  return now_ms;
}

// In this order. When the first of those that are left out has its turn.
std::int64_t Scheduler::try_again(const std::vector<JobId>& jobs, std::int64_t now_ms,
                                  const std::function<bool()>& go_on) {
  std::int64_t turn_ms = kNeverDue;
  const auto lowest = lowest_reserved();
  for (const JobId& id : jobs) {
    // A reservation that was withdrawn for another is not tried before the next time.
    if (!queue_.contains(id)) continue;
    if (!go_on()) return now_ms;
    const Job& job = *book_.find(id);
    if (is_refused_again(job, lowest, now_ms)) {
      ++counters_.refused;
    } else if (now_ms < job.rests_ms) {
      turn_ms = std::min(turn_ms, job.rests_ms);
    } else if (now_ms >= job.again_ms || id == jobs.front()) {
      place(id, nullptr, now_ms);
    } else {
      turn_ms = std::min(turn_ms, job.again_ms);
    }
  }
  return turn_ms;
}

// The lowest priority of those whose reservations may go for a more urgent job; nullopt: there are
// none. Holds for a pass: who is placed in it is no less urgent than those after it.
std::optional<std::int32_t> Scheduler::lowest_reserved() const {
  std::optional<std::int32_t> lowest;
  for (const auto& [id, kept_until] : reserved_.all()) {
    const Job& job = *book_.find(id);
    const bool lower = !lowest || job.spec.priority < *lowest;
    if (lower && may_be_lifted(job)) lowest = job.spec.priority;
  }
  return lowest;
}

// Nothing that was given back helps it, and it is not to get the room that is kept for the head.
bool Scheduler::is_refused_again(const Job& job, std::optional<std::int32_t> lowest,
                                 std::int64_t now_ms) const {
  if (!job.refused || (lowest && *lowest < job.spec.priority)) return false;
  if (is_to_be_judged(job)) return false;
  if (!settings_.backfill) return queue_.first() != job.id;
  if (!head_ || hindered(job, now_ms) == nullptr) return false;
  return head_->job == job.id ? head_room_comes() : queue_.before(head_->job, job.id);
}

void Scheduler::see_as(const MemberId& member, std::int64_t now_ms,
                       const std::function<void()>& look) {
  const bool lift = may_take_head_room(*book_.job_of(member), now_ms);
  if (lift) lift_head_room();
  look();
  if (lift) hold_head_room();
}

bool Scheduler::start(const MemberId& id, std::int64_t now_ms) {
  Job* job = book_.job_of(id);
  if (job == nullptr) return false;
  Member& member = job->members.at(id);
  if (member.state != State::kReserved) return false;
  member.state = State::kStarting;
  member.since_ms = now_ms;
  for (auto& request : member.requests) {
    request.preferred = fleet_.pin(request.id);
    request.planned = !request.preferred.empty();
  }
  note_end(*job, member, now_ms);
  touch(*job, now_ms);
  if (job->count(State::kReserved) == 0) reserved_.erase(job->id);
  if (note_whole(*job)) requeue(*job);
  return true;
}

void Scheduler::started(const MemberId& id, bool done, std::int64_t now_ms) {
  Job* job = book_.job_of(id);
  if (job == nullptr) return;
  Member& member = job->members.at(id);
  if (member.state != State::kStarting) return;
  member.since_ms = now_ms;
  touch(*job, now_ms);
  if (done) {
    member.state = State::kRunning;
    const std::int64_t expires_ms = after(now_ms, settings_.confirm_ms);
    const bool lost = fleet_.find(member.node) < 0;
    for (const auto& request : member.requests) {
      fleet_.extend(request.id, expires_ms);
      if (lost) homeless_.set(request.id, expires_ms);
    }
  } else {
    member.state = State::kReserved;
    reserved_.set(job->id, after(now_ms, settings_.keep_ms));
    bool whole = job->started || job->count(State::kReserved) + job->fixed() >= job->spec.size;
    for (auto& request : member.requests) {
      whole = fleet_.unpin(request.id) && whole;
      forget_plan(request);
    }
    // Its room may have gone meanwhile, or its others have lost theirs.
    if (!whole || !stands(member))
      withdraw(job->id, "a member of the job could not be started", now_ms);
    heed_limit(*job, now_ms);
  }
}

void Scheduler::planned(const MemberId& id, const std::string& node,
                        const std::vector<topology::Request>& requests, std::int64_t now_ms) {
  Job& job = *book_.job_of(id);
  Member& member = job.members.at(id);
  const bool elsewhere = !member.node.empty() && member.node != node;
  std::vector<std::pair<topology::Request*, const topology::Request*>> other;
  for (auto& own : member.requests) {
    const auto said = std::find_if(requests.begin(), requests.end(), [&](const auto& request) {
      return request.id == own.id && request.planned;
    });
    if (said == requests.end()) continue;
    if (own.planned && own.preferred == said->preferred && !elsewhere) continue;
    other.emplace_back(&own, &*said);
  }
  if (other.empty()) return;
  if (member.state == State::kReserved && elsewhere && !job.started) {
    withdraw(job.id, "a member of the job was started elsewhere", now_ms);
  }
  give_back(job, member);
  for (const auto& [own, said] : other) {
    own->planned = true;
    own->preferred = said->preferred;
  }
}

// Where its agent was told it is to be, nobody is to start.
void Scheduler::make_way(const Member& member, NodeIndex node, std::int64_t now_ms) {
  topology::CpuSet cpus;
  for (const auto& request : member.requests) {
    if (fleet_.may_pin(node, request)) cpus |= request.preferred;
  }
  if (cpus.empty()) return;
  const topology::Ledger& ledger = fleet_.node(node).ledger;
  std::set<JobId> fallen;
  for (const auto& [id, kept_until] : reserved_.all()) {
    for (const Member* other : members_in(*book_.find(id), State::kReserved)) {
      if (other->id == member.id || fleet_.find(other->node) != node) continue;
      for (const auto& request : other->requests) {
        const topology::Claim* claim = ledger.find(request.id);
        if (claim != nullptr && claim->cpus.intersects(cpus)) fallen.insert(id);
      }
    }
  }
  for (const JobId& id : fallen)
    withdraw(id, "its place was planned for another that runs", now_ms);
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
  if (room) {
    fleet_.drop_claim(node, kHeadClaim);  // who runs is there, whatever waits
    if (!member.fixed()) make_way(member, node, now_ms);
  }
  if (member.state == State::kWaiting) {
    room = room && reserve(job, member, node, now_ms);
    if (!room) {
      queue_.charge(job.spec.owner.name_space, member.cpus());
      add_requests(name, member.terms);
    }
    member.node = name;
  } else {
    room = room && promise(member, node, kNoExpiry);
  }
  if (node >= 0) hold_head_room_at(node);
  if (std::exchange(member.state, State::kRunning) != State::kRunning) member.since_ms = now_ms;
  if (!room && node >= 0) {  // its agent may have named it before anybody knew whose it is
    forget_end(member);
    note_ends_at(node);
  }
  for (const auto& request : member.requests) {
    fleet_.extend(request.id, kNoExpiry);
    homeless_.erase(request.id);
  }
  if (job.count(State::kReserved) == 0) reserved_.erase(job.id);
  if (together || job.fixed() >= job.spec.size) job.started = true;
  heed_limit(job, now_ms);
  requeue(job);
  return room;
}

void Scheduler::drop_reported(const std::string& node, const std::string& id) {
  const NodeIndex index = fleet_.find(node);
  if (index < 0) return;
  fleet_.drop_claim(index, id);
  forget_end_at(index, id);
  fleet_.bring_back(index);
}

void Scheduler::hold(const std::string& node, const std::string& id, const topology::CpuSet& cpus) {
  const NodeIndex index = fleet_.find(node);
  if (index < 0) return;
  fleet_.hold(index, id, cpus);
  note_ends_at(index);
}

bool Scheduler::still_runs(const MemberId& id, std::int64_t expires_ms) {
  const Member& member = *book_.member(id);
  const NodeIndex node = fleet_.find(member.node);
  if (node < 0) return false;
  const bool named = std::all_of(member.requests.begin(), member.requests.end(),
                                 [&](const auto& request) { return fleet_.knows(request.id); });
  if (named) return true;
  fleet_.drop_claim(node, kHeadClaim);
  const bool room = promise(member, node, expires_ms);
  if (room && !ending_of_.contains(member.requests.front().id)) {
    note_end(*book_.job_of(id), member, member.since_ms);
  }
  hold_head_room_at(node);
  return room;
}

void Scheduler::note_end(const Job& job, const Member& member, std::int64_t now_ms) {
  const NodeIndex node = fleet_.find(member.node);
  if (node < 0) return;  // gone, or not told of yet: see note_ends_at()
  forget_end(member);
  const std::int64_t at = member.terms.run_ms > 0 ? now_ms + member.terms.run_ms : kUnknownTime;
  for (const auto& request : member.requests) {
    put_ending({.at_ms = at,
                .service = job.spec.service,
                .order = begun_++,
                .id = request.id,
                .node = node});
  }
}

// Precondition: its claim has none.
void Scheduler::put_ending(Ending ending) {
  endings_.insert(ending);
  ending_of_.insert_or_assign(ending.id, std::move(ending));
}

void Scheduler::forget_end(const std::string& id) {
  const auto ending = ending_of_.find(id);
  if (ending == ending_of_.end()) return;
  endings_.erase(ending->second);
  ending_of_.erase(ending);
}

// Where it is the end of a claim of this node, which has it no more.
void Scheduler::forget_end_at(NodeIndex node, const std::string& id) {
  const auto ending = ending_of_.find(id);
  if (ending == ending_of_.end() || ending->second.node != node) return;
  if (fleet_.node(node).ledger.find(id) == nullptr) forget_end(id);
}

void Scheduler::forget_end(const Member& member) {
  for (const auto& request : member.requests) forget_end(request.id);
}

// The containers of who is gone are named by their agent until they have ended, too: without an
// ending their CPUs would be nobody's to wait for, and what is held beside them be given up.
void Scheduler::note_over(const Member& member, NodeIndex node) {
  forget_end(member);
  if (node < 0 || !member.fixed()) return;
  for (const auto& request : member.requests) {
    if (fleet_.node(node).ledger.find(request.id) == nullptr) continue;
    put_ending({.at_ms = kOverTime, .order = begun_++, .id = request.id, .node = node});
  }
}

void Scheduler::tell(JobNews::Kind kind, const Job& job, const std::string& why, int members) {
  news_.push_back({.kind = kind, .job = job.id, .why = why, .members = members});
}

void Scheduler::tick(std::int64_t now_ms) {
  age(now_ms);
  for (const JobId& id : reserved_.take(now_ms)) withdraw(id, "nobody has started it", now_ms);
  if (head_until_ms() <= now_ms) {
    Job& job = *book_.find(head_->job);
    job.passed_over_ms = now_ms + settings_.head_ms;
    ++job.times_passed_over;
    defer_endings(now_ms);
    drop_head_room();
    changed_ = true;
  }
  if (!too_young_.take(now_ms).empty()) changed_ = true;
  expire(now_ms);
}

std::optional<std::int64_t> Scheduler::next_ms() const {
  auto next = earlier(reserved_.first_ms(), too_young_.first_ms());
  next = earlier(next, homeless_.first_ms());
  next = earlier(next, fleet_.next_ms(settings_.silent_ms));
  const std::int64_t own = std::min(head_until_ms(), turn_ms_);
  return own == kNeverDue ? next : earlier(next, own);
}

// Nobody has told of these starts.
void Scheduler::expire(std::int64_t now_ms) {
  auto expired = fleet_.expire(now_ms);
  for (const auto& id : homeless_.take(now_ms)) expired.push_back(id);
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
    if (!job.started) withdraw(job.id, "a member of the job has not started", now_ms);
    heed_limit(job, now_ms);
    requeue(job);
  }
  hold_head_room();
  changed_ = true;
}

std::vector<JobNews> Scheduler::take_news() {
  return std::exchange(news_, {});
}

}  // namespace pinion::cluster
