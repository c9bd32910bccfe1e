// What all fences share.
#include "agent/engine/fence.h"

namespace pinion::engine {

std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::kStart:
      return "start";
    case Cause::kPostStart:
      return "post-start";
    case Cause::kPostUpdate:
      return "post-update";
    case Cause::kFence:
      return "fence";
    case Cause::kResize:
      return "resize";
    case Cause::kAudit:
      return "audit";
  }
  return "?";
}

Cpuset target(const State& state, const Member& member, const CpuSet& pool) {
  if (member.role == Role::kExclusive) return member.own;
  const CpuSet reserved = state.ledger.reserved() & state.topology.online;
  const bool on_reserved = state.strict_reservation && member.system && !reserved.empty();
  if (on_reserved) return {.cpus = reserved, .mems = {}};
  return {.cpus = state.keeper_of(member) != nullptr ? state.open_to_all({}) : pool, .mems = {}};
}

CpuSet group_target(const State& state, const QosGroup& group, const CpuSet& pool) {
  if (!group.keeps) return within(group.limit, state.topology.online);
  if (!state.strict_reservation) return within(group.limit, pool);
  const CpuSet reserved = state.ledger.reserved() & state.topology.online;
  return within(group.limit, pool | reserved);  // for system containers below
}

CpuSet within(const std::optional<CpuSet>& limit, const CpuSet& cpus) {
  if (!limit) return cpus;
  const CpuSet common = cpus & *limit;
  return common.empty() ? cpus : common;
}

Enforce Fence::enforce(const State& state, const Member& member, const CpuSet& pool,
                       Cause cause) const {
  return {.id = member.id,
          .cgroups_path = member.cgroups_path,
          .pid = member.pid,
          .cpuset = target(state, member, pool),
          .partition = {},
          .cause = cause};
}

Enforce Fence::enforce_group(const State& state, const std::string& name, const QosGroup& group,
                             const CpuSet& pool, Cause cause) {
  return {.id = name,
          .cgroups_path = name,
          .cpuset = {.cpus = group_target(state, group, pool), .mems = {}},
          .cause = cause,
          .qos_group = true};
}

bool matches(const Applied& applied, const Cpuset& wanted) {
  return applied.cpus == wanted.cpus && (wanted.mems.empty() || applied.mems == wanted.mems);
}

}  // namespace pinion::engine
