// The sole owner of the node's state. Takes events one at a time, decides with the pure functions
// of topology/, and returns effects as data. It never waits: no file, socket, clock or thread here.
#pragma once

#include <memory>
#include <set>
#include <string_view>
#include <variant>

#include "agent/engine/fence.h"
#include "agent/engine/kept_cores.h"
#include "agent/engine/loans.h"
#include "agent/engine/state.h"
#include "agent/engine/with_pod.h"

namespace pinion::engine {

struct Settings {
  CpuSet reserved;                  // never given away exclusively
  bool strict_reservation = false;  // reserved CPUs are for system containers only
  Defaults defaults;
  Bytes machine_memory = 0;  // as the kubelet counts it; 0: that of the topology
  PartitionKinds partition_kinds = PartitionKinds::kRoot;
};

enum class FenceKind { kPartition, kTree, kLeaf, kRuntime };

// What came of an Enforce.
struct Enforced {
  std::string id;
  Cause cause = Cause::kAudit;
  std::optional<Applied> found;        // what stood there; nullopt: could not be read
  bool written = false;                // it differed and now is as wanted
  bool unfinished = false;             // the same, but for groups inside it that remain
  bool inherits = false;               // its file is empty: `found` is what it gets from above
  bool gone = false;                   // the container has no cgroup (any more)
  std::string error;                   // it differs and could not be written, or could not be read
  std::optional<Partition> partition;  // where one was asked for: what there is now
  std::string partition_error;         // where it is not the one asked for: why
  std::optional<CpuSet> limit;         // of a QoS group: all that systemd's setting leaves it
  std::string slice_error;  // of a QoS group: why systemd could not be told, its file was written
  bool systemd_writes = false;  // of a QoS group: systemd was at work on it since it was last seen
  bool quota_seen = false;  // its quota files were looked at, and are as wanted without an error
  std::string quota_error;
  std::optional<CpuQuota> quota_found;       // the container's own, before; nullopt: not read
  std::optional<CpuQuota> pod_quota_before;  // the pod's, where it was taken away now
};

// One thing to be done to the cgroups' files.
using Work = std::variant<Unguard, Enforce>;

// Events since the start; none ever goes back.
struct Counters {
  std::uint64_t exclusive_placed = 0;
  std::uint64_t shared_placed = 0;
  std::map<std::string, std::uint64_t, std::less<>> refused;  // by reason
  std::uint64_t preferred_not_met = 0;                        // placed wider than asked
  std::uint64_t resized = 0;
  std::uint64_t synchronized = 0;
  std::uint64_t kept = 0;             // ranks that kept their cores over a Synchronize
  std::uint64_t moved = 0;            // ranks that could not keep them (overlap, offline, reserved)
  std::uint64_t machine_changes = 0;  // times that CPUs went offline or came back
  std::uint64_t unplaced = 0;    // running containers that are entitled to cores and found none
  std::uint64_t adopted = 0;     // containers first heard of by a later event than their creation
  std::uint64_t lost_stops = 0;  // containers found gone without a StopContainer
  std::uint64_t late = 0;        // files not as told at START and POST_START
  std::uint64_t drift = 0;       // files changed by somebody else
  std::uint64_t repairs = 0;     // of late, drift and unpinned ones: written right again
  std::uint64_t write_failures = 0;
  std::uint64_t guarded = 0;          // partitions made
  std::uint64_t unguarded = 0;        // partitions that could not be made, or were lost
  std::uint64_t qos_groups_lost = 0;  // QoS groups that cannot be kept narrow
  std::uint64_t updates_told = 0;     // entries in update[] of answers
};

class Engine {
 public:
  Engine(topology::Topology topology, const Settings& settings, FenceKind fence);

  // Decides on one event. What next() gives afterwards is to be done before the reply is sent: it
  // must be in force before the runtime goes on.
  [[nodiscard]] Effects handle(const Event& event);

  // A rule of the state that does not hold, as a sentence: the process is to stop, a restart builds
  // the state anew. Takes a walk over all containers, so it is not for each answer; that no CPU is
  // given away twice is seen to before (topology::Ledger).
  [[nodiscard]] std::optional<std::string> broken() const;

  // What holds for decisions from now on; those that were made stay.
  void use(const Defaults& defaults) { settings_.defaults = defaults; }
  [[nodiscard]] const Defaults& defaults() const { return settings_.defaults; }

  // What is to be done now, as it is wanted at this moment; nothing when all is done. The result of
  // each Enforce goes to report() before the next is asked for.
  [[nodiscard]] std::optional<Work> next();

  // What pods have for containers that do not run there: also for those that are made and have not
  // started, as the runtime lists none whose start failed, and for those whose cores are lent. For
  // an agent after this one, by pod and name.
  [[nodiscard]] std::vector<KeptCores> kept() const;

  // What an agent before this one has saved. With the next Synchronize the pods keep it again, as
  // far as their sandboxes still run and nobody else runs there.
  void restore(std::vector<KeptCores> kept) { saved_ = std::move(kept); }

