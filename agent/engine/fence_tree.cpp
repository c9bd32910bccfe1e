#include "agent/engine/fence_leaf.h"

namespace pinion::engine {
namespace {

class TreeFence final : public LeafFence {
 public:
  [[nodiscard]] std::string_view name() const override { return "tree"; }

  [[nodiscard]] bool narrows_qos_groups() const override { return true; }

  void pod_runs(State& state) override { narrow(state, {}); }

  void allocated_running(State& state, Effects& effects) override {
    narrow(state, {});
    LeafFence::allocated_running(state, effects);
  }

  void synchronized(State& state, Effects& /*effects*/) override { narrow(state, {}); }

  // Where a slice has CPUs by a property of systemd's, every start below it writes them again: its
  // group is looked at anew.
  void starting(State& state, const Member& member) override {
    narrow(state, member.qos_group);
    LeafFence::starting(state, member);
  }

  [[nodiscard]] std::optional<Enforce> idle(const State& state) const override {
    const CpuSet all = pool(state);
    for (const auto& [name, group] : state.qos_groups) {
      if (!group.stuck && group.applied != group_target(state, name, group, all)) {
        return enforce_group(state, name, group, all, Cause::kFence);
      }
    }
    return LeafFence::idle(state);
  }

 private:
  // Every group that may have what is held, `always`, and those that should be wide again.
  void narrow(State& state, std::string_view always) const {
    const CpuSet all = pool(state);
    const CpuSet kept_free = held(state);
    for (const auto& [name, group] : state.qos_groups) {
      const bool unfit = group.keeps ? !group.applied || group.applied->intersects(kept_free)
                                     : group.applied != group_target(state, name, group, all);
      if (unfit || name == always) state.work.push(name, Cause::kFence);
    }
  }
};

}  // namespace

std::unique_ptr<Fence> make_tree_fence() {
  return std::make_unique<TreeFence>();
}

}  // namespace pinion::engine
