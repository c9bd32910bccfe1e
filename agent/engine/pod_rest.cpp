// What a pod has for its containers to come.
//
// Where the runtime tells the CPUs of the pod as a whole, those of its containers to come are
// claimed with those of the first, so that it is admitted whole or not at all. That claim is a set
// of CPUs as close together as can be, not yet split among the containers: how large each of them
// is, nobody tells, unless they are planned: then the set is where they are planned, in however
// many domains. Else, where the first must not leave its domain, neither will the others, and equal
// ones are the likely case: the set lies in one domain, or in parts of the first one's size that
// each do.
#include <utility>

#include "agent/engine/engine.h"
#include "agent/engine/pod_whole.h"

namespace pinion::engine {
namespace {

using topology::Claim;
using topology::Decision;
using topology::Refusal;
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

// Whether they would find places if nobody were there but `first`.
bool fits_idle(const topology::Topology& topology, const topology::Ledger& ledger,
               const topology::Request& whole, int part, std::string_view first) {
  topology::Ledger idle(ledger.reserved(), ledger.strict());
  idle.set_shared_memory(ledger.shared_memory());
  if (const Claim* claim = ledger.find(first)) idle.commit(*claim);
  return std::holds_alternative<Decision>(allocate_in_parts(topology, idle, whole, part));
}

}  // namespace

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

// Of what the pod had for its containers to come already, which must not be lost.
std::optional<Refusal> Engine::keep_rest(const topology::Request& like, std::string_view pod_id,
                                         const Rest& rest, const CpuSet& near) {
  if (!reserve_rest(like, pod_id, rest, near, false)) return std::nullopt;
  return reserve_rest(like, pod_id, rest, near, true);
}

void Engine::trim_rest(const Pod& pod) {
  PodRecord& record = record_of(pod);
  const auto rest = record.kept().find(kRest);
  if (rest == record.kept().end()) return;
  const Rest left{.cpus = unclaimed(record, nullptr), .part = rest->second.part};
  if (left.cpus >= rest->second.request.cpus) return;
  const Kept before = std::move(state_.change_kept(record).extract(rest).mapped());
  state_.ledger.release(before.request.id);
  freed_ = true;
  if (left.cpus > 0) keep_rest(before.request, pod.id, left, before.own.cpus);
}

}  // namespace pinion::engine
