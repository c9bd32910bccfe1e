// What all fences share.
#include "agent/engine/fence.h"

#include <algorithm>

#include "agent/engine/loans.h"
#include "agent/engine/quota.h"
#include "agent/engine/with_pod.h"

namespace pinion::engine {
namespace {

CpuSet open_to_group(const State& state, const QosGroup& group, const CpuSet& pool) {
  if (!group.keeps) return state.topology.online;
  if (!state.ledger.strict()) return pool;
  return pool | (state.ledger.reserved() & state.topology.online);  // for system containers below
}

// What must have something in common with the group: the files that keep those below off exclusive
// cores where the group does not. The kernel would put those without on all of the group. A file of
// an earlier, smaller pool stands until a quiet moment, so what the files say now counts as well as
// what they are to say.
std::vector<CpuSet> files_below(const State& state, std::string_view name, const QosGroup& group,
                                const CpuSet& pool) {
  if (group.keeps) return {};
  std::vector<CpuSet> files = {pool};
  const auto add = [&](const CpuSet& file) {
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  };
  const CpuSet reserved = state.ledger.reserved() & state.topology.online;
  if (state.ledger.strict() && !reserved.empty()) add(reserved);
  for (const auto& [id, member] : state.members) {
    if (member.started() && member.applied && member.qos_group == name) add(member.applied->cpus);
  }
  return files;
}

// The memory nodes of one that borrows these CPUs, where somebody else has left it others: its own
// and theirs. Empty: as its file says.
NodeSet mems_beside(const State& state, const Member& member, const CpuSet& lent) {
  if (!member.applied || member.applied->mems.empty()) return {};
  const NodeSet& has = member.applied->mems;
  const NodeSet nodes = state.topology.nodes_of(lent);
  return nodes.is_subset_of(has) ? NodeSet() : has | nodes;
}

}  // namespace

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
  if (member.role == Role::kExclusive && !is_lent(state, member)) return member.own;
  if (Cpuset cores = pod_cores(state, member); !cores.cpus.empty()) {
    if (cores.mems.empty() && member.unbound) cores.mems = state.topology.memory_nodes();
    return cores;
  }
  const CpuSet reserved = state.ledger.reserved() & state.topology.online;
  const bool on_reserved = state.ledger.strict() && member.system && !reserved.empty();
  const CpuSet open = state.keeper_of(member) != nullptr ? state.open_to_all({}) : pool;
  const CpuSet lent = borrowed(state, member);
  // Shared ones are bound to no memory, for which a file that said otherwise has to name all of it;
  // a lender stays bound, and leaves it to the borrower. No node is taken from a borrower when a
  // loan ends: the kernel would move the pages of all its jobs there.
  NodeSet mems = member.own.mems;
  if (!lent.empty()) mems = mems_beside(state, member, lent);
  if (member.unbound) mems = state.topology.memory_nodes();
  return {.cpus = (on_reserved ? reserved : open) | lent, .mems = mems};
}

CpuSet group_target(const State& state, std::string_view name, const QosGroup& group,
                    const CpuSet& pool) {
  return within(group.limit, open_to_group(state, group, pool),
                files_below(state, name, group, pool));
}

CpuSet within(const std::optional<CpuSet>& limit, const CpuSet& cpus,
              const std::vector<CpuSet>& below) {
  if (!limit) return cpus;
  const CpuSet common = cpus & *limit;
  const bool meets_all = std::all_of(below.begin(), below.end(),
                                     [&](const CpuSet& file) { return file.intersects(common); });
  return common.empty() || !meets_all ? cpus : common;
}

Enforce Fence::enforce(const State& state, const Member& member, const CpuSet& pool,
                       Cause cause) const {
  return {.id = member.id,
          .cgroups_path = member.cgroups_path,
          .pid = member.pid,
          .cpuset = target(state, member, pool),
          .partition = {},
          .quota = quota_target(state, member),
          .cause = cause,
          .halfway = member.halfway,
          .put_off = member.crowded};
}

Enforce Fence::enforce_group(const State& state, const std::string& name, const QosGroup& group,
                             const CpuSet& pool, Cause cause) {
  return {.id = name,
          .cgroups_path = name,
          .cpuset = {.cpus = open_to_group(state, group, pool), .mems = {}},
          .cause = cause,
          .qos_group = true,
          .below = files_below(state, name, group, pool)};
}

bool matches(const Applied& applied, const Cpuset& wanted) {
  return applied.cpus == wanted.cpus && (wanted.mems.empty() || applied.mems == wanted.mems);
}

}  // namespace pinion::engine
