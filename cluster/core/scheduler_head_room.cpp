// The CPUs that are held for the first of the queue.
#include "cluster/core/scheduler.h"

#include <algorithm>
#include <utility>

#include "cluster/core/scheduler_parts.h"

namespace pinion::cluster {

// It has ended when the head of the queue can start.
bool Scheduler::over_by_then(const Job& job, std::int64_t now_ms) const {
  return job.run_ms > 0 && head_->promised_ms != kUnknownTime &&
         now_ms + job.run_ms <= head_->promised_ms;
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
  fleet_.drop_claim(node, kHeadClaim);
  fleet_.hold(node, kHeadClaim, room->second);
}

void Scheduler::hold_head_room() {
  if (!head_) return;
  for (const auto& [node, cpus] : head_->cpus) hold_head_room_at(node);
}

void Scheduler::lift_head_room() {
  if (!head_) return;
  for (const auto& [node, cpus] : head_->cpus) fleet_.drop_claim(node, kHeadClaim);
}

void Scheduler::drop_head_room() {
  lift_head_room();
  head_.reset();
}

// Of whose end was waited for, and who should have ended by now or has not said when, the others of
// that kind are waited for first the next time: the members of a job end together.
void Scheduler::defer_endings(std::int64_t now_ms) {
  std::set<JobId> late_jobs;
  std::set<Ending> late;
  for (const auto& [node, cpus] : head_->cpus) {
    for (const auto& [id, claim] : fleet_.node(node).ledger.claims()) {
      const auto ending = ending_of_.find(id);
      if (ending == ending_of_.end() || !claim.cpus.intersects(cpus)) continue;
      const std::int64_t at = ending->second.at_ms;
      if (at == kOverTime || (at > now_ms && at != kUnknownTime)) continue;
      const auto member = member_of_claim_.find(id);
      if (member == member_of_claim_.end()) {
        late.insert(ending->second);
      } else {
        late_jobs.insert(book_.job_of(member->second)->id);
      }
    }
  }
  for (const JobId& id : late_jobs) {
    for (const auto& [name, member] : book_.find(id)->members) {
      for (const auto& request : member.requests) {
        const auto ending = ending_of_.find(request.id);
        if (ending != ending_of_.end()) late.insert(ending->second);
      }
    }
  }
  for (Ending ending : late) {
    endings_.erase(ending);
    ending.at_ms = kUnknownTime;
    ending.order = begun_++;
    put_ending(std::move(ending));
  }
}

// When the last of those that have CPUs of the head gives them back; nullopt: not all ever do.
// kOverTime: nobody has any.
std::optional<std::int64_t> Scheduler::last_end_in_head_room() const {
  std::int64_t last = kOverTime;
  for (const auto& [node, cpus] : head_->cpus) {
    for (const auto& [id, claim] : fleet_.node(node).ledger.claims()) {
      if (id == kHeadClaim || !claim.cpus.intersects(cpus)) continue;
      const auto ending = ending_of_.find(id);
      if (ending == ending_of_.end()) return std::nullopt;
      last = std::max(last, ending->second.at_ms);
    }
  }
  return last;
}

// Whether all of the head's CPUs are free or will be given back by then.
bool Scheduler::head_room_comes() const {
  const auto last = last_end_in_head_room();
  return last && *last <= head_->from_ms;
}

// Somebody has ended on this node, perhaps earlier than said: the head may have its CPUs sooner.
void Scheduler::hasten_head(NodeIndex ended_on) {
  if (!head_ || !head_->cpus.contains(ended_on)) return;
  const auto last = last_end_in_head_room();
  if (!last) return;
  head_->from_ms = std::min(head_->from_ms, *last);
  head_->promised_ms = std::min(head_->promised_ms, *last);
}

// When others have their turn; kNeverDue: no room is held, or for ever.
std::int64_t Scheduler::head_until_ms() const {
  if (!head_) return kNeverDue;
  const int passed_over = book_.find(head_->job)->times_passed_over;
  const int doublings = std::min(passed_over, SchedulerSettings::kMostDoublings);
  return after(head_->since_ms, doubled(settings_.head_ms, doublings));
}

// From when on room may be kept for it.
std::int64_t Scheduler::old_enough_ms(const Job& job) const {
  return std::max(after(job.submitted_ms, settings_.head_after_ms), job.passed_over_ms);
}

// Whoever is refused may be asked about again only after what it waits for has been given back to
// others.
void Scheduler::keep_room_for_first(std::int64_t now_ms) {
  if (!settings_.backfill) return;
  const Job* first = nullptr;
  int looks = 0;
  queue_.visit([&](const JobId& id) {
    const Job& job = *book_.find(id);
    const std::int64_t from_ms = old_enough_ms(job);
    if (job.refused && from_ms <= now_ms) {
      first = &job;
    } else if (job.refused) {
      too_young_.set(id, from_ms);
    }
    return first == nullptr && ++looks < settings_.depth;
  });
  if (first == nullptr) return;
  if (now_ms < room_ms_) return too_young_.set(first->id, room_ms_);
  room_ms_ = after(now_ms, settings_.retry_ms);
  auto members = next_members(*first);
  if (first->started) members.resize(1);
  if (!any_runs(members)) keep_head_room(*first, gang_of(*first, members), nullptr, now_ms);
}

// Room is kept for the first of those that were refused.
void Scheduler::keep_head_room(const Job& job, const Gang& gang,
                               const std::vector<NodeIndex>* among, std::int64_t now_ms) {
  if (!settings_.backfill || !queue_.contains(job.id)) return;
  if (head_) {
    const bool same = head_->job == job.id;
    // Several containers may get in each other's way where more is free than is held for them.
    const bool several = std::any_of(gang.begin(), gang.end(),
                                     [](const auto& member) { return !member.beside.empty(); });
    const bool in_vain = several && last_end_in_head_room() == kOverTime;
    if (same ? head_room_comes() && !in_vain : !queue_.before(job.id, head_->job)) return;
  }
  const std::int64_t from_ms = old_enough_ms(job);
  if (now_ms < from_ms) return too_young_.set(job.id, from_ms);
  lift_head_room();
  auto room =
      find_head_room(fleet_, job.id, gang, endings_, {.among = among, .nodes = node_limit(job)});
  const bool same = head_ && head_->job == job.id;
  // Another's room is kept as long as none can be found for this one; what is not kept is free.
  if (head_ && same != room.has_value()) changed_ = true;
  if (room) {
    room->since_ms = same ? head_->since_ms : now_ms;
    room->promised_ms = same ? std::min(head_->promised_ms, room->from_ms) : room->from_ms;
  }
  if (room || same) head_ = std::move(room);
  hold_head_room();
}

}  // namespace pinion::cluster