  // The result of an Enforce that next(), idle() or audit() asked for; more may be next() then.
  [[nodiscard]] std::vector<Note> report(const Enforced& result);

  // More has become known of this QoS group: it is next() to be looked at.
  void look_again(std::string_view group) { state_.work.push(group, Cause::kFence); }

  // One piece of work for a quiet moment, or nothing.
  [[nodiscard]] std::optional<Enforce> idle() const { return fence_->idle(state_); }

  // The next container whose groups inside remain to be gone on with, in turns; nothing where there
  // is none. For quiet moments: each is a piece of work of which a tenant decides how many there
  // are.
  [[nodiscard]] std::optional<Enforce> put_off();
  [[nodiscard]] bool has_put_off() const { return state_.work.has_put_off(); }

  // The QoS group or container after `id` in order, to be compared with its file; nothing after the
  // last one.
  // Call it with "" to begin a round.
  [[nodiscard]] std::optional<Enforce> audit(std::string_view after);

  [[nodiscard]] bool wants_resync() const { return fence_->wants_resync(state_); }
  [[nodiscard]] bool could_grow() const { return fence_->could_grow(state_); }

  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  // What the files of shared containers say; the kernel may leave them less (a partition's CPUs).
  [[nodiscard]] CpuSet pool() const { return fence_->pool(state_); }
  // CPUs that the kernel keeps this shared container off, whatever its file says: those of
  // partitions (guarded(), not to be worked out for each), and what its QoS group does not have.
  [[nodiscard]] CpuSet kept_off(const Member& member, const CpuSet& guarded) const;
  // CPUs that partitions keep everybody else off.
  [[nodiscard]] CpuSet guarded() const;
  [[nodiscard]] bool narrows_qos_groups() const { return fence_->narrows_qos_groups(); }
  [[nodiscard]] std::string_view fence_name() const { return fence_->name(); }
  [[nodiscard]] Cpuset target_of(const Member& member) const {
    return target(state_, member, pool());
  }

 private:
  void on(const Synchronize& event, Effects& effects);
  void on(const CreateContainer& event, Effects& effects);
  void on(const UpdateContainer& event, Effects& effects);
  void on(const UpdateOverdue& event, Effects& effects);
  void on(const StopContainer& event, Effects& effects);
  void on(const PodEvent& event, Effects& effects);
  void on(const ContainerEvent& event, Effects& effects);
  void on(const MachineChanged& event, Effects& effects);

  // engine.cpp
  // The key of the pod's group in State::qos_groups, which has it from now on; empty for none.
  std::string note_qos_group(const Pod& pod);
  PodRecord& record_of(const Pod& pod);
  Member& remember(const Pod& pod, const Container& container);
  std::optional<std::string> place(Member& member, const Entitlement& entitlement, const Pod& pod,
                                   Effects& effects);
  std::optional<std::string> find_place(Member& member, const Entitlement& entitlement,
                                        const Pod& pod, Effects& effects);
  void place_shared(Member& member, const topology::Request* of_pod, const std::string& why,
                    const Pod& pod, Effects& effects);
  void undo_updates(Effects& effects);
  void count_memory(Member& member);
  Bytes leave_out_memory(Member& member);
  void count_again(Member& member, Bytes others);
  void assign(Member& member, const topology::Request& request, const topology::Decision& decision);
  void run_on(Member& member, Kept cores);
  [[nodiscard]] bool is_kept_before(const Member& member) const;
  void note_start(Member& member, Life life);
  // The member runs on cores of its own no longer; the caller sees to its claim.
  void leave_cores(Member& member, Role role);
  void forget(const std::string& id);
  void replace_namesakes(const CreateContainer& event);
  [[nodiscard]] bool has_stopped(const Container& container) const;
  void leave_unplaced(Member& member, const Entitlement& entitlement, std::string refusal,
                      Effects& effects);
  Member* known(const Pod& pod, const Container& container, Effects& effects);
  [[nodiscard]] Entitlement entitlement_for(const Pod& pod, Member& member,
                                            const Resources& resources) const;
  [[nodiscard]] bool isolates_by_partition() const;
  static void warn(const Entitlement& entitlement, const Member& member, Effects& effects);
  // The text that the runtime, and so `kubectl describe pod`, will show.
  static std::string refusal_text(const Member& member, const std::string& why);
  std::string count_refusal(const Member& member, std::string_view reason, const std::string& text,
                            Effects& effects);
  std::string count_refusal(const Member& member, const topology::Refusal& refusal,
                            Effects& effects);

