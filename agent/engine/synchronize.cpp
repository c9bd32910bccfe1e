// A connection begins with the list of all that exists. Whoever runs keeps its cores: what the
// agent remembers comes first, then what the cgroup's own file says, then the runtime's record.
// Then pods keep what an agent before this one has saved of containers that do not run. Only then
// are containers placed that started while nobody was looking.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "agent/engine/engine.h"
#include "agent/engine/pod_whole.h"
#include "topology/adopt.h"

namespace pinion::engine {
namespace {

bool is_live(const Container& container) {
  return container.state != ContainerState::kStopped;
}

bool has_started(const Container& container) {
  return container.state == ContainerState::kRunning || container.state == ContainerState::kPaused;
}

// What the runtime's record says of a container's CPUs and memory.
Cpuset recorded(const Container& container) {
  const auto record = CpuSet::parse(container.resources.cpus);
  const auto mems = NodeSet::parse(container.resources.mems);
  return {.cpus = record ? *record : CpuSet(), .mems = mems ? *mems : NodeSet()};
}

// Only we take the quota of a Guaranteed container away, in its record where it has cores of its
// own.
bool has_no_quota(const Member& member, const Container& container) {
  return member.qos == Qos::kGuaranteed && container.resources.quota.value_or(0) < 0;
}

// Where the container runs now, by its file or else by the runtime's record.
Cpuset runs_on(const Container& container, const std::map<std::string, Applied>& files) {
  if (const auto file = files.find(container.id); file != files.end()) {
    return {.cpus = file->second.cpus, .mems = file->second.mems};
  }
  return recorded(container);
}

}  // namespace

// Containers that have ended meanwhile leave their cores to their pods, pods to everybody.
void Engine::drop_unlisted(const Synchronize& event) {
  std::set<std::string_view> live;
  std::set<std::string_view> running;  // pods with one of these
  for (const Container& container : event.containers) {
    if (is_live(container)) {
      live.insert(container.id);
      running.insert(container.pod_id);
    }
    const auto pod = state_.pods.find(container.pod_id);
    if (is_live(container) && pod != state_.pods.end()) pod->second.stopped.erase(container.id);
  }
  std::set<std::string_view> pods;
  for (const Pod& pod : event.pods) pods.insert(pod.id);
  std::vector<std::string> gone;
  for (const auto& [id, member] : state_.members) {
    if (!live.contains(id) || !pods.contains(member.pod_id)) gone.push_back(id);
  }
  for (const std::string& id : gone) forget(id);
  std::erase_if(state_.pods, [&](const auto& entry) {
    if (pods.contains(entry.first)) return false;
    release_pod(entry.first);
    return true;
  });
  // A runtime that tells the processes of sandboxes tells by none that this one's has ended.
  const bool tells = std::any_of(event.pods.begin(), event.pods.end(),
                                 [](const Pod& pod) { return pod.pid != 0; });
  for (const Pod& pod : event.pods) {
    const bool idle = state_.members_of(pod.id).empty() && !running.contains(pod.id);
    if (tells && pod.pid == 0 && idle) release_pod(pod.id);
  }
  state_.qos_groups.clear();  // to be seen and tried anew
}

// What the runtime and the cgroup say of it now.
void Engine::observe(Member& member, const Container& container, const Synchronize& event) {
  if (!member.started() && has_started(container)) note_start(member, Life::kFound);
  member.stuck = false;
  if (const auto file = event.files.find(container.id); file != event.files.end()) {
    member.applied = file->second;
  }
  // Its quota was taken away before a restart of the agent.
  const bool lifted = has_no_quota(member, container);
  // And that of one that borrows, whose loan may have ended meanwhile.
  const bool borrowing = member.qos == Qos::kGuaranteed && member.lending.borrows;
  // And that of one that ran with its pod.
  const PodRecord& pod = state_.pods.find(member.pod_id)->second;
  const auto milli = milli_cpus(member.resources);
  const bool sharing = member.qos == Qos::kGuaranteed && pod.shares && pod.members.size() > 1 &&
                       milli && milli == pod.told_milli;
  member.unlimited = member.unlimited || lifted || borrowing || sharing;
  const auto record = CpuSet::parse(container.resources.cpus);
  if (record && !record->empty()) {
    const auto mems = NodeSet::parse(container.resources.mems);
    member.told = Cpuset{.cpus = *record, .mems = mems ? *mems : NodeSet()};
  } else {
    member.told.reset();
  }
}

// The member stays on the CPUs it is seen on, with its memory. False: they are not a set that it
// can be given.
bool Engine::adopt(Member& member, const topology::Request& request, const Cpuset& seen) {
  if (regain(member, request)) return true;
  if (has_namesake(member)) return false;
  const topology::Outcome outcome =
      topology::adopt(state_.topology, state_.ledger, request, seen.cpus, seen.mems);
  const auto* decision = std::get_if<topology::Decision>(&outcome);
  if (decision == nullptr) return false;
  const std::uint64_t not_met = counters_.preferred_not_met;
  assign(member, request, *decision);
  member.of_pod = is_of_pod(state_.pods.find(member.pod_id)->second, member, request.cpus);
  counters_.preferred_not_met = not_met;  // was counted when it was placed
  ++counters_.kept;
  return true;
}

// A running container that is entitled to cores and is on none of its own: it gets some, near where
// it is. It cannot be refused any more, only left in the shared set and shown.
void Engine::place_running(Member& member, Entitlement entitlement, const Pod& pod,
                           const CpuSet& cpus, Effects& effects) {
  const bool was_pinned = cpus.count() == entitlement.request.cpus;
  if (was_pinned) entitlement.request.preferred = cpus;
  if (auto refusal = place(member, entitlement, pod, effects)) {
    leave_unplaced(member, entitlement, *std::move(refusal), effects);
  } else if (was_pinned && member.role == Role::kExclusive) {
    ++counters_.moved;
  }
}

// Ranks that are not on their cores, and others that are: the fence mends them. Those that nobody
// could tell their CPUs before count only when they are mended, unless they were pinned elsewhere.
void Engine::count_wrong_files(const std::set<std::string_view>& untold) {
  const CpuSet held = fence_->held(state_);
  for (auto& [id, member] : state_.members) {
    if (!member.started() || !member.applied || state_.keeper_of(member) != nullptr) continue;
    const CpuSet foreign = (member.applied->cpus & held) - rightful(state_, member);
    const bool on_own = member.role == Role::kExclusive && !is_lent(state_, member);
    const bool wrong = on_own ? !matches(*member.applied, member.own) : !foreign.empty();
    if (!wrong || member.repair_due) continue;
    member.repair_due = true;
    const bool was_pinned = on_own && member.applied->cpus.count() == member.own.cpus.count();
    if (was_pinned || !untold.contains(id)) ++counters_.drift;
  }
}

void Engine::on(const Synchronize& event, Effects& effects) {
  ++counters_.synchronized;
  drop_unlisted(event);
  for (auto& [id, record] : state_.pods) record.quota_trusted = false;

  std::map<std::string_view, const Pod*> pods;
  for (const Pod& pod : event.pods) {
    pods[pod.id] = &pod;
    note_qos_group(pod);
  }

  struct Candidate {
    Member* member;
    const Pod* pod;
    Entitlement entitlement;
    Cpuset seen;                          // where it is
    Cpuset record;                        // where the runtime's record has it
    bool limited = false;                 // whether that has a quota
    std::optional<KeptCores> saved = {};  // of a lender: `seen`, whatever its file says
    bool unproven = false;  // of a lender: `seen` is its record, and its file is another
    bool yields = false;    // to others of its pod
    std::tuple<bool, bool, bool, bool, bool, bool, bool> doubt = {};
  };
  std::vector<Candidate> candidates;
  std::set<std::string> shared;  // where containers run that hold nothing
  std::set<std::string_view> listed;
  std::set<std::string_view> untold;  // their CPUs, until now
  for (const Container& container : event.containers) {
    const auto pod = pods.find(container.pod_id);
    if (!is_live(container) || pod == pods.end() || !listed.insert(container.id).second) continue;
    Member* before = state_.find(container.id);
    const bool is_new = before == nullptr;
    if (!is_new && before->pending) settle(*before, container.resources, effects.notes);
    Member& member = remember(*pod->second, container);
    observe(member, container, event);
    if (member.role == Role::kExclusive) {
      ++counters_.kept;
      resize_unseen(member, member.resources, *pod->second, effects);
      continue;
    }
    Entitlement entitlement = entitlement_for(*pod->second, member, member.resources);
    if (is_new) {
      untold.insert(container.id);
      warn(entitlement, member, effects);
    }
    const Cpuset seen = runs_on(container, event.files);
    if (entitlement.kind == Entitlement::Kind::kExclusive) {
      entitlement.request.id = member.claim;
      candidates.push_back({&member, pod->second, std::move(entitlement), seen, recorded(container),
                            !has_no_quota(member, container)});
    } else {
      if (member.role == Role::kWaiting) member.trouble.clear();
      member.role = Role::kShared;
      member.of_pod = false;
      member.shared_why = std::move(entitlement.text);
      count_memory(member);
      if (member.started()) shared.insert(seen.cpus.to_string());  // else its record is an old pool
    }
  }

  // The record of one that has not started may be of a time before it had what was saved of it. The
  // file of a lender does not tell which cores are lent. What was saved does, of whatever size it
  // was then: the record may say a resize of which no agent has heard. Else the record does.
  std::multimap<std::string_view, Candidate*> unstarted;  // these two by claim
  std::map<std::string_view, Candidate*> lenders;
  for (Candidate& candidate : candidates) {
    const Member& member = *candidate.member;
    if (!member.started()) {
      unstarted.emplace(member.claim, &candidate);
    } else if (member.lending.lend_to) {
      lenders.emplace(member.claim, &candidate);
    }
  }
  std::erase_if(saved_, [&](const KeptCores& saved) {
    const std::string claim = claim_id(saved.pod_id, saved.container);
    const auto [first, last] = unstarted.equal_range(claim);
    for (auto at = first; at != last; ++at) {
      Candidate& candidate = *at->second;
      const bool same_size = saved.count == candidate.entitlement.request.cpus;
      if (same_size && saved.cpus != candidate.seen.cpus)
        candidate.seen = {.cpus = saved.cpus, .mems = {}};
    }
    const auto lender = lenders.find(claim);
    if (lender == lenders.end() || lender->second->saved) return false;
    lender->second->seen.cpus = saved.cpus;
    lender->second->saved = saved;
    return true;
  });
  for (Candidate& candidate : candidates) {
    if (!candidate.member->lending.lend_to || candidate.saved) continue;
    const CpuSet& cpus = candidate.seen.cpus;
    const bool own =
        cpus.count() == candidate.entitlement.request.cpus && !shared.contains(cpus.to_string());
    candidate.unproven = !own;
    if (candidate.unproven) candidate.seen = candidate.record;
  }

  // The surest first: those that run before those only created, whose record is old by now, and
  // last those that stand exactly where a shared container stands, because they found no cores.
  // Where such are as many CPUs as one of them wants, the quota tells them from the others.
  // One that stands where others of its pod do, and elsewhere too, or states all of its pod's CPUs
  // where others state their own, may share cores with its pod: those come before it.
  // Where memory is bound, it comes before what others may use.
  for (Candidate& candidate : candidates) {
    const bool among_shared = shared.contains(candidate.seen.cpus.to_string());
    const bool bound = candidate.entitlement.request.memory_policy == topology::MemoryPolicy::kBind;
    candidate.yields =
        std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
          if (other.pod != candidate.pod || &other == &candidate) return false;
          const bool covers = !other.seen.cpus.empty() && other.seen.cpus != candidate.seen.cpus &&
                              other.seen.cpus.is_subset_of(candidate.seen.cpus);
          const PodRecord& record = record_of(*candidate.pod);
          const bool states_all = is_all_of(record, candidate.entitlement.request.cpus) &&
                                  !is_all_of(record, other.entitlement.request.cpus);
          return covers || states_all;
        });
    candidate.doubt = {among_shared,
                       candidate.unproven,
                       !candidate.member->started(),
                       candidate.limited && !bound,
                       candidate.yields,
                       candidate.saved.has_value(),
                       !bound};
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.doubt < b.doubt; });
  const auto among_shared = [](const Candidate& candidate) { return std::get<0>(candidate.doubt); };
  const auto last = std::find_if(candidates.begin(), candidates.end(), among_shared);
  std::vector<const Candidate*> unplaced;
  const auto adopt_those = [&](auto from, auto to) {
    for (auto it = from; it != to; ++it) {
      const Candidate& candidate = *it;
      topology::Request before = candidate.entitlement.request;
      const bool beyond =
          (among_shared(candidate) || candidate.member->with_pod()) &&
          !beyond_its_pod(record_of(*candidate.pod), *candidate.member, before).empty();
      if (candidate.saved && candidate.saved->count != before.cpus) {
        before.cpus = candidate.saved->count;
        before.memory = candidate.saved->memory;
      }
      if (beyond || !adopt(*candidate.member, before, candidate.seen)) {
        unplaced.push_back(&candidate);
      }
    }
  };
  adopt_those(candidates.begin(), last);
  for (const KeptCores& saved : std::exchange(saved_, {})) {
    const auto pod = pods.find(saved.pod_id);
    if (pod != pods.end() && pod->second->pid != 0) restore_kept(*pod->second, saved, effects);
  }
  // Where these stand, nobody may be left but those on what pods keep: theirs comes first.
  adopt_those(last, candidates.end());
  for (const Candidate& candidate : candidates) {
    if (!candidate.saved || candidate.member->role != Role::kExclusive) continue;
    resize_unseen(*candidate.member, candidate.member->resources, *candidate.pod, effects);
  }
  std::erase_if(unplaced, [&](const Candidate* candidate) {
    Member& member = *candidate->member;
    return member.started() && !candidate->entitlement.demands &&
           join_where_found(member, candidate->entitlement.request, candidate->seen.cpus);
  });
  for (const Candidate* candidate : unplaced) {
    untold.insert(candidate->member->id);
    place_running(*candidate->member, candidate->entitlement, *candidate->pod, candidate->seen.cpus,
                  effects);
  }

  count_wrong_files(untold);
  fence_->synchronized(state_, effects);
  effects.notes.push_back({.level = Note::Level::kInfo,
                           .text = "synchronized",
                           .fields = {{"containers", std::to_string(state_.members.size())},
                                      {"exclusive_cpus", state_.ledger.exclusive().to_string()},
                                      {"shared_cpus", state_.shared().to_string()}}});
}

}  // namespace pinion::engine
