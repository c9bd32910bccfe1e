#include "agent/engine/engine.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agent/engine/note.h"
#include "agent/engine/pod_whole.h"
#include "agent/engine/quota.h"

namespace pinion::engine {
namespace {

using topology::Decision;
using topology::Refusal;

constexpr std::string_view kSystemNamespace = "kube-system";

// One event may decide twice on a container, as when an unknown one is taken in and resized: of
// several entries for one id only the last stays.
template <class Entry>
void keep_last(std::vector<Entry>& entries) {
  if (entries.size() < 2) return;
  std::set<std::string_view> seen;
  std::vector<Entry> last;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (seen.insert(entry->id).second) last.push_back(*entry);
  }
  entries.assign(last.rbegin(), last.rend());
}

// The container whose program is about to run; empty for other events.
std::string_view starting(const Event& event) {
  const auto* container = std::get_if<ContainerEvent>(&event);
  const bool starts = container != nullptr && container->kind == ContainerEvent::Kind::kStart;
  return starts ? container->container.id : std::string_view();
}

}  // namespace

Engine::Engine(topology::Topology topology, const Settings& settings, FenceKind fence)
    : settings_(settings) {
  state_.topology = std::move(topology);
  if (settings_.machine_memory == 0) {
    for (const topology::Node& node : state_.topology.nodes) {
      settings_.machine_memory += node.memory;
    }
  }
  state_.ledger = topology::Ledger(settings.reserved, settings.strict_reservation);
  switch (fence) {
    case FenceKind::kPartition:
      fence_ = make_partition_fence(settings.partition_kinds);
      break;
    case FenceKind::kTree:
      fence_ = make_tree_fence();
      break;
    case FenceKind::kLeaf:
      fence_ = make_leaf_fence();
      break;
    case FenceKind::kRuntime:
      fence_ = make_runtime_fence(state_);
      break;
  }
  state_.lends = fence_->lends();
}

Effects Engine::handle(const Event& event) {
  Effects effects;
  const auto* update = std::get_if<UpdateContainer>(&event);
  effects.may_update = update != nullptr || std::holds_alternative<Synchronize>(event) ||
                       std::holds_alternative<CreateContainer>(event) ||
                       std::holds_alternative<StopContainer>(event);
  const Loans before = loans_of(state_);
  const Company company_before = company();
  const Bytes shared_memory = state_.ledger.shared_memory();
  std::visit([&](const auto& e) { on(e, effects); }, event);
  if (effects.reply.refusal) undo_updates(effects);
  leave_pods_without_cores();
  if (!hand_on(effects)) {
    if (state_.ledger.shared_memory() < shared_memory) offer_cores(effects);
    if (effects.may_update) fence_->answering(state_, effects);
  }
  follow_loans(before, starting(event), effects.notes);
  follow_company(company_before, starting(event), effects.notes);
  if (update != nullptr && effects.reply.own) {
    std::erase_if(effects.reply.updates,
                  [&](const CpusetUpdate& entry) { return entry.id == update->container.id; });
  }
  keep_last(effects.reply.updates);
  counters_.updates_told += effects.reply.updates.size();
  return effects;
}

// An answer that refuses carries none: they are told again with another one.
void Engine::undo_updates(Effects& effects) {
  effects.may_update = false;
  for (const CpusetUpdate& update : std::exchange(effects.reply.updates, {})) {
    if (Member* member = state_.find(update.id)) member->told.reset();
  }
}

std::optional<std::string> Engine::broken() const {
  return broken_invariant(state_, pool(), fence_->held(state_));
}

std::optional<Work> Engine::next() {
  while (const auto item = state_.work.pop()) {
    if (const auto left = state_.left_partitions.find(item->key);
        left != state_.left_partitions.end()) {
      return std::move(state_.left_partitions.extract(left).mapped());
    }
    if (const auto group = state_.qos_groups.find(item->key); group != state_.qos_groups.end()) {
      return Fence::enforce_group(state_, item->key, group->second, pool(), item->cause);
    }
    if (const Member* member = state_.find(item->key)) {
      return fence_->enforce(state_, *member, pool(), item->cause);
    }
  }
  return std::nullopt;
}

