#include "agent/engine/fence.h"

namespace pinion::engine {
namespace {

// At START of an exclusive container every shared one that may still run on somebody's cores is
// moved off them before the program's first instruction. Giving cores back is nobody's hurry: it is
// done one file at a time when nothing else is to do.
class LeafFence final : public Fence {
 public:
  [[nodiscard]] std::string_view name() const override { return "leaf"; }
  [[nodiscard]] CpuSet pool(const State& state) const override { return state.shared(); }

  void taken(State& /*state*/, Effects& /*effects*/) override {}
  void taken_at_once(State& state, Effects& effects) override { evict(state, effects, {}); }

  void starting(State& state, const Member& member, Effects& effects) override {
    if (member.role == Role::kExclusive) evict(state, effects, member.id);
    effects.now.push_back(enforce(state, member, pool(state), Cause::kStart));
  }

  void returned(State& /*state*/, Effects& /*effects*/) override {}
  void synchronized(State& /*state*/, Effects& /*effects*/) override {}

  [[nodiscard]] std::optional<Enforce> idle(const State& state) const override {
    const CpuSet all = pool(state);
    for (const auto& [id, member] : state.members) {
      if (!member.started || member.stuck) continue;
      if (!member.applied || !matches(*member.applied, target(state, member, all))) {
        return enforce(state, member, all, Cause::kFence);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool wants_resync(const State& /*state*/) const override { return false; }

 private:
  // `starting` is enforced by the caller, after all others.
  void evict(const State& state, Effects& effects, std::string_view starting) const {
    const CpuSet all = pool(state);
    for (const auto& [id, member] : state.members) {
      if (!member.started || id == starting) continue;
      if (!member.applied || touches_others(state, member)) {
        effects.now.push_back(enforce(state, member, all, Cause::kFence));
      }
    }
  }

  // Its file has cores that another holds. That happens to exclusive ones too: one that was moved
  // after a restart runs on its old cores until its file is written.
  static bool touches_others(const State& state, const Member& member) {
    if (member.role == Role::kShared) {
      return member.applied->cpus.intersects(state.ledger.exclusive());
    }
    const topology::Claim* own = state.ledger.find(member.id);
    CpuSet foreign = member.applied->cpus & state.ledger.exclusive();
    if (own != nullptr) foreign -= own->cpus;
    return !foreign.empty();
  }
};

}  // namespace

std::unique_ptr<Fence> make_leaf_fence() {
  return std::make_unique<LeafFence>();
}

}  // namespace pinion::engine
