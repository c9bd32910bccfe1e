// The leaf fence, for those that fall back on it.
#pragma once

#include "agent/engine/fence.h"

namespace pinion::engine {

// At START of an exclusive container every shared one that may still run on somebody's cores is
// moved off them before the program's first instruction. Giving cores back is nobody's hurry: it is
// done one file at a time when nothing else is to do.
class LeafFence : public Fence {
 public:
  [[nodiscard]] std::string_view name() const override { return "leaf"; }
  [[nodiscard]] CpuSet pool(const State& state) const override;

  void allocated(State& /*state*/, Effects& /*effects*/) override {}
  void allocated_running(State& state, Effects& effects) override;
  void starting(State& state, const Member& member) override;
  void released(State& /*state*/, Effects& /*effects*/) override {}
  void unguarded(State& state, std::string_view except) const override { evict(state, except); }
  void synchronized(State& /*state*/, Effects& /*effects*/) override {}
  [[nodiscard]] std::optional<Enforce> idle(const State& state) const override;
  [[nodiscard]] bool wants_resync(const State& /*state*/) const override { return false; }

 protected:
  // All running members but `except` whose files have what is held for another.
  void evict(State& state, std::string_view except) const;
};

}  // namespace pinion::engine
