// How everybody else is kept off a container's exclusive cores: one seam, several ways. A fence
// says what each file is to say, whose files are to be looked at (State::work) and what to tell the
// runtime; the shell does it. To add a way (cgroup v2 partitions, one write for a whole QoS class),
// implement this.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/engine/state.h"
#include "base/log/note.h"

namespace pinion::engine {

// Read the container's, or the whole QoS group's, cpuset files and, where they differ and writing
// is possible, write these.
struct Enforce {
  std::string id;
  std::string cgroups_path;
  std::uint32_t pid = 0;
  Cpuset cpuset;
  std::optional<Partition> partition = {};  // nullopt: of no concern
  std::optional<QuotaTarget> quota = {};    // the same
  Cause cause = Cause::kAudit;
  std::vector<CpuSet> halfway = {};  // of its member
  bool put_off = false;              // groups inside it are for a quiet moment
  bool qos_group = false;            // `id` and `cgroups_path` are a key of State::qos_groups
  std::vector<CpuSet> below = {};    // of a QoS group: for within()

  bool operator==(const Enforce&) const = default;
};

// A container that did not get what it asked for.
struct Refused {
  std::string name_space;
  std::string pod;
  std::string container;
  std::string reason;
  std::string text;
};

// What follows from one event, besides the files of Engine::next(), which come first.
struct Effects {
  Reply reply;
  std::vector<Note> notes;
  std::vector<Refused> refused;  // of this event; the reply says the same to the runtime
  bool may_update = false;       // the answer to this event can carry updates of other containers
};

class Fence {
 public:
  virtual ~Fence() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  [[nodiscard]] virtual bool makes_partitions() const { return false; }
  // Whether one container's cores can be lent to another.
  [[nodiscard]] virtual bool lends() const { return true; }
  // Whether Burstable and BestEffort containers are kept off by the groups of their classes.
  [[nodiscard]] virtual bool narrows_qos_groups() const { return false; }
  // The claims that others are kept off by their own files or answers, and not by the kernel.
  [[nodiscard]] virtual CpuSet held(const State& state) const { return state.ledger.exclusive(); }
  // What the files of shared containers are to say, but for those that a QoS group keeps off:
  // touches nothing held, never empty.
  [[nodiscard]] virtual CpuSet pool(const State& state) const = 0;
  // The member's files, to be brought to its target.
  // `pool`: pool(state), which is not worked out anew for each of many members.
  [[nodiscard]] virtual Enforce enforce(const State& state, const Member& member,
                                        const CpuSet& pool, Cause cause) const;

  // The same for a QoS group: without its limit, which may be another one by then. The shell keeps
  // to that, as within() says.
  [[nodiscard]] static Enforce enforce_group(const State& state, const std::string& name,
                                             const QosGroup& group, const CpuSet& pool,
                                             Cause cause);

  // A pod comes into being.
  virtual void pod_runs(State& /*state*/) {}
  // Cores were allocated to an exclusive container that has not started yet.
  virtual void allocated(State& state, Effects& effects) = 0;
  // Cores were allocated to an exclusive container that is running: a resize.
  virtual void allocated_running(State& state, Effects& effects) = 0;
  // The container's program is about to run.
  virtual void starting(State& state, const Member& member) = 0;
  // Cores were released.
  virtual void released(State& state, Effects& effects) = 0;
  // The kernel does not keep others off as it should, as was seen just now of the partition of
  // `except`, or of a QoS group: it must be done at once for all but `except`.
  virtual void unguarded(State& /*state*/, std::string_view /*except*/) const {}
  // The answer to this event can carry updates, and no cores were released by it.
  virtual void answering(State& /*state*/, Effects& /*effects*/) {}
  // All containers are known anew; their records are what the runtime last reported.
  virtual void synchronized(State& state, Effects& effects) = 0;
  // One piece of work that can wait for a quiet moment, or nothing.
  [[nodiscard]] virtual std::optional<Enforce> idle(const State& state) const = 0;
  // A container is not as told and only a new Synchronize can mend it.
  [[nodiscard]] virtual bool wants_resync(const State& state) const = 0;
  // Shared containers could have more CPUs, and are told so in the next answer that carries
  // updates.
  [[nodiscard]] virtual bool could_grow(const State& /*state*/) const { return false; }
};

// `leaf`: every shared container's own file is written. Needs a writable cgroup tree.
std::unique_ptr<Fence> make_leaf_fence();

// `tree`: one write to the group of each QoS class moves everybody below it; their own files say
// all CPUs. Guaranteed pods lie beside those groups: their shared containers are kept off as by
// `leaf`, and so are those of a group that cannot be written or that somebody else writes too.
// Needs cgroup v2, where a group's own CPUs are clipped to what those above it have.
std::unique_ptr<Fence> make_tree_fence();

// `partition`: an exclusive container becomes a cpuset partition, and the kernel takes its cores
// from everybody else at once; nothing is written for shared containers. A container whose
// partition cannot be made is fenced as by `leaf`. Needs cgroup v2 with remote partitions.
enum class PartitionKinds {
  kRoot,      // always root
  kAsked,     // isolated where the pod asks for it
  kIsolated,  // always isolated
};
std::unique_ptr<Fence> make_partition_fence(PartitionKinds kinds);

// `runtime`: updates in the answers to the runtime, for where the tree cannot be written. Each
// costs the runtime a `runc update`, so the pool gives up whole L3 domains at once and takes cores
// back late.
std::unique_ptr<Fence> make_runtime_fence(const State& state);

// What the member's file is to say: its own unless that is lent, or its pod's, or the pool and what
// is lent to it (the reserved CPUs for a system container under strict reservation; all that are
// open to anybody for one that a QoS group keeps off). The memory nodes of what is lent are among
// the borrower's.
[[nodiscard]] Cpuset target(const State& state, const Member& member, const CpuSet& pool);

// What the file of a QoS group is to say: all CPUs where it does not keep anybody off, because a
// set that has nothing in common with those of the files below would put everybody on all of it.
// Within the group's limit.
[[nodiscard]] CpuSet group_target(const State& state, std::string_view name, const QosGroup& group,
                                  const CpuSet& pool);

// `cpus` as far as the limit allows; all of them where that would leave none, or nothing in common
// with one of the sets that files `below` say.
[[nodiscard]] CpuSet within(const std::optional<CpuSet>& limit, const CpuSet& cpus,
                            const std::vector<CpuSet>& below);

// True when `applied` is `wanted`; an empty wanted.mems matches everything.
[[nodiscard]] bool matches(const Applied& applied, const Cpuset& wanted);

}  // namespace pinion::engine