  // pod_cores.cpp
  void leave_to_pod(Member& member);
  void release_cores(Member& member);
  void release_pod(std::string_view pod_id);
  void release_if_idle(std::string_view pod_id);
  std::optional<topology::Refusal> reserve(Member& member, const Entitlement& entitlement,
                                           const Pod& pod);
  [[nodiscard]] bool has_namesake(const Member& member) const;
  bool regain(Member& member, const topology::Request& request);
  [[nodiscard]] bool runs_on_cores(std::string_view pod_id) const;
  std::vector<topology::Claim> withdraw(const Member& member, const topology::Request& request,
                                        bool to_plan);
  int put_back(const std::vector<topology::Claim>& claims, PodRecord& pod, const Member& member,
               int taken);
  std::optional<topology::Refusal> resize_cores(Member& member, const topology::Request& request,
                                                const Pod& pod);
  void trim_kept(const Member& member, const Pod& pod);
  bool place_anew(Member& member);
  bool hand_on(Effects& effects);
  void offer_cores(Effects& effects);

  // pod_rest.cpp
  struct Rest {
    int cpus = 0;
    int part = 1;                // see Kept
    topology::CpuSet planned{};  // CPUs planned for them that are free
  };
  std::optional<topology::Refusal> reserve_rest(const topology::Request& like,
                                                std::string_view pod_id, const Rest& rest,
                                                const CpuSet& near, bool anywhere);
  std::optional<topology::Refusal> keep_rest(const topology::Request& like, std::string_view pod_id,
                                             const Rest& rest, const CpuSet& near);
  void trim_rest(const Pod& pod);

  // kept_cores.cpp
  Entitlement entitlement_for_kept(const Pod& pod, const KeptCores& saved) const;
  std::string keep_again(const Pod& pod, const KeptCores& saved);
  void restore_kept(const Pod& pod, const KeptCores& saved, Effects& effects);

  // follow_loans.cpp
  void follow_loans(const Loans& before, std::string_view starting, std::vector<Note>& notes);
  void say_loans(const Loans& ended, const Loans& begun, std::vector<Note>& notes);

  // follow_company.cpp
  [[nodiscard]] static bool is_of_pod(const PodRecord& pod, const Member& member, int cpus);
  void join_pod(Member& member, std::string why);
  static void note_guest(Member& member);
  Company company();
  void leave_pods_without_cores();
  bool join_where_found(Member& member, const topology::Request& request, const CpuSet& seen);
  bool joins_instead(Member& member);
  void follow_company(const Company& before, std::string_view starting, std::vector<Note>& notes);

  // machine_change.cpp
  std::vector<Member*> adopt_on_changed_machine(bool same_nodes);

  // resize.cpp
  std::optional<std::string> resize(Member& member, const Entitlement& entitlement, const Pod& pod,
                                    Effects& effects);
  std::optional<std::string> agree(Member& member, const Resources& after,
                                   const Entitlement& entitlement, const Pod& pod,
                                   Effects& effects);
  void reserve_both(const Member& member);
  void tell_own(Member& member, Reply& reply);
  void confirm(Member& member, std::vector<Note>& notes);
  void take_back(Member& member);
  void keep_as_before(PodRecord& pod, const std::vector<PendingUpdate::KeptBefore>& before);
  void settle(Member& member, const Resources& record, std::vector<Note>& notes);
  void note_update(Member& member, const ContainerEvent& event, Effects& effects);
  void resize_unseen(Member& member, const Resources& after, const Pod& pod, Effects& effects);

  // synchronize.cpp
  void drop_unlisted(const Synchronize& event);
  void observe(Member& member, const Container& container, const Synchronize& event);
  bool adopt(Member& member, const topology::Request& request, const Cpuset& seen);
  void place_running(Member& member, Entitlement entitlement, const Pod& pod, const CpuSet& cpus,
                     Effects& effects);
  void count_wrong_files(const std::set<std::string_view>& untold);

  // compare.cpp
  void report_group(const std::string& name, QosGroup& group, const Enforced& result,
                    std::vector<Note>& notes);
  void compare_group(const std::string& name, QosGroup& group, const Enforced& result,
                     std::vector<Note>& notes);
  void mend_group(const std::string& name, QosGroup& group, const CpuSet& found,
                  std::vector<Note>& notes);
  void lose_group(const std::string& name, QosGroup& group, const std::string& why,
                  std::vector<Note>& notes);
  void report_partition(Member& member, const Enforced& result, std::vector<Note>& notes);
  void report_inner(Member& member, const Enforced& result, std::vector<Note>& notes);
  void report_quota(Member& member, const Enforced& result, std::vector<Note>& notes);
  void compare_quota(Member& member, const Enforced& result, std::vector<Note>& notes);
  void compare_pod_quota(const Member& member, const Enforced& result, std::vector<Note>& notes);

  Settings settings_;
  State state_;
  Counters counters_;
  std::unique_ptr<Fence> fence_;
  bool freed_ = false;            // a claim was given back since cores were last offered
  bool any_with_pod_ = false;     // somebody may run with its pod; false: nobody does
  std::vector<KeptCores> saved_;  // by an agent before this one, until all containers are known
};

}  // namespace pinion::engine
