#include "agent/engine/with_pod.h"

#include <algorithm>

#include "agent/engine/fence.h"

namespace pinion::engine {
namespace {

// A lender's cores are not its own to share, nor does a borrower need any.
bool is_host(const Member& member) {
  return member.role == Role::kExclusive && member.of_pod && !member.lending.lend_to;
}

bool is_guest(const Member& member) {
  return member.with_pod() && !member.lending.borrows;
}

// Where one of them is bound to no node, neither are those beside it.
void add(const Cpuset& own, Cpuset& all) {
  all.mems = all.cpus.empty()                       ? own.mems
             : all.mems.empty() || own.mems.empty() ? NodeSet()
                                                    : all.mems | own.mems;
  all.cpus |= own.cpus;
}

Cpuset shared_cores(const PodRecord& pod) {
  Cpuset cores;
  for (const Member* member : pod.members) {
    if (is_host(*member)) add(member->own, cores);
  }
  if (!cores.cpus.empty()) return cores;
  for (const auto& [name, kept] : pod.kept()) {
    if (kept.of_pod) add(kept.own, cores);
  }
  return cores;
}

}  // namespace

Cpuset pod_cores(const State& state, const Member& member) {
  if (!is_guest(member)) return {};
  const auto pod = state.pods.find(member.pod_id);
  return pod == state.pods.end() ? Cpuset() : shared_cores(pod->second);
}

bool runs_with_pod(const State& state, const Member& member) {
  return !pod_cores(state, member).cpus.empty();
}

bool has_company(const State& state, const Member& member) {
  if (!is_host(member)) return false;
  const auto& members = state.members_of(member.pod_id);
  return std::any_of(members.begin(), members.end(),
                     [](const Member* one) { return is_guest(*one); });
}

CpuSet cpus_with_pods(const State& state) {
  CpuSet cpus;
  for (const auto& [id, member] : state.members) {
    if (member.with_pod()) cpus |= pod_cores(state, member).cpus;
  }
  return cpus;
}

Company company_of(const State& state) {
  Company company;
  for (const auto& [id, member] : state.members) {
    Cpuset cores = pod_cores(state, member);
    if (cores.cpus.empty()) continue;
    company.guests.emplace(id, std::move(cores));
    for (const Member* one : state.members_of(member.pod_id)) {
      if (is_host(*one)) company.hosts.insert(one->id);
    }
  }
  return company;
}

std::optional<std::string> broken_company(const State& state, const CpuSet& pool,
                                          const CpuSet& held) {
  for (const auto& [id, member] : state.members) {
    if (!member.with_pod()) continue;
    CpuSet of_pod;
    const std::string prefix = claim_id(member.pod_id, {});
    for (const auto& [claim_id, claim] : state.ledger.claims()) {
      if (claim_id.starts_with(prefix)) of_pod |= claim.cpus;
    }
    const CpuSet cores = pod_cores(state, member).cpus;
    if (!cores.is_subset_of(of_pod)) return id + " runs on cores that its pod does not hold";
    if (!cores.is_subset_of(held)) return "cores of a pod are not held against others";
    const CpuSet target = engine::target(state, member, pool).cpus;
    if (!cores.empty() && target != cores) return id + " is not where its pod is";
  }
  return std::nullopt;
}

}  // namespace pinion::engine