void Engine::warn(const Entitlement& entitlement, const Member& member, Effects& effects) {
  for (const std::string& warning : entitlement.warnings) {
    effects.notes.push_back(note(Note::Level::kWarn, warning, member));
  }
}

// --- members
// --------------------------------------------------------------------------------------

std::string Engine::note_qos_group(const Pod& pod) {
  if (!fence_->narrows_qos_groups()) return {};
  std::string name = policy::qos_group_of(pod.cgroup_parent);
  if (!name.empty()) state_.qos_groups.try_emplace(name);
  // The other one too: the first pod of its class may start while no agent runs.
  for (const std::string& one : policy::qos_groups_of(pod.cgroup_parent)) {
    state_.qos_groups.try_emplace(one);
  }
  return name;
}

PodRecord& Engine::record_of(const Pod& pod) {
  const auto [at, fresh] = state_.pods.try_emplace(pod.id);
  if (fresh) {
    at->second.uid = pod.uid;
    at->second.name = pod.name;
    at->second.name_space = pod.name_space;
    at->second.told_milli = milli_cpus(pod.resources);
    at->second.milli = at->second.told_milli;
    at->second.shares = policy::may_share_cores(pod);
  }
  return at->second;
}

Member& Engine::remember(const Pod& pod, const Container& container) {
  record_of(pod);
  if (const Member* before = state_.find(container.id)) {
    if (before->claim != claim_id(pod.id, container.name)) forget(container.id);
  }
  Member& member = state_.put_member(container.id, pod.id);
  member.claim = claim_id(pod.id, container.name);
  state_.name_member(member, pod.name_space, pod.name, container.name,
                     lending_of(pod, container.name));
  member.pod_uid = pod.uid;
  member.cgroups_path = container.cgroups_path;
  if (container.pid != 0) member.pid = container.pid;
  member.resources = merge(member.resources, container.resources);
  member.oom_score_adj = container.oom_score_adj;
  if (!container.near_nodes.empty()) member.near_nodes = container.near_nodes;
  member.qos = policy::qos_of(pod.cgroup_parent);
  member.qos_group = note_qos_group(pod);
  member.labels = labels_of(pod, container.name);
  member.system = pod.name_space == kSystemNamespace;
  return member;
}

void Engine::note_start(Member& member, Life life) {
  if (!member.started() && member.role == Role::kExclusive) state_.note_unstarted_change();
  member.life = life;
}

void Engine::leave_cores(Member& member, Role role) {
  if (member.guarded) state_.leave_partition(member, member.own.cpus);
  member.role = role;
  if (role == Role::kShared) member.of_pod = false;
  if (!member.started()) state_.note_unstarted_change();
  count_memory(member);
  member.unbound = member.unbound || !member.own.mems.empty();
  member.own = {};
  member.unguarded_why.clear();
}

// Its pod keeps what it held.
void Engine::forget(const std::string& id) {
  if (Member* member = state_.find(id)) {
    leave_to_pod(*member);
    state_.erase_member(id);
  }
}

// The kubelet has one live attempt of a container. An earlier one was given up: one that never
// started will never be stopped either, and one whose start failed is not always told to have
// ended. What it held is the new one's; should it still run, it does so in the shared set.
void Engine::replace_namesakes(const CreateContainer& event) {
  forget(event.container.id);
  const std::vector<Member*> members = state_.members_of(event.pod.id);
  for (Member* member : members) {
    if (member->name != event.container.name) continue;
    leave_to_pod(*member);
    if (!member->started()) state_.erase_member(std::string(member->id));
  }
}

bool Engine::has_stopped(const Container& container) const {
  const auto pod = state_.pods.find(container.pod_id);
  return pod != state_.pods.end() && pod->second.stopped.contains(container.id);
}

