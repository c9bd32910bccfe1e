// The pod owns its cores: from its first exclusive container on until its sandbox is gone. A
// container that ends leaves its claim to its pod, and the next attempt of it goes on there; one of
// another name, such as the main container after an init container, is served from what no
// container of the pod runs on.
#include <algorithm>
#include <utility>

#include "agent/engine/engine.h"
#include "agent/engine/note.h"
#include "agent/engine/pod_whole.h"

namespace pinion::engine {
namespace {

using topology::Claim;
using topology::Decision;
using topology::Refusal;

auto find_kept(const PodRecord& pod, std::string_view claim) {
  return std::find_if(pod.kept().begin(), pod.kept().end(),
                      [&](const auto& entry) { return entry.second.request.id == claim; });
}

bool preferred_is_free(const topology::Ledger& ledger, const topology::Request& request) {
  return request.preferred.count() >= request.cpus &&
         !request.preferred.intersects(ledger.exclusive());
}

}  // namespace

void Engine::leave_to_pod(Member& member) {
  if (member.pending) take_back(member);
  if (member.role != Role::kExclusive) return;
  Kept& kept = state_.change_kept(state_.pods.find(member.pod_id)->second)[member.name];
  kept = {.request = member.request,
          .own = member.own,
          .why = member.why,
          .since = state_.kept_revision(),
          .of_pod = member.of_pod};
  leave_cores(member, Role::kShared);
  const auto& members = state_.members_of(member.pod_id);
  freed_ = freed_ || std::any_of(members.begin(), members.end(), [&](const Member* one) {
             return one->role == Role::kWaiting && one->claim == member.claim;
           });
}

void Engine::release_cores(Member& member) {
  state_.ledger.release(member.claim);
  leave_cores(member, Role::kShared);
  freed_ = true;
}

void Engine::release_pod(std::string_view pod_id) {
  const auto pod = state_.pods.find(pod_id);
  if (pod == state_.pods.end() || pod->second.kept().empty()) return;
  for (const auto& [name, kept] : std::exchange(state_.change_kept(pod->second), {})) {
    state_.ledger.release(claim_id(pod_id, name));
    freed_ = true;
  }
}

// All its containers were removed: none of them will come again.
void Engine::release_if_idle(std::string_view pod_id) {
  const auto pod = state_.pods.find(pod_id);
  if (pod == state_.pods.end() || !pod->second.stopped.empty() || pod->second.restored) return;
  if (pod->second.members.empty()) release_pod(pod_id);
}

bool Engine::runs_on_cores(std::string_view pod_id) const {
  const auto& members = state_.members_of(pod_id);
  return std::any_of(members.begin(), members.end(),
                     [](const Member* member) { return member->role == Role::kExclusive; });
}

// Another of its name in its pod has its claim, or will have it when its update is done.
bool Engine::has_namesake(const Member& member) const {
  if (state_.ledger.find(member.claim) != nullptr) return true;
  const auto& members = state_.members_of(member.pod_id);
  return std::any_of(members.begin(), members.end(), [&](const Member* one) {
    return one != &member && one->claim == member.claim && one->pending && one->pending->claim;
  });
}

// The member goes on where its name left off. False: nothing of that size is kept for it.
bool Engine::regain(Member& member, const topology::Request& request) {
  const auto pod = state_.pods.find(member.pod_id);
  if (pod == state_.pods.end()) return false;
  const auto kept = pod->second.kept().find(member.name);
  if (kept == pod->second.kept().end()) return false;
  const topology::Request& before = kept->second.request;
  if (before.cpus != request.cpus || before.memory != request.memory) return false;
  member.of_pod = member.of_pod || kept->second.of_pod;
  run_on(member, std::move(state_.change_kept(pod->second).extract(kept).mapped()));
  return true;
}

// No more is kept than the pod's containers can still ask for, as the member is shared: nothing
// under its name, nor for containers to come; of those that have ended, as an init container does
// for good, the oldest go first.
void Engine::trim_kept(const Member& member, const Pod& pod) {
  PodRecord& record = record_of(pod);
  const auto release = [&](const auto& kept) {
    state_.ledger.release(kept->second.request.id);
    state_.change_kept(record).erase(kept);
    freed_ = true;
  };
  if (const auto own = record.kept().find(member.name); own != record.kept().end()) release(own);
  trim_rest(pod);
  while (beyond_whole(record)) {
    const auto oldest = std::min_element(
        record.kept().begin(), record.kept().end(), [](const auto& one, const auto& other) {
          return std::pair(one.first == kRest, one.second.since) <
                 std::pair(other.first == kRest, other.second.since);
        });
    if (oldest == record.kept().end() || oldest->first == kRest) return;
    release(oldest);
  }
}

// What of its pod's may serve the member, out of the ledger: what its name held, what is for those
// to come, where it is planned, and where that is too little all that nobody of the pod runs on:
// not with `to_plan`, where its preferred CPUs are free then.
std::vector<Claim> Engine::withdraw(const Member& member, const topology::Request& request,
                                    bool to_plan) {
  int cpus = request.cpus;
  std::vector<Claim> claims;
  const auto& kept = state_.pods.find(member.pod_id)->second.kept();
  const auto take_out = [&](const Kept& one) {
    claims.push_back(*state_.ledger.find(one.request.id));
    state_.ledger.release(one.request.id);
    cpus -= one.request.cpus;
  };
  const auto its = [&](std::string_view name, const Kept& one) {
    return name == member.name || name == kRest || one.own.cpus.intersects(request.preferred);
  };
  for (const auto& [name, one] : kept) {
    if (its(name, one)) take_out(one);
  }
  if (cpus <= 0 || (to_plan && preferred_is_free(state_.ledger, request))) return claims;
  for (const auto& [name, one] : kept) {
    if (!its(name, one)) take_out(one);
  }
  return claims;
}

// Of what was withdrawn, the pod keeps for others what is whole, up to as many CPUs as are left of
// all that; gives how many are still left then.
int Engine::put_back(const std::vector<Claim>& claims, PodRecord& pod, const Member& member,
                     int taken) {
  int left = -taken;
  for (const Claim& claim : claims) {
    const auto kept = find_kept(pod, claim.id);
    left += kept->second.request.cpus;
  }
  for (const Claim& claim : claims) {
    const auto kept = find_kept(pod, claim.id);
    const int cpus = kept->second.request.cpus;
    const bool others = kept->first != kRest && kept->first != member.name;
    if (others && cpus <= left && !claim.cpus.intersects(state_.ledger.exclusive())) {
      state_.ledger.commit(claim);
      left -= cpus;
    } else {
      state_.change_kept(pod).erase(kept);
      freed_ = true;
    }
  }
  return left;
}

// Cores for the member: what its name left, else near what its pod has besides, else any. With the
// pod's first goes what its others will ask for. A refusal leaves all as it was.
std::optional<Refusal> Engine::reserve(Member& member, const Entitlement& entitlement,
                                       const Pod& pod) {
  topology::Request request = entitlement.request;
  request.id = member.claim;
  member.request = request;
  if (regain(member, request)) return std::nullopt;
  PodRecord& record = record_of(pod);
  if (!record.kept().contains(member.name) && has_namesake(member)) {
    Refusal namesake;
    namesake.need = request.cpus;
    namesake.text = "another container of its name in its pod runs on its cores";
    return namesake;
  }
  const bool first = !member.started() && record.kept().empty() && !runs_on_cores(pod.id);
  const auto to_come = record.kept().find(kRest);
  const int part = to_come == record.kept().end() ? request.cpus : to_come->second.part;
  // For each container the extender promises CPUs of its own, also where an init container was the
  // largest of all: what the pod keeps may be fewer, and elsewhere.
  const bool to_plan = request.planned && !record.kept().contains(member.name);
  const std::vector<Claim> back = withdraw(member, request, to_plan);
  CpuSet near;
  for (const Claim& claim : back) near |= claim.cpus;
  const bool planned = (to_plan && preferred_is_free(state_.ledger, request)) ||
                       (!request.preferred.empty() && request.preferred.is_subset_of(near));
  if (!near.empty() && !planned) request.preferred = near;
  const topology::Outcome outcome = topology::allocate(state_.topology, state_.ledger, request);
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
    for (const Claim& claim : back) state_.ledger.commit(claim);
    return *refusal;
  }
  const auto& decision = std::get<Decision>(outcome);
  state_.ledger.commit(decision.claim);
  const int left = put_back(back, record, member, request.cpus);
  Rest rest{.cpus = unclaimed(record, &member) - request.cpus, .part = part};
  if (!first) rest.cpus = std::min(rest.cpus, left);
  if (entitlement.request.planned) {
    // Its own may be more than it asks for: an init container's are those of the main one.
    const CpuSet all_planned = entitlement.request.preferred | entitlement.beside;
    // Parts of CPUs may add up to whole ones, which those who ask for them will not get.
    if (first) rest.cpus = std::min(rest.cpus, std::max(0, all_planned.count() - request.cpus));
    // What is held already stays where it is.
    rest.planned = (first ? all_planned : near) - state_.ledger.exclusive();
  }
  if (rest.cpus > 0 && !first) keep_rest(request, pod.id, rest, near);
  if (rest.cpus > 0 && first) {
    const bool anywhere = !entitlement.beside.empty();  // it is planned where they are to be
    if (auto too_few = reserve_rest(request, pod.id, rest, entitlement.beside, anywhere)) {
      state_.ledger.release(request.id);
      too_few->text = "its pod needs " + std::to_string(request.cpus + rest.cpus) + " CPUs, " +
                      std::to_string(request.cpus) + " for this container and " +
                      std::to_string(rest.cpus) +
                      " for its others, which have no room beside it: " + too_few->text;
      return too_few;
    }
  }
  assign(member, request, decision);
  return std::nullopt;
}

