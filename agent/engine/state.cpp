#include "agent/engine/state.h"

namespace pinion::engine {

CpuSet State::open_to_all(const CpuSet& held) const {
  CpuSet shared = topology.online - held;
  if (ledger.strict()) shared -= ledger.reserved();
  const CpuSet ordinary = shared - topology.isolated;
  return ordinary.empty() ? shared : ordinary;
}

const QosGroup* State::keeper_of(const Member& member) const {
  if (member.role == Role::kExclusive) return nullptr;
  const auto group = qos_groups.find(member.qos_group);
  return group != qos_groups.end() && group->second.keeps ? &group->second : nullptr;
}

Member* State::find(std::string_view id) {
  const auto it = members.find(id);
  return it == members.end() ? nullptr : &it->second;
}

const Member* State::find(std::string_view id) const {
  const auto it = members.find(id);
  return it == members.end() ? nullptr : &it->second;
}

namespace {

// Claims and exclusive members, both ordered by id, walked side by side.
std::optional<std::string> broken_pairing(const State& state) {
  auto claim = state.ledger.claims().begin();
  for (const auto& [id, member] : state.members) {
    if (member.role != Role::kExclusive) continue;
    if (claim == state.ledger.claims().end() || claim->first != id) {
      return "exclusive container " + id + " has no claim of its own, or a claim has no container";
    }
    if (member.own.cpus.empty() || !member.own.cpus.is_subset_of(claim->second.cpus)) {
      return "container " + id + " runs on CPUs '" + member.own.cpus.to_string() + "' and holds '" +
             claim->second.cpus.to_string() + "'";
    }
    ++claim;
  }
  if (claim != state.ledger.claims().end()) return "claim " + claim->first + " has no container";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_invariant(const State& state, const CpuSet& pool,
                                            const CpuSet& held) {
  if (auto broken = broken_pairing(state)) return broken;
  const topology::Ledger& ledger = state.ledger;
  int claimed = 0;
  for (const auto& [id, claim] : ledger.claims()) claimed += claim.cpus.count();
  if (claimed != ledger.exclusive().count()) return "two claims share a CPU";
  if (ledger.exclusive().intersects(ledger.reserved())) return "a reserved CPU is claimed";
  if (!ledger.exclusive().is_subset_of(state.topology.online)) return "an offline CPU is claimed";
  if (state.shared().empty()) return "the shared set is empty";
  if (pool.empty()) return "the fence's pool is empty";
  if (pool.intersects(held)) return "the fence's pool touches a claim";
  return std::nullopt;
}

}  // namespace pinion::engine