// What place() has just refused exists all the same, and the last line says that instead.
void Engine::leave_unplaced(Member& member, const Entitlement& entitlement, std::string refusal,
                            Effects& effects) {
  effects.notes.back().text = "unplaced, stays on the shared CPUs";
  member.trouble = std::move(refusal);
  ++counters_.unplaced;
  if (entitlement.kind != Entitlement::Kind::kExclusive) return;
  member.role = Role::kWaiting;
  const PodRecord& record = state_.pods.find(member.pod_id)->second;
  member.of_pod = is_of_pod(record, member, entitlement.request.cpus);
  freed_ = true;  // its own may be free, and only what its pod's others will ask for is not
}

// The member of an event other than its creation; one never heard of before, or not in that pod, is
// taken in as if it were created now (the runtime does not report containers created while it
// synchronizes).
Member* Engine::known(const Pod& pod, const Container& container, Effects& effects) {
  Member* member = state_.find(container.id);
  if (member != nullptr && member->pod_id == pod.id) {
    if (container.pid != 0) member->pid = container.pid;
    return member;
  }
  ++counters_.adopted;
  member = &remember(pod, container);
  effects.notes.push_back(
      note(Note::Level::kWarn, "container was never announced, taken in now", *member));
  const Entitlement entitlement = entitlement_for(pod, *member, member->resources);
  warn(entitlement, *member, effects);
  if (auto refusal = place(*member, entitlement, pod, effects)) {
    leave_unplaced(*member, entitlement, *std::move(refusal), effects);
  }
  if (member->role == Role::kExclusive) fence_->allocated_running(state_, effects);
  return member;
}

// --- placing
// --------------------------------------------------------------------------------------

void Engine::assign(Member& member, const topology::Request& request, const Decision& decision) {
  run_on(member, {.request = request,
                  .own = {.cpus = decision.cpus, .mems = decision.claim.mems},
                  .why = decision.why});
  state_.ledger.commit(decision.claim);
  if (decision.why.met > decision.why.asked) ++counters_.preferred_not_met;
}

// Whether the update of another one of its pod would give back what was kept under its name: that
// is not kept() once it runs.
bool Engine::is_kept_before(const Member& member) const {
  const PodRecord& pod = state_.pods.find(member.pod_id)->second;
  return std::any_of(pod.members.begin(), pod.members.end(), [&](const Member* other) {
    return other->pending &&
           std::any_of(other->pending->kept_before.begin(), other->pending->kept_before.end(),
                       [&](const auto& one) { return one.name == member.name; });
  });
}

void Engine::run_on(Member& member, Kept cores) {
  member.role = Role::kExclusive;
  if (!member.started() || is_kept_before(member)) state_.note_unstarted_change();
  count_memory(member);
  member.request = std::move(cores.request);
  member.own = std::move(cores.own);
  member.why = cores.why;
  member.unbound = false;
  member.trouble.clear();
  member.unlimited = member.unlimited || lifts_quota(member);
}

std::string Engine::refusal_text(const Member& member, const std::string& why) {
  return std::string(kRefusalBegins) + member.name + " of pod " + member.name_space + "/" +
         member.pod_name + ": " + why;
}

// Somebody else always has a CPU left; under strict reservation the reserved ones do not count.
std::string Engine::count_refusal(const Member& member, std::string_view reason,
                                  const std::string& text, Effects& effects) {
  ++counters_.refused[std::string(reason)];
  Note line = note(Note::Level::kWarn, std::string(kRefused), member);
  line.fields.emplace_back("reason", reason);
  line.fields.emplace_back("why", text);
  effects.notes.push_back(std::move(line));
  effects.refused.push_back({.name_space = member.name_space,
                             .pod = member.pod_name,
                             .container = member.name,
                             .reason = std::string(reason),
                             .text = text});
  return text;
}

std::string Engine::count_refusal(const Member& member, const Refusal& refusal, Effects& effects) {
  return count_refusal(member, topology::to_string(refusal.reason), refusal.text, effects);
}

Entitlement Engine::entitlement_for(const Pod& pod, Member& member,
                                    const Resources& resources) const {
  Entitlement entitlement = entitlement_of(pod, member.name, resources, settings_.defaults);
  member.isolate = entitlement.request.use_isolated;
  entitlement.request.near_nodes = member.near_nodes;
  if (isolates_by_partition()) entitlement.request.use_isolated = false;
  return entitlement;
}

