#include "agent/engine/fence.h"

namespace pinion::engine {
namespace {

// The pool is remembered: it changes only when it must. Shrinking takes the whole L3 domain of the
// cores taken, so that the next container there costs no update; growing waits until the pool has
// less than half of what is free, and for an answer that can say so, which a pod's end has none.
class RuntimeFence final : public Fence {
 public:
  explicit RuntimeFence(const CpuSet& pool) : pool_(pool) {}

  [[nodiscard]] std::string_view name() const override { return "runtime"; }
  // The borrower's pod keeps its CPU quota, which no answer reaches: lent cores would stand idle.
  [[nodiscard]] bool lends() const override { return false; }
  [[nodiscard]] CpuSet pool(const State& /*state*/) const override { return pool_; }

  void allocated(State& state, Effects& effects) override {
    if (pool_.intersects(state.ledger.exclusive())) pool_ = shrunk(state);
    tell(state, effects);
  }
  void allocated_running(State& state, Effects& effects) override { allocated(state, effects); }

  void starting(State& state, const Member& member) override {
    state.work.push(member.id, Cause::kStart);
  }

  void released(State& state, Effects& effects) override {
    const CpuSet shared = state.shared();
    pool_ &= shared;  // isolated CPUs that stood in leave it again
    if (pool_.empty() || (effects.may_update && could_grow(state))) pool_ = shared;
    tell(state, effects);
  }

  void answering(State& state, Effects& effects) override {
    if (could_grow(state)) released(state, effects);
  }

  void synchronized(State& state, Effects& effects) override { released(state, effects); }

  [[nodiscard]] std::optional<Enforce> idle(const State& /*state*/) const override {
    return std::nullopt;
  }

  [[nodiscard]] bool wants_resync(const State& state) const override {
    for (const auto& [id, member] : state.members) {
      if (member.started() && !as_told(member, target(state, member, pool_))) return true;
    }
    return false;
  }

  [[nodiscard]] bool could_grow(const State& state) const override {
    return 2 * pool_.count() < state.shared().count();
  }

 private:
  // What the runtime was last told holds, unless the file has shown that it was lost. With a
  // pending update it is told something else.
  static bool as_told(const Member& member, const Cpuset& wanted) {
    if (member.pending) return true;
    if (!member.told || *member.told != wanted) return false;
    return !member.applied || matches(*member.applied, wanted);
  }

  [[nodiscard]] CpuSet shrunk(const State& state) const {
    const CpuSet shared = state.shared();
    CpuSet by_domain = pool_ & shared;
    for (const topology::Cache& l3 : state.topology.l3s) {
      if (l3.cpus.intersects(state.ledger.exclusive())) by_domain -= l3.cpus;
    }
    return 2 * by_domain.count() >= shared.count() ? by_domain : shared;
  }

  // Where the answer cannot carry updates, wants_resync() is true from now on.
  void tell(State& state, Effects& effects) const {
    if (!effects.may_update) return;
    for (auto& [id, member] : state.members) {
      const Cpuset wanted = target(state, member, pool_);
      if (!member.started() || as_told(member, wanted)) continue;
      effects.reply.updates.push_back({.id = id, .cpuset = wanted});
      member.told = wanted;
      member.applied.reset();  // to be seen anew
    }
  }

  CpuSet pool_;
};

}  // namespace

std::unique_ptr<Fence> make_runtime_fence(const State& state) {
  return std::make_unique<RuntimeFence>(state.shared());
}

}  // namespace pinion::engine
