// Decided against applied: what the files were found to say, and what follows.
#include <algorithm>
#include <utility>

#include "agent/engine/engine.h"
#include "agent/engine/loans.h"
#include "agent/engine/note.h"
#include "agent/engine/quota.h"

namespace pinion::engine {
namespace {

constexpr int kMissingAuditsBeforeGone = 2;
constexpr int kManyPieces = 2;
constexpr std::size_t kMostHalfway = 16;
constexpr const char* kInnerTrouble = "groups inside it are being brought along, bit by bit";

// The runtime writes its own record at a start and at an update.
bool written_by_runtime(Cause cause) {
  return cause == Cause::kStart || cause == Cause::kPostStart || cause == Cause::kPostUpdate;
}

Note foreign_quota(const char* text, const Member& member, Cause cause, const CpuQuota& found,
                   const CpuQuota& wanted) {
  Note line = note(Note::Level::kWarn, text, member);
  line.fields.emplace_back("at", to_string(cause));
  line.fields.emplace_back("found", to_string(found));
  line.fields.emplace_back("wanted", to_string(wanted));
  return line;
}

}  // namespace

std::optional<Enforce> Engine::audit(std::string_view after) {
  if (after.empty() || state_.qos_groups.contains(after)) {
    const auto group = state_.qos_groups.upper_bound(after);
    if (group != state_.qos_groups.end()) {
      group->second.stuck = false;
      return Fence::enforce_group(state_, group->first, group->second, pool(), Cause::kAudit);
    }
    after = {};
  }
  for (auto it = state_.members.upper_bound(after); it != state_.members.end(); ++it) {
    // The file of one that gets or gives cores in a moment may say either.
    const auto& pending = it->second.pending;
    const bool own =
        pending && (it->second.role == Role::kExclusive || pending->size.role == Role::kExclusive);
    if (!it->second.started() || own) continue;
    it->second.stuck = false;
    return fence_->enforce(state_, it->second, pool(), Cause::kAudit);
  }
  return std::nullopt;
}

std::optional<Enforce> Engine::put_off() {
  while (const auto id = state_.work.pop_put_off()) {
    const Member* member = state_.find(*id);
    if (member == nullptr || member->pieces == 0 || member->stuck) continue;
    Enforce piece = fence_->enforce(state_, *member, pool(), Cause::kFence);
    piece.put_off = false;
    return piece;
  }
  return std::nullopt;
}

// Groups inside the member that do not get through now go on later; what is written until then is
// seen as if it were both, the old and the new.
void Engine::report_inner(Member& member, const Enforced& result, std::vector<Note>& notes) {
  if (!result.unfinished) {
    if (!result.error.empty()) return;  // the next audit goes on
    if (member.pieces < kManyPieces) member.crowded = false;
    member.pieces = 0;
    member.halfway.clear();
    return;
  }
  const CpuSet wanted = target_of(member).cpus;
  const CpuSet both = result.found->cpus | wanted;
  for (const CpuSet& cpus : {result.found->cpus, wanted, both}) {
    if (std::find(member.halfway.begin(), member.halfway.end(), cpus) != member.halfway.end()) {
      continue;
    }
    if (member.halfway.size() == kMostHalfway) member.halfway.erase(member.halfway.begin());
    member.halfway.push_back(cpus);
  }
  member.applied = Applied{.cpus = both, .mems = result.found->mems};
  member.trouble = kInnerTrouble;
  state_.work.put_off(member.id);
  if (++member.pieces < kManyPieces || std::exchange(member.crowded, true)) return;
  Note line =
      note(Note::Level::kWarn, "has many groups inside, which follow it bit by bit", member);
  line.fields.emplace_back("wanted", wanted.to_string());
  line.fields.emplace_back("until_then", both.to_string());
  notes.push_back(std::move(line));
}

// Whether a partition holds the member's cores now, and who must do it if none does.
void Engine::report_partition(Member& member, const Enforced& result, std::vector<Note>& notes) {
  if (!result.partition || member.role != Role::kExclusive || is_lent(state_, member)) return;
  if (has_company(state_, member)) return;
  const bool guards = result.partition_error.empty() && result.partition->cpus == member.own.cpus;
  if (guards) {
    if (!member.guarded) ++counters_.guarded;
    member.guarded = true;
    member.unguarded_why.clear();
    return;
  }
  const bool news = member.unguarded_why != result.partition_error;
  if (member.unguarded_why.empty()) ++counters_.unguarded;
  member.guarded = false;
  member.unguarded_why =
      result.partition_error.empty() ? "it is one of other CPUs" : result.partition_error;
  if (news) {
    Note line = note(Note::Level::kWarn,
                     "no partition, others are kept off by their own files instead", member);
    line.fields.emplace_back("cpus", member.own.cpus.to_string());
    line.fields.emplace_back("why", member.unguarded_why);
    notes.push_back(std::move(line));
  }
  fence_->unguarded(state_, member.id);
}

// What the runtime's record says, which it writes when it likes, is nobody else's change.
void Engine::compare_quota(Member& member, const Enforced& result, std::vector<Note>& notes) {
  const auto target = quota_target(state_, member);
  const auto left = std::exchange(member.quota_left, std::nullopt);
  if (!target || !result.quota_found) return;
  const CpuQuota& found = *result.quota_found;
  member.quota_left = target->own;
  const bool told_none = told_quota(member) == CpuQuota::kNone;
  const CpuQuota record = stated_quota(member.resources).value_or(target->own);
  if (!left || written_by_runtime(result.cause) || same(found, *left) || same(found, target->own) ||
      (!told_none && same(found, record))) {
    return;
  }
  ++counters_.drift;
  ++counters_.repairs;
  notes.push_back(foreign_quota("CPU quota was changed by somebody else", member, result.cause,
                                found, target->own));
}

// The pod's limit that was taken away just now is what comes back, but for one that nobody but the
// kubelet had a reason to write.
void Engine::compare_pod_quota(const Member& member, const Enforced& result,
                               std::vector<Note>& notes) {
  const auto record = state_.pods.find(member.pod_id);
  if (!result.pod_quota_before || record == state_.pods.end()) return;
  PodRecord& pod = record->second;
  const CpuQuota& found = *result.pod_quota_before;
  if (!pod.quota || !std::exchange(pod.quota_trusted, true) || same(found, *pod.quota)) {
    pod.quota = found;
    pod.quota_trusted = true;
    return;
  }
  ++counters_.drift;
  ++counters_.repairs;
  notes.push_back(foreign_quota("CPU quota of its pod was changed by somebody else", member,
                                result.cause, found, {.period = found.period}));
}

void Engine::report_quota(Member& member, const Enforced& result, std::vector<Note>& notes) {
  compare_pod_quota(member, result, notes);
  compare_quota(member, result, notes);
  if (!result.quota_seen) return;
  const bool news = member.quota_trouble != result.quota_error;
  member.quota_trouble = result.quota_error;
  if (result.quota_error.empty()) {
    if (!lifts_quota(state_, member) && member.role != Role::kExclusive) member.unlimited = false;
    return;
  }
  ++counters_.write_failures;
  if (!news) return;
  Note line = note(Note::Level::kWarn, "CPU quota is not as it should be", member);
  line.fields.emplace_back("why", result.quota_error);
  notes.push_back(std::move(line));
}

// Until the next Synchronize those below are kept off by their own files.
void Engine::lose_group(const std::string& name, QosGroup& group, const std::string& why,
                        std::vector<Note>& notes) {
  group.keeps = false;
  ++counters_.qos_groups_lost;
  notes.push_back(
      {.level = Note::Level::kWarn,
       .text = "a QoS group cannot be kept narrow, its containers are by their own files instead",
       .fields = {{"cgroup", name}, {"why", why}}});
  fence_->unguarded(state_, {});
}

// What is found and not expected was written by somebody else: once may be a mistake.
void Engine::mend_group(const std::string& name, QosGroup& group, const CpuSet& found,
                        std::vector<Note>& notes) {
  ++counters_.drift;
  if (group.mended) {
    lose_group(name, group,
               "somebody else keeps writing its file, as systemd does where the slice has "
               "AllowedCPUs and systemd cannot be told",
               notes);
    return;
  }
  group.mended = true;
  notes.push_back({.level = Note::Level::kWarn,
                   .text = "a QoS group's cpuset was changed by somebody else",
                   .fields = {{"cgroup", name}, {"found", found.to_string()}}});
}

void Engine::report_group(const std::string& name, QosGroup& group, const Enforced& result,
                          std::vector<Note>& notes) {
  compare_group(name, group, result, notes);
  if (result.found && std::exchange(group.slice_error, result.slice_error) != result.slice_error &&
      !result.slice_error.empty()) {
    notes.push_back(
        {.level = result.limit ? Note::Level::kWarn : Note::Level::kInfo,
         .text = "systemd cannot be told a slice's CPUs, its cpuset file is written instead",
         .fields = {{"cgroup", name}, {"why", result.slice_error}}});
  }
}

void Engine::compare_group(const std::string& name, QosGroup& group, const Enforced& result,
                           std::vector<Note>& notes) {
  if (result.gone) {
    const auto below = [&](const auto& entry) {
      return entry.second.started() && entry.second.qos_group == name;
    };
    const bool used = std::any_of(state_.members.begin(), state_.members.end(), below);
    group.stuck = true;
    group.applied.reset();
    if (used && group.keeps) {
      lose_group(name, group, "it is not where the pods' paths say", notes);
    }
    return;
  }
  const bool same_limit = !result.found || std::exchange(group.limit, result.limit) == result.limit;
  const CpuSet wanted = group_target(state_, name, group, pool());
  const auto expected = std::exchange(group.applied, std::nullopt);
  if (result.found) group.applied = result.written ? wanted : result.found->cpus;
  if (!result.error.empty()) {
    group.stuck = true;
    ++counters_.write_failures;
    if (group.keeps) lose_group(name, group, result.error, notes);
    return;
  }
  group.stuck = false;
  // Under another limit the group was changed by systemd, which from now on changes it for us.
  const bool foreign = same_limit && !result.systemd_writes && expected && result.found &&
                       result.found->cpus != *expected && result.found->cpus != wanted;
  if (!foreign || !group.keeps) return;
  if (result.written) ++counters_.repairs;
  mend_group(name, group, result.found->cpus, notes);
}

std::vector<Note> Engine::report(const Enforced& result) {
  std::vector<Note> notes;
  if (const auto group = state_.qos_groups.find(result.id); group != state_.qos_groups.end()) {
    report_group(group->first, group->second, result, notes);
    return notes;
  }
  Member* member = state_.find(result.id);
  if (member == nullptr) return notes;
  report_partition(*member, result, notes);
  const Cpuset wanted = target_of(*member);

  if (result.gone) {
    if (result.cause != Cause::kAudit || ++member->missing < kMissingAuditsBeforeGone) {
      member->stuck = true;  // its StopContainer is on the way
      return notes;
    }
    ++counters_.lost_stops;
    notes.push_back(
        note(Note::Level::kWarn, "container is gone, its stop was never told", *member));
    const std::string pod_id = member->pod_id;
    const Loans before = loans_of(state_);
    const Company company_before = company();
    forget(result.id);
    release_if_idle(pod_id);
    Effects effects;  // no answer carries updates
    leave_pods_without_cores();
    hand_on(effects);
    notes.insert(notes.end(), effects.notes.begin(), effects.notes.end());
    follow_loans(before, {}, notes);
    follow_company(company_before, {}, notes);
    return notes;
  }
  member->missing = 0;
  report_quota(*member, result, notes);
  if (!result.error.empty()) {
    member->stuck = true;
    ++counters_.write_failures;
    if (member->trouble != result.error) {
      Note line = note(Note::Level::kError, "cpuset not applied", *member);
      line.fields.emplace_back("wanted", wanted.cpus.to_string());
      line.fields.emplace_back("error", result.error);
      notes.push_back(std::move(line));
    }
    member->trouble = result.error;
  }
  if (!result.found) return notes;

  // What a file of nobody's gets from above changes by itself.
  const bool nobodys =
      result.inherits && member->role != Role::kExclusive && !runs_with_pod(state_, *member);
  // A lender's record says its own cores.
  const bool runtimes = written_by_runtime(result.cause);
  const bool to_leave = runtimes && is_lent(state_, *member) && matches(*result.found, member->own);
  // What a borrower is lent begins with its start, of which the runtime tells first.
  const CpuSet lent = borrowed(state_, *member);
  const bool to_borrow = runtimes && !lent.empty() && result.found->cpus == wanted.cpus - lent;
  const bool updated = member->pending && member->told && matches(*result.found, *member->told);
  const bool expected = nobodys || to_leave || to_borrow || updated ||
                        matches(*result.found, wanted) ||
                        (member->applied && *member->applied == *result.found);
  const bool own_change = result.cause == Cause::kFence || result.cause == Cause::kResize;
  if (!expected && (!own_change || member->applied)) {
    ++(runtimes ? counters_.late : counters_.drift);
    member->repair_due = true;
    Note line =
        note(runtimes ? Note::Level::kInfo : Note::Level::kWarn,
             runtimes ? "cpuset came late" : "cpuset was changed by somebody else", *member);
    line.fields.emplace_back("at", to_string(result.cause));
    line.fields.emplace_back("found", result.found->cpus.to_string());
    line.fields.emplace_back("wanted", wanted.cpus.to_string());
    notes.push_back(std::move(line));
  }
  if (result.written && member->repair_due) ++counters_.repairs;
  const bool mended = result.written || (matches(*result.found, wanted) && !result.unfinished);
  if (mended) member->repair_due = false;
  if (result.written) {
    member->applied = Applied{.cpus = wanted.cpus,
                              .mems = wanted.mems.empty() ? result.found->mems : wanted.mems};
  } else {
    member->applied = result.found;
  }
  report_inner(*member, result, notes);
  // One that waits for cores stays in trouble wherever its file puts it.
  if (mended && result.error.empty() && member->role != Role::kWaiting) member->trouble.clear();
  if (result.partition) member->applied->partition = *result.partition;
  return notes;
}

}  // namespace pinion::engine