// Where no CPU is isolated from the boot on, a partition isolates.
bool Engine::isolates_by_partition() const {
  return settings_.partition_kinds != PartitionKinds::kRoot && state_.topology.isolated.empty() &&
         fence_->makes_partitions();
}

// What it requests, unless a claim of its own has that.
void Engine::count_memory(Member& member) {
  const auto requested = [&](const Size& size) {
    return policy::requested_memory(member.qos, size.resources, member.oom_score_adj,
                                    settings_.machine_memory);
  };
  Bytes bytes = 0;
  if (member.larger().role != Role::kExclusive) {
    bytes = requested(member);
    if (member.pending) bytes = std::max(bytes, requested(member.pending->size));
  }
  state_.set_counted_memory(member, bytes);
}

// What a pod's containers request is not kept from each other: it was sent here with all of it.
// Gives what the others count, for count_again().
Bytes Engine::leave_out_memory(Member& member) {
  state_.set_counted_memory(member, 0);
  const Bytes others = state_.pods.find(member.pod_id)->second.counted_memory;
  state_.ledger.set_shared_memory(state_.ledger.shared_memory() - others);
  return others;
}

void Engine::count_again(Member& member, Bytes others) {
  state_.ledger.set_shared_memory(state_.ledger.shared_memory() + others);
  count_memory(member);
}

// Gives the member its cores, or a place in the shared set. A text means it was refused; it then
// holds nothing.
std::optional<std::string> Engine::place(Member& member, const Entitlement& entitlement,
                                         const Pod& pod, Effects& effects) {
  const Bytes others = leave_out_memory(member);
  auto refusal = find_place(member, entitlement, pod, effects);
  count_again(member, others);
  return refusal;
}

std::optional<std::string> Engine::find_place(Member& member, const Entitlement& entitlement,
                                              const Pod& pod, Effects& effects) {
  Entitlement::Kind kind = entitlement.kind;
  std::string why = entitlement.text;
  bool of_pod = false;
  if (kind == Entitlement::Kind::kExclusive) {
    const PodRecord& record = record_of(pod);
    of_pod = is_of_pod(record, member, entitlement.request.cpus);
    why = beyond_its_pod(record, member, entitlement.request);
    if (!why.empty()) {
      kind = entitlement.demands ? Entitlement::Kind::kRefused : Entitlement::Kind::kShared;
    }
  }
  if (kind == Entitlement::Kind::kRefused) {
    return count_refusal(member, topology::to_string(topology::Reason::kAnnotation), why, effects);
  }
  if (kind == Entitlement::Kind::kShared) {
    place_shared(member, of_pod ? &entitlement.request : nullptr, why, pod, effects);
    return std::nullopt;
  }
  if (const auto refusal = reserve(member, entitlement, pod)) {
    return count_refusal(member, *refusal, effects);
  }
  member.of_pod = of_pod;
  ++counters_.exclusive_placed;
  Note line = note(Note::Level::kInfo, "exclusive", member);
  line.fields.emplace_back("cpus", member.own.cpus.to_string());
  line.fields.emplace_back("mems", member.own.mems.to_string());
  line.fields.emplace_back("why", topology::to_string(member.why));
  if (!member.near_nodes.empty()) {
    line.fields.emplace_back("devices_on_nodes", member.near_nodes.to_string());
  }
  effects.notes.push_back(std::move(line));
  return std::nullopt;
}

