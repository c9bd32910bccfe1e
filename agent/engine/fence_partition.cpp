#include "agent/engine/fence_leaf.h"
#include "agent/engine/loans.h"
#include "agent/engine/with_pod.h"

namespace pinion::engine {
namespace {

// Files of shared containers say every CPU that is open to anybody; what a partition holds is not
// in effect there, by the kernel's doing. Only what should be a partition and is not, and what is
// lent or shared in a pod and so cannot be one container's, is held as by the leaf fence.
class PartitionFence final : public LeafFence {
 public:
  explicit PartitionFence(PartitionKinds kinds) : kinds_(kinds) {}

  [[nodiscard]] std::string_view name() const override { return "partition"; }

  [[nodiscard]] bool makes_partitions() const override { return true; }

  [[nodiscard]] CpuSet held(const State& state) const override {
    CpuSet held = lent_cpus(state) | cpus_with_pods(state);
    for (const auto& [id, member] : state.members) {
      if (member.role == Role::kExclusive && !member.unguarded_why.empty()) {
        held |= member.own.cpus;
      }
    }
    return held;
  }

  [[nodiscard]] Enforce enforce(const State& state, const Member& member, const CpuSet& pool,
                                Cause cause) const override {
    Enforce piece = Fence::enforce(state, member, pool, cause);
    if (is_partition(state, member)) {
      piece.partition = Partition{.kind = kind_for(member), .cpus = member.own.cpus};
    }
    return piece;
  }

  // The kernel moves the others.
  void allocated_running(State& /*state*/, Effects& /*effects*/) override {}
  void starting(State& state, const Member& member) override {
    const bool in_company = has_company(state, member) || runs_with_pod(state, member);
    if (is_lent(state, member) || in_company) evict(state, member.id);
    state.work.push(member.id, Cause::kStart);
  }

  void synchronized(State& state, Effects& /*effects*/) override {
    for (auto& [id, member] : state.members) {
      if (!member.applied) continue;
      const Partition& found = member.applied->partition;
      if (is_partition(state, member)) {
        member.guarded = found == Partition{.kind = kind_for(member), .cpus = member.own.cpus};
        // One from before a resize that no agent has heard of keeps others off what is theirs now.
        const bool stale = !member.guarded && found.kind != Partition::Kind::kNone;
        if (stale) state.work.push(id, Cause::kFence);
      } else if (found.kind != Partition::Kind::kNone) {
        state.leave_partition(member, found.cpus);
      }
    }
  }

  [[nodiscard]] std::optional<Enforce> idle(const State& state) const override {
    for (const auto& [id, member] : state.members) {
      const bool wanting = is_partition(state, member) && !member.guarded && !member.pending;
      if (wanting && member.started() && !member.stuck && member.unguarded_why.empty()) {
        return enforce(state, member, pool(state), Cause::kFence);
      }
    }
    return LeafFence::idle(state);
  }

 private:
  [[nodiscard]] static bool is_partition(const State& state, const Member& member) {
    return member.role == Role::kExclusive && !is_lent(state, member) &&
           !has_company(state, member);
  }

  [[nodiscard]] Partition::Kind kind_for(const Member& member) const {
    const bool isolated =
        kinds_ == PartitionKinds::kIsolated || (kinds_ == PartitionKinds::kAsked && member.isolate);
    return isolated ? Partition::Kind::kIsolated : Partition::Kind::kRoot;
  }

  PartitionKinds kinds_;
};

}  // namespace

std::unique_ptr<Fence> make_partition_fence(PartitionKinds kinds) {
  return std::make_unique<PartitionFence>(kinds);
}

}  // namespace pinion::engine
