// Containers that share their pod's cores (with_pod.h), "guests" of those that hold them: who does
// so, and whose files follow when the cores move, end or come.
#include <algorithm>
#include <utility>
#include <vector>

#include "agent/engine/engine.h"
#include "agent/engine/note.h"
#include "agent/engine/pod_whole.h"

namespace pinion::engine {
namespace {

CpuSet cpus_of(const Company& company) {
  CpuSet cpus;
  for (const auto& [id, its] : company.guests) cpus |= its.cpus;
  return cpus;
}

}  // namespace

// Whether the member would share the cores of its pod, of which it asks for so many CPUs.
bool Engine::is_of_pod(const PodRecord& pod, const Member& member, int cpus) {
  return pod.shares && !member.lending.borrows && is_all_of(pod, cpus);
}

// The member would share, and is beyond its pod, which is `why`: from now on it runs on the cores
// that the pod's containers share, while there are some, and else on the shared CPUs.
void Engine::join_pod(Member& member, std::string why) {
  member.role = Role::kShared;
  member.of_pod = true;
  any_with_pod_ = true;
  member.trouble.clear();
  if (!runs_with_pod(state_, member)) {
    member.shared_why = std::move(why);
  } else {
    note_guest(member);
  }
}

void Engine::note_guest(Member& member) {
  member.shared_why = kWithPod;
  member.unlimited = member.unlimited || member.resources.quota.value_or(0) > 0;
}

// One that is found exactly on cores that its pod has for others has shared these, whatever the
// sizes are: an agent before this one may have seen the pod resized, of which its sandbox does not
// tell. False: it is on no such cores.
bool Engine::join_where_found(Member& member, const topology::Request& request,
                              const CpuSet& seen) {
  PodRecord& pod = state_.pods.find(member.pod_id)->second;
  if (!pod.shares || !pod.milli || member.lending.borrows) return false;
  CpuSet cpus;
  std::vector<bool*> hosts;
  int most = request.cpus;
  const auto consider = [&](std::string_view name, const topology::Request& its, const CpuSet& own,
                            bool& of_pod) {
    if (name == kRest || name == member.name || !own.is_subset_of(seen)) return;
    cpus |= own;
    hosts.push_back(&of_pod);
    most = std::max(most, its.cpus);
  };
  for (Member* one : pod.members) {
    if (one->role == Role::kExclusive)
      consider(one->name, one->request, one->own.cpus, one->of_pod);
  }
  for (auto& [name, kept] : state_.change_kept(pod)) {
    consider(name, kept.request, kept.own.cpus, kept.of_pod);
  }
  if (hosts.empty() || cpus != seen) return false;
  for (bool* of_pod : hosts) *of_pod = true;
  constexpr std::int64_t per_cpu = 1000;
  pod.milli = per_cpu * most;
  member.request = request;
  member.request.id = member.claim;
  join_pod(member, {});
  count_memory(member);
  return true;
}

Company Engine::company() {
  if (!any_with_pod_) return {};
  Company company = company_of(state_);
  any_with_pod_ = std::any_of(state_.members.begin(), state_.members.end(), [](const auto& entry) {
    const Member& member = entry.second;
    return member.with_pod() || (member.pending && member.pending->size.with_pod());
  });
  return company;
}

// Where a pod has no cores any more, those that would share some wait for cores of their own.
void Engine::leave_pods_without_cores() {
  if (!any_with_pod_) return;
  for (auto& [id, member] : state_.members) {
    if (!member.with_pod() || member.pending || member.lending.borrows) continue;
    const PodRecord& pod = state_.pods.find(member.pod_id)->second;
    if (runs_with_pod(state_, member) || !leaves(pod, member, member.request.cpus)) {
      continue;
    }
    member.role = Role::kWaiting;
    member.trouble =
        "its pod holds no cores any more and no others are free: it runs on shared CPUs";
    freed_ = true;
  }
}

// One that waits for cores beyond its pod, as another has these meanwhile, shares them.
bool Engine::joins_instead(Member& member) {
  if (!member.of_pod) return false;
  const PodRecord& pod = state_.pods.find(member.pod_id)->second;
  std::string why = beyond_its_pod(pod, member, member.request);
  if (why.empty()) return false;
  join_pod(member, std::move(why));
  return true;
}

void Engine::follow_company(const Company& before, std::string_view starting,
                            std::vector<Note>& notes) {
  const Company now = company();
  const auto look_at = [&](Member& member) {
    if (!member.started()) return;
    member.stuck = false;
    state_.work.push(member.id, member.id == starting ? Cause::kStart : Cause::kFence);
  };
  for (const auto& [id, cores] : before.guests) {
    Member* member = state_.find(id);
    if (member == nullptr || now.guests.contains(id)) continue;
    if (member->role != Role::kExclusive) {
      member->unbound = member->unbound || !cores.mems.empty();
    }
    if (member->with_pod()) {
      const PodRecord& pod = state_.pods.find(member->pod_id)->second;
      member->shared_why = beyond_its_pod(pod, *member, member->request);
      if (member->shared_why.empty()) member->shared_why = "its pod holds no cores to share";
    }
    Note line = note(Note::Level::kInfo, "runs on the cores of its pod no longer", *member);
    line.fields.emplace_back("cpus", target_of(*member).cpus.to_string());
    notes.push_back(std::move(line));
    look_at(*member);
  }
  for (const std::string& id : now.hosts) {
    if (before.hosts.contains(id)) continue;
    Member& member = *state_.find(id);
    if (!fence_->makes_partitions()) continue;
    // It would keep those beside it off.
    if (member.guarded) state_.leave_partition(member, member.own.cpus);
    Note line = note(member.isolate ? Note::Level::kWarn : Note::Level::kInfo,
                     "no partition, as others of its pod share its cores", member);
    line.fields.emplace_back("cpus", member.own.cpus.to_string());
    notes.push_back(std::move(line));
    look_at(member);
  }
  // What no partition holds is held by the files of the others.
  if (fence_->makes_partitions() && !cpus_of(now).is_subset_of(cpus_of(before))) {
    fence_->unguarded(state_, {});
  }
  for (const auto& [id, cores] : now.guests) {
    const auto was = before.guests.find(id);
    if (was != before.guests.end() && was->second == cores) continue;
    Member& member = *state_.find(id);
    note_guest(member);
    if (id == starting) {  // it may have joined after its start was seen to
      fence_->starting(state_, member);
    } else {
      look_at(member);
    }
  }
}

}  // namespace pinion::engine
