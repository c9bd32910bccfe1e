// Decided against applied: what the files were found to say, and what follows.
#include <algorithm>
#include <utility>

#include "agent/engine/engine.h"
#include "agent/engine/note.h"

namespace pinion::engine {
namespace {

constexpr int kMissingAuditsBeforeGone = 2;

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
    if (!it->second.started) continue;
    it->second.stuck = false;
    return fence_->enforce(state_, it->second, pool(), Cause::kAudit);
  }
  return std::nullopt;
}

// Whether a partition holds the member's cores now, and who must do it if none does.
Aftermath Engine::report_partition(Member& member, const Enforced& result) {
  Aftermath after;
  if (!result.partition || member.role != Role::kExclusive) return after;
  const bool guards = result.partition_error.empty() && result.partition->cpus == member.own.cpus;
  if (guards) {
    if (!member.guarded) ++counters_.guarded;
    member.guarded = true;
    member.unguarded_why.clear();
    return after;
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
    after.notes.push_back(std::move(line));
  }
  after.now = fence_->unguarded(state_, member.id);
  return after;
}

void Engine::report_quota(Member& member, const Enforced& result, std::vector<Note>& notes) {
  if (result.pod_quota_before) state_.past[member.pod_id].quota = result.pod_quota_before;
  if (!result.quota_seen) return;
  const bool news = member.quota_trouble != result.quota_error;
  member.quota_trouble = result.quota_error;
  if (result.quota_error.empty()) {
    if (member.role == Role::kShared) member.unlimited = false;
    return;
  }
  ++counters_.write_failures;
  if (!news) return;
  Note line = note(Note::Level::kWarn, "CPU quota is not as it should be", member);
  line.fields.emplace_back("why", result.quota_error);
  notes.push_back(std::move(line));
}

// Until the next Synchronize those below are kept off by their own files.
Aftermath Engine::lose_group(const std::string& name, QosGroup& group, const std::string& why) {
  group.keeps = false;
  ++counters_.qos_groups_lost;
  Aftermath after;
  after.notes.push_back(
      {.level = Note::Level::kWarn,
       .text = "a QoS group cannot be kept narrow, its containers are by their own files instead",
       .fields = {{"cgroup", name}, {"why", why}}});
  after.now = fence_->unguarded(state_, {});
  return after;
}

// What is found and not expected was written by somebody else: once may be a mistake.
Aftermath Engine::mend_group(const std::string& name, QosGroup& group, const CpuSet& found) {
  ++counters_.drift;
  if (group.mended) {
    return lose_group(name, group,
                      "somebody else keeps writing its file, as systemd does where the slice has "
                      "AllowedCPUs and systemd cannot be told");
  }
  group.mended = true;
  Aftermath after;
  after.notes.push_back({.level = Note::Level::kWarn,
                         .text = "a QoS group's cpuset was changed by somebody else",
                         .fields = {{"cgroup", name}, {"found", found.to_string()}}});
  return after;
}

Aftermath Engine::report_group(const std::string& name, QosGroup& group, const Enforced& result) {
  Aftermath after = compare_group(name, group, result);
  if (result.found && std::exchange(group.slice_error, result.slice_error) != result.slice_error &&
      !result.slice_error.empty()) {
    after.notes.push_back(
        {.level = result.limit ? Note::Level::kWarn : Note::Level::kInfo,
         .text = "systemd cannot be told a slice's CPUs, its cpuset file is written instead",
         .fields = {{"cgroup", name}, {"why", result.slice_error}}});
  }
  return after;
}

Aftermath Engine::compare_group(const std::string& name, QosGroup& group, const Enforced& result) {
  if (result.gone) {
    const auto below = [&](const auto& entry) {
      return entry.second.started && entry.second.qos_group == name;
    };
    const bool used = std::any_of(state_.members.begin(), state_.members.end(), below);
    group.stuck = true;
    group.applied.reset();
    if (used && group.keeps) return lose_group(name, group, "it is not where the pods' paths say");
    return {};
  }
  const bool same_limit = !result.found || std::exchange(group.limit, result.limit) == result.limit;
  const CpuSet wanted = group_target(state_, name, group, pool());
  const auto expected = std::exchange(group.applied, std::nullopt);
  if (result.found) group.applied = result.written ? wanted : result.found->cpus;
  if (!result.error.empty()) {
    group.stuck = true;
    ++counters_.write_failures;
    return group.keeps ? lose_group(name, group, result.error) : Aftermath();
  }
  group.stuck = false;
  // Under another limit the group was changed by systemd, which from now on changes it for us.
  const bool foreign = same_limit && expected && result.found && result.found->cpus != *expected &&
                       result.found->cpus != wanted;
  if (!foreign || !group.keeps) return {};
  if (result.written) ++counters_.repairs;
  return mend_group(name, group, result.found->cpus);
}

Aftermath Engine::report(const Enforced& result) {
  if (const auto group = state_.qos_groups.find(result.id); group != state_.qos_groups.end()) {
    return report_group(group->first, group->second, result);
  }
  Member* member = state_.find(result.id);
  if (member == nullptr) return {};
  Aftermath after = report_partition(*member, result);
  std::vector<Note>& notes = after.notes;
  const Cpuset wanted = target_of(*member);

  if (result.gone) {
    if (result.cause != Cause::kAudit || ++member->missing < kMissingAuditsBeforeGone) {
      member->stuck = true;  // its StopContainer is on the way
      return after;
    }
    ++counters_.lost_stops;
    notes.push_back(
        note(Note::Level::kWarn, "container is gone, its stop was never told", *member));
    forget(result.id);
    return after;
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
  if (!result.found) return after;

  // What a file of nobody's gets from above changes by itself.
  const bool nobodys = result.inherits && member->role == Role::kShared;
  const bool expected = nobodys || matches(*result.found, wanted) ||
                        (member->applied && *member->applied == *result.found);
  const bool own_change = result.cause == Cause::kFence || result.cause == Cause::kResize;
  if (!expected && (!own_change || member->applied)) {
    // The runtime writes its own record at a start and at an update.
    const bool runtimes = result.cause == Cause::kStart || result.cause == Cause::kPostStart ||
                          result.cause == Cause::kPostUpdate;
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
  if (result.written || matches(*result.found, wanted)) member->repair_due = false;
  if (result.written) {
    member->applied = Applied{.cpus = wanted.cpus,
                              .mems = wanted.mems.empty() ? result.found->mems : wanted.mems};
  } else {
    member->applied = result.found;
  }
  // One that waits for cores stays in trouble wherever its file puts it.
  const bool mended = result.written || matches(*result.found, wanted);
  if (mended && result.error.empty() && !member->waiting) member->trouble.clear();
  if (result.partition) member->applied->partition = *result.partition;
  return after;
}

}  // namespace pinion::engine
