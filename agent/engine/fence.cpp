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
  return {.cpus = on_reserved ? reserved : pool, .mems = {}};
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

bool matches(const Applied& applied, const Cpuset& wanted) {
  return applied.cpus == wanted.cpus && (wanted.mems.empty() || applied.mems == wanted.mems);
}

}  // namespace pinion::engine
