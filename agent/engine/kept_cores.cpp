// What pods have for containers that do not run there, over a restart of the agent.
#include "agent/engine/kept_cores.h"

#include <algorithm>

#include "agent/engine/engine.h"
#include "agent/engine/pod_whole.h"
#include "topology/adopt.h"

namespace pinion::engine {

using topology::Claim;
using topology::Outcome;
using topology::Refusal;

std::vector<KeptCores> Engine::kept() const {
  std::vector<KeptCores> all;
  const auto add = [&](const std::string& pod_id, const std::string& name, const Kept& kept,
                       const Claim& claim) {
    all.push_back({.pod_id = pod_id,
                   .container = name,
                   .cpus = name == kRest ? claim.cpus : kept.own.cpus,
                   .count = kept.request.cpus,
                   .memory = kept.request.memory,
                   .part = kept.part});
  };
  for (const auto& [pod_id, pod] : state_.pods) {
    for (const Member* member : pod.members) {  // first, as it then counts if the update fails
      if (!member->pending) continue;
      for (const auto& one : member->pending->kept_before) {
        const auto runs = [&](const Member* other) {
          return other->role == Role::kExclusive && other->name == one.name;
        };
        if (std::any_of(pod.members.begin(), pod.members.end(), runs)) continue;
        add(pod_id, one.name, one.kept, one.claim);
      }
    }
    for (const auto& [name, kept] : pod.kept()) {
      add(pod_id, name, kept, *state_.ledger.find(kept.request.id));
    }
    for (const Member* member : pod.members) {
      if (member->role != Role::kExclusive) continue;
      if (member->started() && !is_lent(state_, *member)) continue;
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
Entitlement Engine::entitlement_for_kept(const Pod& pod, const KeptCores& saved) const {
  const int count = saved.cpus.count();
  if (saved.container == kRest) {
    Entitlement entitlement;
    entitlement.kind = Entitlement::Kind::kExclusive;
    const Labels labels = policy::labels_of(pod, saved.container);
    entitlement.request.job = labels.job;
    entitlement.request.task_group = labels.task_group;
    entitlement.request.profile = labels.profile;
    entitlement.request.cpus = count;
    entitlement.request.strength = topology::Strength::kPreferred;
    entitlement.request.smt = topology::Smt::kPack;
    entitlement.request.memory_policy = topology::MemoryPolicy::kAny;
    return entitlement;
  }
  Resources asked;
  asked.period = CpuQuota().period;
  asked.quota = count * static_cast<std::int64_t>(CpuQuota().period);
  asked.memory = static_cast<std::int64_t>(saved.memory);
  Entitlement entitlement = entitlement_of(pod, saved.container, asked, settings_.defaults);
  topology::forget_plan(entitlement.request);
  if (isolates_by_partition()) entitlement.request.use_isolated = false;
  return entitlement;
}

// The pod keeps that again, unless it is somebody else's now, and of what is for those to come no
// more than it has left. A text: why not.
std::string Engine::keep_again(const Pod& pod, const KeptCores& saved) {
  PodRecord& record = record_of(pod);
  Entitlement entitlement = entitlement_for_kept(pod, saved);
  if (entitlement.kind != Entitlement::Kind::kExclusive) return entitlement.text;
  topology::Request& request = entitlement.request;
  request.id = claim_id(pod.id, saved.container);
  if (state_.ledger.find(request.id) != nullptr) return "its container runs elsewhere";
  if (saved.container == kRest && record.milli) {
    const int left = unclaimed(record, nullptr);
    if (left == 0) return "its pod has no CPUs left";
    if (saved.count > left) {  // one of them came while no agent ran, maybe on these very CPUs
      const Rest rest{.cpus = left, .part = saved.part};
      if (auto refusal = keep_rest(request, pod.id, rest, saved.cpus - state_.ledger.exclusive())) {
        return refusal->text;
      }
      record.restored = true;
      return {};
    }
  }
  const Outcome outcome = topology::adopt(state_.topology, state_.ledger, request, saved.cpus);
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) return refusal->text;
  const auto& decision = std::get<topology::Decision>(outcome);
  state_.ledger.commit(decision.claim);
  request.cpus = saved.count;
  record.restored = true;
  state_.change_kept(record)[saved.container] = {
      .request = request,
      .own = {.cpus = decision.cpus, .mems = decision.claim.mems},
      .why = decision.why,
      .part = saved.part,
      .of_pod = saved.container != kRest && record.shares && is_all_of(record, saved.count)};
  if (record.milli) trim_rest(pod);
  return {};
}

void Engine::restore_kept(const Pod& pod, const KeptCores& saved, Effects& effects) {
  const Claim* there = state_.ledger.find(claim_id(pod.id, saved.container));
  if (there != nullptr && saved.cpus.is_subset_of(there->cpus)) return;  // it runs there again
  // Or another one that shared them does.
  const auto& members = state_.members_of(pod.id);
  const bool shared = std::any_of(members.begin(), members.end(), [&](const Member* one) {
    return one->role == Role::kExclusive && one->of_pod && saved.cpus.is_subset_of(one->own.cpus);
  });
  if (shared && saved.container != kRest) return;
  const std::string why = keep_again(pod, saved);
  const CpuSet cpus =
      why.empty() ? record_of(pod).kept().find(saved.container)->second.own.cpus : saved.cpus;
  Note line{.level = Note::Level::kInfo,
            .text = "the pod keeps its cores over the agent's restart",
            .fields = {{"namespace", pod.name_space},
                       {"pod", pod.name},
                       {"container", saved.container},
                       {"cpus", cpus.to_string()}}};
  if (!why.empty()) {
    line.level = Note::Level::kWarn;
    line.text = "the pod does not get back the cores that it kept";
    line.fields.emplace_back("why", why);
  }
  effects.notes.push_back(std::move(line));
}

}  // namespace pinion::engine
