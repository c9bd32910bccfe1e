#include "agent/engine/fence_leaf.h"

#include "agent/engine/loans.h"
#include "agent/engine/with_pod.h"

namespace pinion::engine {
namespace {

// Its file has cores that are held for another. That happens to exclusive ones too: one that was
// moved after a restart runs on its old cores until its file is written.
bool touches_others(const State& state, const Member& member, const CpuSet& held) {
  const CpuSet foreign = member.applied->cpus & held;
  return !foreign.empty() && !foreign.is_subset_of(rightful(state, member));
}

}  // namespace

CpuSet LeafFence::pool(const State& state) const {
  return state.open_to_all(held(state));
}

void LeafFence::evict(State& state, std::string_view except) const {
  const CpuSet kept_free = held(state);
  for (const auto& [id, member] : state.members) {
    if (!member.started() || id == except) continue;
    if (state.keeper_of(member) != nullptr) continue;
    if (!member.applied || touches_others(state, member, kept_free)) {
      state.work.push(id, Cause::kFence);
    }
  }
}

void LeafFence::allocated_running(State& state, Effects& /*effects*/) {
  evict(state, {});
}

void LeafFence::starting(State& state, const Member& member) {
  const bool on_cores = member.role == Role::kExclusive || runs_with_pod(state, member);
  if (on_cores) evict(state, member.id);
  state.work.push(member.id, Cause::kStart);  // when its cores are clear
}

std::optional<Enforce> LeafFence::idle(const State& state) const {
  const CpuSet all = pool(state);
  for (const auto& [id, member] : state.members) {
    if (!member.started() || member.stuck || member.pieces > 0 || member.pending) continue;
    if (!member.applied || !matches(*member.applied, target(state, member, all))) {
      return enforce(state, member, all, Cause::kFence);
    }
  }
  return std::nullopt;
}

std::unique_ptr<Fence> make_leaf_fence() {
  return std::make_unique<LeafFence>();
}

}  // namespace pinion::engine