// Another number of cores for the member, and memory: of free cores, or else also of what its pod
// keeps for others. A refusal leaves all as it was.
std::optional<Refusal> Engine::resize_cores(Member& member, const topology::Request& request,
                                            const Pod& pod) {
  topology::Outcome outcome = topology::resize(state_.topology, state_.ledger, request);
  const int more = request.cpus - member.request.cpus;
  if (std::holds_alternative<Decision>(outcome) || more <= 0) {
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) return *refusal;
    assign(member, request, std::get<Decision>(outcome));
    return std::nullopt;
  }
  PodRecord& record = record_of(pod);
  topology::Request of_pod = request;
  of_pod.cpus = more;
  const std::vector<Claim> back = withdraw(member, of_pod, false);
  CpuSet near;
  for (const Claim& claim : back) near |= claim.cpus;
  topology::Request wanted = request;
  wanted.preferred |= near;
  outcome = topology::resize(state_.topology, state_.ledger, wanted);
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
    for (const Claim& claim : back) state_.ledger.commit(claim);
    return *refusal;
  }
  const auto to_come = record.kept().find(kRest);
  const int part = to_come == record.kept().end() ? more : to_come->second.part;
  assign(member, request, std::get<Decision>(outcome));
  const int left = std::min(put_back(back, record, member, more), unclaimed(record, nullptr));
  if (left > 0) keep_rest(request, pod.id, {.cpus = left, .part = part, .planned = {}}, near);
  return std::nullopt;
}

