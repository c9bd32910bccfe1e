// The pod owns its cores: from its first exclusive container on until its sandbox is gone. A
// container that ends leaves its claim to its pod, and the next attempt of it goes on there; one of
// another name, such as the main container after an init container, is served from what no
// container of the pod runs on.
//
// Where the runtime tells the CPUs of the pod as a whole, those of its containers to come are
// claimed with those of the first, so that it is admitted whole or not at all. That claim is a set
// of CPUs as close together as can be, not yet split among the containers: how large each of them
// is, nobody tells, unless they are planned: then the set is where they are planned, in however
// many domains. Else, where the first must not leave its domain, neither will the others, and equal
// ones are the likely case: the set lies in one domain, or in parts of the first one's size that
// each do.
#include <algorithm>
#include <utility>

#include "agent/engine/engine.h"
#include "agent/engine/note.h"
#include "topology/adopt.h"

namespace pinion::engine {
namespace {

using topology::Claim;
using topology::Decision;
using topology::Refusal;

constexpr std::string_view kRest;  // the name under which a pod keeps what is for those to come

auto find_kept(const PodRecord& pod, std::string_view claim) {
  return std::find_if(pod.kept().begin(), pod.kept().end(),
                      [&](const auto& entry) { return entry.second.request.id == claim; });
}

using Outcome = topology::Outcome;

// In one domain, else in equal parts of `part` CPUs, each in one.
Outcome allocate_in_parts(const topology::Topology& topology, topology::Ledger ledger,
                          const topology::Request& whole, int part) {
  Outcome outcome = topology::allocate(topology, ledger, whole);
  if (std::holds_alternative<Decision>(outcome) || whole.cpus % part != 0) return outcome;
  Decision all;
  for (int i = 0; i < whole.cpus / part; ++i) {
    topology::Request request = whole;
    request.id += std::to_string(i);
    request.cpus = part;
    outcome = topology::allocate(topology, ledger, request);
    const auto* one = std::get_if<Decision>(&outcome);
    if (one == nullptr) return outcome;
    ledger.commit(one->claim);
    if (i == 0) all = *one;
    all.cpus |= one->cpus;
    all.claim.cpus |= one->claim.cpus;
    all.claim.mems |= one->claim.mems;
  }
  all.claim.id = whole.id;
  return all;
}

// Exactly there; nothing where that cannot be. Their hyper-threads are as they were planned, one or
// all of a core, which need not be as the first one's are.
std::optional<Outcome> allocate_as_planned(const topology::Topology& topology,
                                           const topology::Ledger& ledger,
                                           topology::Request request, const CpuSet& planned) {
  request.preferred = planned;
  request.align = topology::Align::kNone;
  for (;; request.smt = topology::Smt::kPreferFull) {
    Outcome outcome = topology::allocate(topology, ledger, request);
    const auto* decision = std::get_if<Decision>(&outcome);
    if (decision != nullptr && decision->claim.cpus == planned) return outcome;
    if (request.smt == topology::Smt::kPreferFull) return std::nullopt;
  }
}

bool preferred_is_free(const topology::Ledger& ledger, const topology::Request& request) {
  return request.preferred.count() >= request.cpus &&
         !request.preferred.intersects(ledger.exclusive());
}

// Whether they would find places if nobody were there but `first`.
bool fits_idle(const topology::Topology& topology, const topology::Ledger& ledger,
               const topology::Request& whole, int part, std::string_view first) {
  topology::Ledger idle(ledger.reserved(), ledger.strict());
  idle.set_shared_memory(ledger.shared_memory());
  if (const Claim* claim = ledger.find(first)) idle.commit(*claim);
  return std::holds_alternative<Decision>(allocate_in_parts(topology, idle, whole, part));
}

}  // namespace

void Engine::leave_to_pod(Member& member) {
  if (member.role != Role::kExclusive) return;
  Kept& kept = state_.change_kept(state_.pods.find(member.pod_id)->second)[member.name];
  kept = {.request = member.request,
          .own = member.own,
          .why = member.why,
          .since = state_.kept_revision()};
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

// The member goes on where its name left off. False: nothing of that size is kept for it.
bool Engine::regain(Member& member, const topology::Request& request) {
  const auto pod = state_.pods.find(member.pod_id);
  if (pod == state_.pods.end()) return false;
  const auto kept = pod->second.kept().find(member.name);
  if (kept == pod->second.kept().end()) return false;
  const topology::Request& before = kept->second.request;
  if (before.cpus != request.cpus || before.memory != request.memory) return false;
  run_on(member, std::move(state_.change_kept(pod->second).extract(kept).mapped()));
  return true;
}

// CPUs of the pod that no container has yet, by what the runtime tells of the pod as a whole; those
// of `except` count as not had. None where it tells nothing.
int Engine::unclaimed(const Pod& pod, const Member* except) const {
  auto milli = whole_of(state_.pods.find(pod.id)->second);
  if (!milli) return 0;
  for (const Member* member : state_.members_of(pod.id)) {
    if (member == except) continue;
    *milli -= member->role == Role::kExclusive ? std::int64_t{1000} * member->request.cpus
                                               : milli_cpus(member->resources).value_or(0);
  }
  for (const auto& [name, kept] : state_.pods.find(pod.id)->second.kept()) {
    if (name != kRest) *milli -= std::int64_t{1000} * kept.request.cpus;
  }
  return static_cast<int>(std::clamp<std::int64_t>(*milli / 1000, 0, CpuSet::kCapacity));
}

// Claims the rest for the pod's containers to come, as the one of request `like` asks for its own,
// but without a promise of memory: how much of it is for whom nobody tells. `anywhere`: in whatever
// domains, `near` first.
std::optional<Refusal> Engine::reserve_rest(const topology::Request& like, std::string_view pod_id,
                                            const Rest& rest, const CpuSet& near, bool anywhere) {
  topology::Request request = like;
  request.id = claim_id(pod_id, kRest);
  request.cpus = rest.cpus;
  request.memory_policy = topology::MemoryPolicy::kAny;
  request.memory = 0;
  request.preferred = near;
  std::optional<Outcome> outcome;
  if (!rest.planned.empty()) {
    outcome = allocate_as_planned(state_.topology, state_.ledger, request, rest.planned);
  }
  if (!outcome && request.strength == topology::Strength::kRequired && !anywhere) {
    outcome = allocate_in_parts(state_.topology, state_.ledger, request, rest.part);
    // Where equal ones would not even fit alone, they are others, which may find places all the
    // same.
    if (std::holds_alternative<Refusal>(*outcome) &&
        !fits_idle(state_.topology, state_.ledger, request, rest.part, like.id)) {
      outcome.reset();
    }
  }
  if (!outcome) {
    request.strength = topology::Strength::kPreferred;
    if (request.smt == topology::Smt::kFullCore) request.smt = topology::Smt::kPreferFull;
    outcome = topology::allocate(state_.topology, state_.ledger, request);
  }
  if (const auto* refusal = std::get_if<Refusal>(&*outcome)) return *refusal;
  const auto& decision = std::get<Decision>(*outcome);
  state_.ledger.commit(decision.claim);
  state_.change_kept(state_.pods.find(pod_id)->second)[std::string(kRest)] = {
      .request = std::move(request),
      .own = {.cpus = decision.cpus, .mems = decision.claim.mems},
      .why = decision.why,
      .part = rest.part};
  return std::nullopt;
}

// Why the pod has no more CPUs of which the member could have so many for itself; empty when it
// has. A container that states no limit is given that of its pod (spec.resources) by the kubelet.
std::string Engine::beyond_its_pod(const Member& member, const topology::Request& request) const {
  const auto whole = whole_of(state_.pods.find(member.pod_id)->second);
  if (!whole) return {};
  std::int64_t left = *whole;
  for (const Member* other : state_.members_of(member.pod_id)) {
    const bool has_own = other->role == Role::kExclusive && other->name != member.name;
    if (has_own) left -= std::int64_t{1000} * other->request.cpus;
  }
  if (left >= std::int64_t{1000} * request.cpus) return {};
  return "its pod has " + std::to_string(*whole / 1000) + " CPUs as a whole, and its other " +
         "containers leave " + std::to_string(std::max<std::int64_t>(left, 0) / 1000) + " of them";
}

// CPUs of the pod as a whole in thousandths: at least what its containers cannot have otherwise, as
// the limit of each is within that of its pod, and so are all requests together.
std::optional<std::int64_t> Engine::whole_of(const PodRecord& pod) {
  if (!pod.milli) return std::nullopt;
  std::int64_t most = *pod.milli;
  std::int64_t requested = 0;
  for (const Member* member : pod.members) {
    const auto stated = milli_cpus(member->resources);
    if (!stated) continue;
    most = std::max(most, *stated);
    const bool its_own = stated != pod.told_milli && !policy::requests_less(member->resources);
    if (its_own) requested += *stated;
  }
  return std::max(most, requested);
}

// What the pod has as a whole goes with its containers' sizes; one that has all of it states none
// of its own, or is alone.
void Engine::note_resize(PodRecord& pod, const Resources& before, const Resources& after) {
  const auto from = milli_cpus(before);
  const auto to = milli_cpus(after);
  if (!pod.milli || !from || !to) return;
  pod.milli = from == pod.told_milli || from == pod.milli ? *to : *pod.milli + *to - *from;
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

// Whether its containers have and keep more than there is.
bool Engine::beyond_whole(const PodRecord& pod) {
  const auto whole = whole_of(pod);
  if (!whole) return false;
  std::int64_t left = *whole;
  for (const Member* member : pod.members) {
    const std::int64_t stated = milli_cpus(member->resources).value_or(0);
    if (member->role == Role::kExclusive) {
      left -= std::int64_t{1000} * member->request.cpus;
    } else if (stated < *whole) {  // else it is the pod's
      left -= stated;
    }
  }
  for (const auto& [name, kept] : pod.kept()) {
    if (name != kRest) left -= std::int64_t{1000} * kept.request.cpus;
  }
  return left < 0;
}

void Engine::trim_rest(const Pod& pod) {
  PodRecord& record = record_of(pod);
  const auto rest = record.kept().find(kRest);
  if (rest == record.kept().end()) return;
  const Rest left{.cpus = unclaimed(pod, nullptr), .part = rest->second.part};
  if (left.cpus >= rest->second.request.cpus) return;
  const Kept before = std::move(state_.change_kept(record).extract(rest).mapped());
  state_.ledger.release(before.request.id);
  freed_ = true;
  if (left.cpus > 0) keep_rest(before.request, pod.id, left, before.own.cpus);
}

// Of what the pod had for its containers to come already, which must not be lost.
void Engine::keep_rest(const topology::Request& like, std::string_view pod_id, const Rest& rest,
                       const CpuSet& near) {
  if (reserve_rest(like, pod_id, rest, near, false)) reserve_rest(like, pod_id, rest, near, true);
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
std::optional<Refusal> Engine::reserve(Member& member, const Wish& wish, const Pod& pod) {
  topology::Request request = wish.request;
  request.id = member.claim;
  member.request = request;
  if (regain(member, request)) return std::nullopt;
  PodRecord& record = record_of(pod);
  if (!record.kept().contains(member.name) && state_.ledger.find(request.id) != nullptr) {
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
  Rest rest{.cpus = unclaimed(pod, &member) - request.cpus, .part = part};
  if (!first) rest.cpus = std::min(rest.cpus, left);
  if (wish.request.planned) {
    // Its own may be more than it asks for: an init container's are those of the main one.
    const CpuSet all_planned = wish.request.preferred | wish.beside;
    // Parts of CPUs may add up to whole ones, which those who ask for them will not get.
    if (first) rest.cpus = std::min(rest.cpus, std::max(0, all_planned.count() - request.cpus));
    // What is held already stays where it is.
    rest.planned = (first ? all_planned : near) - state_.ledger.exclusive();
  }
  if (rest.cpus > 0 && !first) keep_rest(request, pod.id, rest, near);
  if (rest.cpus > 0 && first) {
    const bool anywhere = !wish.beside.empty();  // it is planned where they are to be
    if (auto too_few = reserve_rest(request, pod.id, rest, wish.beside, anywhere)) {
      state_.ledger.release(request.id);
      too_few->text = "its pod's other containers need " + std::to_string(rest.cpus) +
                      " CPUs besides: " + too_few->text;
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
  const int left = std::min(put_back(back, record, member, more), unclaimed(pod, nullptr));
  if (left > 0) keep_rest(request, pod.id, {.cpus = left, .part = part, .planned = {}}, near);
  return std::nullopt;
}

// Cores for one that has none, or has lost some: what its namesake has left, or of the free ones.
// False: there are none.
bool Engine::place_anew(Member& member) {
  if (regain(member, member.request)) return true;
  if (state_.ledger.find(member.claim) != nullptr) return false;  // its namesake's
  topology::Request request = member.request;
  request.preferred = member.own.cpus & state_.topology.online;
  request.planned = false;
  leave_out_memory(member.pod_id);
  const topology::Outcome outcome = topology::allocate(state_.topology, state_.ledger, request);
  const auto* decision = std::get_if<Decision>(&outcome);
  if (decision != nullptr) assign(member, request, *decision);
  count_memory_of(member.pod_id);
  return decision != nullptr;
}

std::vector<KeptCores> Engine::kept() const {
  std::vector<KeptCores> all;
  for (const auto& [pod_id, pod] : state_.pods) {
    for (const auto& [name, kept] : pod.kept()) {
      all.push_back(
          {.pod_id = pod_id,
           .container = name,
           .cpus = name == kRest ? state_.ledger.find(kept.request.id)->cpus : kept.own.cpus,
           .count = kept.request.cpus,
           .memory = kept.request.memory,
           .part = kept.part});
    }
    for (const Member* member : pod.members) {
      if (member->role != Role::kExclusive || member->started()) continue;
      all.push_back({.pod_id = pod_id,
                     .container = member->name,
                     .cpus = member->own.cpus,
                     .count = member->request.cpus,
                     .memory = member->request.memory});
    }
  }
  return all;
}

// What an agent before this one has saved, as it is asked for now. What is for those to come nobody
// asks for: it stays as it is.
Wish Engine::wish_for_kept(const Pod& pod, const KeptCores& saved) const {
  const int count = saved.cpus.count();
  if (saved.container == kRest) {
    Wish wish;
    wish.kind = Wish::Kind::kExclusive;
    const Labels labels = policy::labels_of(pod, saved.container);
    wish.request.job = labels.job;
    wish.request.task_group = labels.task_group;
    wish.request.profile = labels.profile;
    wish.request.cpus = count;
    wish.request.strength = topology::Strength::kPreferred;
    wish.request.smt = topology::Smt::kPack;
    wish.request.memory_policy = topology::MemoryPolicy::kAny;
    return wish;
  }
  Resources asked;
  asked.period = CpuQuota().period;
  asked.quota = count * static_cast<std::int64_t>(CpuQuota().period);
  asked.memory = static_cast<std::int64_t>(saved.memory);
  Wish wish = wish_of(pod, saved.container, asked, settings_.defaults);
  topology::forget_plan(wish.request);
  if (isolates_by_partition()) wish.request.use_isolated = false;
  return wish;
}

// The pod keeps that again, unless it is somebody else's now or more than the pod has left. A text:
// why not.
std::string Engine::keep_again(const Pod& pod, const KeptCores& saved) {
  PodRecord& record = record_of(pod);
  Wish wish = wish_for_kept(pod, saved);
  if (wish.kind != Wish::Kind::kExclusive) return wish.text;
  topology::Request& request = wish.request;
  request.id = claim_id(pod.id, saved.container);
  if (state_.ledger.find(request.id) != nullptr) return "its container runs elsewhere";
  if (saved.container == kRest && record.milli) {
    const int left = unclaimed(pod, nullptr);
    if (saved.count > left) return "its pod has " + std::to_string(left) + " CPUs left";
  }
  const Outcome outcome = topology::adopt(state_.topology, state_.ledger, request, saved.cpus);
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) return refusal->text;
  const auto& decision = std::get<Decision>(outcome);
  state_.ledger.commit(decision.claim);
  request.cpus = saved.count;
  record.restored = true;
  state_.change_kept(record)[saved.container] = {
      .request = request,
      .own = {.cpus = decision.cpus, .mems = decision.claim.mems},
      .why = decision.why,
      .part = saved.part};
  return {};
}

void Engine::restore_kept(const Pod& pod, const KeptCores& saved, Effects& effects) {
  const Claim* there = state_.ledger.find(claim_id(pod.id, saved.container));
  if (there != nullptr && saved.cpus.is_subset_of(there->cpus)) return;  // it runs there again
  const std::string why = keep_again(pod, saved);
  Note line{.level = Note::Level::kInfo,
            .text = "the pod keeps its cores over the agent's restart",
            .fields = {{"namespace", pod.name_space},
                       {"pod", pod.name},
                       {"container", saved.container},
                       {"cpus", saved.cpus.to_string()}}};
  if (!why.empty()) {
    line.level = Note::Level::kWarn;
    line.text = "the pod does not get back the cores that it kept";
    line.fields.emplace_back("why", why);
  }
  effects.notes.push_back(std::move(line));
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
    if (member.role != Role::kWaiting || !place_anew(member)) continue;
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