// `of_pod`: what it asks for where it may share the cores of its pod.
void Engine::place_shared(Member& member, const topology::Request* of_pod, const std::string& why,
                          const Pod& pod, Effects& effects) {
  member.role = Role::kShared;
  member.of_pod = false;
  member.shared_why = why;
  member.trouble.clear();
  if (of_pod != nullptr) {
    member.request = *of_pod;
    member.request.id = member.claim;
    join_pod(member, why);
  }
  trim_kept(member, pod);
  for (const Member* other : state_.members_of(member.pod_id)) {  // their pod's quota is due again
    if (lifts_quota(*other) && other->started()) state_.work.push(other->id, Cause::kResize);
  }
  ++counters_.shared_placed;
  Note line = note(Note::Level::kInfo, "shared", member);
  line.fields.emplace_back("cpus", target_of(member).cpus.to_string());
  line.fields.emplace_back("why", member.shared_why);
  effects.notes.push_back(std::move(line));
}

void Engine::on(const CreateContainer& event, Effects& effects) {
  replace_namesakes(event);
  record_of(event.pod).stopped.erase(event.container.id);
  Member& member = remember(event.pod, event.container);
  const Entitlement entitlement = entitlement_for(event.pod, member, member.resources);
  warn(entitlement, member, effects);
  if (auto refusal = place(member, entitlement, event.pod, effects)) {
    effects.reply.refusal = refusal_text(member, *refusal);
    state_.erase_member(event.container.id);
    return;
  }
  if (member.role == Role::kExclusive) fence_->allocated(state_, effects);
  effects.reply.own = target_of(member);
  effects.reply.own_quota = told_quota(member);
  member.told = effects.reply.own;
}

// --- the rest of a container's life
// ---------------------------------------------------------------

void Engine::on(const StopContainer& event, Effects& effects) {
  record_of(event.pod).stopped.insert(event.container.id);
  Member* member = state_.find(event.container.id);
  if (member == nullptr) return;
  if (member->pending) settle(*member, event.container.resources, effects.notes);
  Note line = note(Note::Level::kInfo, "stopped", *member);
  line.fields.emplace_back("cpus", member->own.cpus.to_string());
  effects.notes.push_back(std::move(line));
  forget(event.container.id);
}

void Engine::on(const PodEvent& event, Effects& /*effects*/) {
  if (event.kind == PodEvent::Kind::kRun) {
    note_qos_group(event.pod);
    fence_->pod_runs(state_);
    return;
  }
  const std::vector<Member*> members = state_.members_of(event.pod.id);
  for (const Member* member : members) forget(std::string(member->id));
  release_pod(event.pod.id);
  if (event.kind == PodEvent::Kind::kRemove) state_.pods.erase(event.pod.id);
}

void Engine::on(const ContainerEvent& event, Effects& effects) {
  switch (event.kind) {
    case ContainerEvent::Kind::kPostCreate:
      break;
    case ContainerEvent::Kind::kStart: {
      if (has_stopped(event.container)) break;
      Member& member = *known(event.pod, event.container, effects);
      note_start(member, Life::kStarted);
      member.stuck = false;
      fence_->starting(state_, member);
      break;
    }
    case ContainerEvent::Kind::kPostStart:
    case ContainerEvent::Kind::kPostUpdate: {
      if (has_stopped(event.container)) break;
      Member& member = *known(event.pod, event.container, effects);
      if (!member.started()) note_start(member, Life::kFound);
      member.stuck = false;
      const bool update = event.kind == ContainerEvent::Kind::kPostUpdate;
      if (update) note_update(member, event, effects);
      state_.work.push(member.id, update ? Cause::kPostUpdate : Cause::kPostStart);
      break;
    }
    case ContainerEvent::Kind::kRemove: {
      if (const auto pod = state_.pods.find(event.container.pod_id); pod != state_.pods.end()) {
        pod->second.stopped.erase(event.container.id);
      }
      forget(event.container.id);
      release_if_idle(event.container.pod_id);
      break;
    }
  }
}

CpuSet Engine::kept_off(const Member& member, const CpuSet& guarded) const {
  const QosGroup* group = state_.keeper_of(member);
  if (group == nullptr || !group->applied) return guarded;
  return guarded | (state_.topology.online - *group->applied);
}

CpuSet Engine::guarded() const {
  CpuSet guarded;
  for (const auto& [id, member] : state_.members) {
    if (member.guarded) guarded |= member.own.cpus;
  }
  return guarded;
}

}  // namespace pinion::engine