// Cores for one that has none, or has lost some: what its namesake has left, or of the free ones.
// False: there are none.
bool Engine::place_anew(Member& member) {
  if (regain(member, member.request)) return true;
  if (has_namesake(member)) return false;
  topology::Request request = member.request;
  request.preferred = member.own.cpus & state_.topology.online;
  request.planned = false;
  const Bytes others = leave_out_memory(member);
  const topology::Outcome outcome = topology::allocate(state_.topology, state_.ledger, request);
  const auto* decision = std::get_if<Decision>(&outcome);
  if (decision != nullptr) assign(member, request, *decision);
  count_again(member, others);
  return decision != nullptr;
}

// Where claims were given back: those who wait for cores are served, then everybody else. False:
// none were.
bool Engine::hand_on(Effects& effects) {
  if (!std::exchange(freed_, false)) return false;
  offer_cores(effects);
  fence_->released(state_, effects);
  return true;
}

// Those who wait for cores get them, in the order of their ids.
void Engine::offer_cores(Effects& effects) {
  std::vector<const Member*> served;
  for (auto& [id, member] : state_.members) {
    if (member.role != Role::kWaiting || member.pending) continue;
    if (joins_instead(member) || !place_anew(member)) continue;
    served.push_back(&member);
    ++counters_.exclusive_placed;
    Note line = note(Note::Level::kInfo, "got cores that it was waiting for", member);
    line.fields.emplace_back("cpus", member.own.cpus.to_string());
    line.fields.emplace_back("why", topology::to_string(member.why));
    effects.notes.push_back(std::move(line));
  }
  if (served.empty()) return;
  fence_->allocated_running(state_, effects);
  for (const Member* member : served) {
    if (member->started()) state_.work.push(member->id, Cause::kResize);
  }
}

}  // namespace pinion::engine
