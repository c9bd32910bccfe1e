// All that the agent knows of its node: who runs here and on what. Held and changed by the engine
// alone; fences and readers see it const.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/engine/events.h"
#include "agent/engine/work_queue.h"
#include "base/log/note.h"
#include "policy/policy.h"
#include "topology/ledger.h"

namespace pinion::engine {

using policy::Defaults;
using policy::Entitlement;
using policy::Labels;
using policy::Lending;
using policy::Privilege;
using policy::Qos;

enum class Role {
  kShared,     // runs in the shared set, with everybody else
  kWaiting,    // the same, though it is entitled to cores for `request`: none were free
  kExclusive,  // runs on the cores of its claim in the ledger
};

enum class Life {
  kCreated,  // its program is not about to run yet
  kFound,    // it runs, and did when it was first heard of
  kStarted,  // it was started under our eyes: its program runs or is about to
};

// Why the cores of a container that would lend them are not lent.
enum class NoLoan {
  kNone,
  kFence,         // it is one that cannot lend
  kNotExclusive,  // the lender has no cores of its own
  kNotStarted,    // neither has the lender
  kNoPod,         // of that name and namespace, with a live container
  kNoContainer,   // of that name in it
  kSeveral,       // containers are meant
  kNotRunning,    // the borrower is not started
  kDoesNotBorrow,
  kNotGuaranteed,  // the borrower's pod: a group above it keeps it off all exclusive cores
  kNotShared,      // the borrower has exclusive cores, or waits for some
};

// What the ledger calls the cores of the pod's container of that name, whichever attempt of it
// runs. `name` empty: of those that are still to come.
[[nodiscard]] std::string claim_id(std::string_view pod_id, std::string_view name);

// The name of the claim on what an update of that container needs besides what it has, until the
// runtime has done it.
[[nodiscard]] std::string reserve_id(std::string_view container_id);

// What a container states, and what it was given for that.
struct Size {
  Resources resources;        // as last stated by the runtime, updates merged in
  topology::Request request;  // what it was given `own` for, or waits for
  Cpuset own;                 // kExclusive: what it was given
  topology::Why why;          // kExclusive: how `own` was chosen
  std::string shared_why;     // kShared: why it has no CPUs alone
  std::string trouble;        // why it is not as it should be; empty when it is
  Role role = Role::kShared;
  // It states as many CPUs as its pod has as a whole, so it shares the pod's cores: its own with
  // others, or theirs, see with_pod.h.
  bool of_pod = false;
  bool unbound = false;  // its memory was bound to its cores' NUMA nodes, and is so no more

  // It runs on the cores that its pod's containers share, as far as there are some.
  [[nodiscard]] bool with_pod() const { return role == Role::kShared && of_pod; }
};

// Cores that a pod holds for a container that does not run: one that has ended and may come again,
// or those to come.
struct Kept {
  topology::Request request;
  Cpuset own;
  topology::Why why;
  int part = 0;  // of those to come: CPUs of the pod's first container, as the others may ask for
  std::uint64_t since = 0;  // kept_revision() when its container ended
  bool of_pod = false;      // as in Size
};

// An update to which the engine has agreed, and of which the runtime has not said yet that it is
// done: it may refuse it without a word. Until then the container is what it was, and the ledger
// holds what both sizes need; see resize.cpp.
struct PendingUpdate {
  struct KeptBefore {
    std::string name;
    Kept kept;
    topology::Claim claim;
  };

  Size size;                                    // that it is to be
  std::optional<topology::Claim> claim;         // of that size
  std::optional<topology::Claim> claim_before;  // of the size that it has
  std::optional<Cpuset> told_before;            // Member::told
  std::vector<KeptBefore> kept_before;          // by its pod, where that has changed
  std::int64_t milli = 0;                       // by which its pod's CPUs as a whole change
  std::vector<Note> notes;                      // to be said when it is done
};

// One live container. Its cpuset is known three times over: decided (target()), told (to the
// runtime, last) and applied (in the cgroup's own file, when last seen).
struct Member : Size {
  std::string id;
  std::string claim;  // claim_id()
  std::string name;
  std::string pod_id;
  std::string pod_uid;  // of the Kubernetes object
  std::string pod_name;
  std::string name_space;
  std::string cgroups_path;
  std::string qos_group;  // a key of State::qos_groups, or empty
  Labels labels;
  Lending lending;
  std::optional<PendingUpdate> pending;
  std::optional<std::int64_t> oom_score_adj;  // as in Container
  Bytes counted_memory = 0;        // of the ledger's shared_memory(); set_counted_memory()
  NodeSet near_nodes;              // beside its devices
  std::optional<Cpuset> told;      // nullopt: nothing yet, or known to be lost
  std::optional<Applied> applied;  // nullopt: never seen
  // Why updates were refused or not done, until one is.
  std::set<std::string> said_of_resizes;
  std::string unguarded_why;  // the last try to make a partition failed: left alone until the audit
  // Its own quota as it was left when last seen; nullopt: never, or the runtime writes it.
  std::optional<CpuQuota> quota_left;
  std::string quota_trouble;      // why its quota, or its pod's, is not as wanted; empty when it is
  NoLoan unlent = NoLoan::kNone;  // why it does not lend, as last said in the log
  std::uint32_t pid = 0;
  Qos qos = Qos::kUnknown;
  // Where it is between its creation and its end. What stands below is of its pod, its cpuset's
  // file or its quota, and each may be whatever its life is.
  Life life = Life::kCreated;
  // Groups inside it are not as its file is to say yet: what they may still have all of, and how
  // often they were gone on with. Nothing and 0: they are.
  std::vector<CpuSet> halfway;
  int pieces = 0;
  int missing = 0;          // audits in a row that found no cgroup
  bool system = false;      // may run on reserved CPUs although they are kept from others
  bool repair_due = false;  // its file was found wrong, not by our doing, and is not mended yet
  bool stuck = false;       // the last write failed: left alone until the next audit or event
  bool crowded = false;     // they are so many that they wait for a quiet moment
  bool isolate = false;     // kExclusive: its pod asked for an isolated partition
  bool guarded = false;     // kExclusive: a partition keeps others off `own`, as last seen
  bool unlimited = false;   // its CFS quota was taken away, or may have been; see quota.h

  [[nodiscard]] bool started() const { return life != Life::kCreated; }
  // Of the sizes that it has and may have in a moment, the one of more cores.
  [[nodiscard]] const Size& larger() const;
};

// The name under which a pod keeps what is for those to come.
inline constexpr std::string_view kRest;

// By container name, or kRest.
using KeptByName = std::map<std::string, Kept, std::less<>>;

// A pod whose sandbox is there, as far as its containers' lives are too short to remember it.
struct PodRecord {
  std::string uid;
  std::string name;
  std::string name_space;
  std::vector<Member*> members;  // its live containers, as they were heard of
  // Ids of containers that were stopped and are not removed yet. A program that ends at once is
  // told to have stopped before it is told to have started.
  std::set<std::string, std::less<>> stopped;
  Bytes counted_memory = 0;       // of its members together
  std::optional<CpuQuota> quota;  // of the pod's group, before it was taken away
  // The kubelet has no reason to write another one, until a container is resized or nobody listens
  // for a while.
  bool quota_trusted = false;
  // CPUs of the pod as a whole in thousandths, as the runtime tells them when its sandbox is made,
  // and as they are since its containers were resized. nullopt: not told.
  std::optional<std::int64_t> told_milli;
  std::optional<std::int64_t> milli;
  // No container of it insists on cores of its own, and none lends them.
  bool shares = true;
  // An agent before this one has left what it keeps: which of its containers have ended and are not
  // removed yet is not known, so only its sandbox tells that none of them comes again.
  bool restored = false;

  [[nodiscard]] const KeptByName& kept() const { return kept_; }

 private:
  friend struct State;
  KeptByName kept_;  // see State::change_kept()
};

// A QoS class's group of cgroup v2, whose CPUs bound those of everybody below it (fence `tree`).
struct QosGroup {
  std::optional<CpuSet> applied;  // nullopt: never seen
  std::optional<CpuSet> limit;    // what the property AllowedCPUs of systemd's leaves it
  std::string slice_error;        // why systemd could not be told about it, last
  bool keeps = true;    // it keeps those below off exclusive cores, so their own files need not
  bool mended = false;  // somebody else wrote its file once
  bool stuck = false;   // the last write failed: left alone until the next audit
};

struct State {
  State() = default;
  State(State&&) = default;  // no copies: pods point to their members
  State& operator=(State&&) = default;

  topology::Topology topology;
  topology::Ledger ledger;
  std::map<std::string, Member, std::less<>> members;  // by container id; see put_member()
  std::set<std::string, std::less<>> lenders;          // of these, whose pods would lend cores

  // By the name that cgroups are told by; both of each kubelet of whose pods one is known. Empty
  // but for the fence `tree`.
  std::map<std::string, QosGroup, std::less<>> qos_groups;

  std::map<std::string, PodRecord, std::less<>> pods;  // by id of the sandbox

  bool lends = true;  // whether the fence can, see loans.h

  WorkQueue work;  // files to be looked at, see Engine::next()
  // Partitions whose containers left their cores, by their keys in `work`; see leave_partition().
  std::map<std::string, Unguard, std::less<>> left_partitions;

  // SHARED: online CPUs that no claim holds, isolated ones left out while others are there, and
  // without the reserved ones under strict reservation. Never empty.
  [[nodiscard]] CpuSet shared() const { return open_to_all(ledger.exclusive()); }
  // The same with `held` in the place of all claims.
  [[nodiscard]] CpuSet open_to_all(const CpuSet& held) const;
  // The group that keeps this one off exclusive cores, or nullptr: its own file must.
  [[nodiscard]] const QosGroup* keeper_of(const Member& member) const;
  // The container's entry, a new one if it is unknown, among its pod's. The pod has a record.
  Member& put_member(const std::string& id, const std::string& pod_id);
  void erase_member(const std::string& id);
  // The member's partition, of these CPUs, is to be taken away before any file is written: somebody
  // else may run there next.
  void leave_partition(Member& member, const CpuSet& cpus);
  // Its namespace, pod and name, by which others may mean it, and whom it means.
  void name_member(Member& member, const std::string& name_space, const std::string& pod_name,
                   const std::string& name, Lending lending);
  // The containers that the lender's pod means, itself left out: all of the first pod that has one,
  // and one more where another pod has one too.
  [[nodiscard]] std::vector<const Member*> meant_by(const Member& lender) const;
  // Whether it means a pod that has another container than the lender.
  [[nodiscard]] bool means_pod_beside(const Member& lender) const;
  // Those whose pods mean that container.
  [[nodiscard]] std::vector<const Member*> lenders_to(const Member& borrower) const;
  // What name_member() has listed is not what the members say: the first such thing as a sentence.
  [[nodiscard]] std::optional<std::string> broken_names() const;
  // What the pod keeps, for who changes it.
  [[nodiscard]] KeptByName& change_kept(PodRecord& pod) {
    ++kept_revision_;
    return pod.kept_;
  }
  // The same for what is lent.
  void note_loans_change() { ++kept_revision_; }
  // Grows with each change of what a pod keeps or lends, also where the same event takes it back.
  [[nodiscard]] std::uint64_t kept_revision() const { return kept_revision_; }
  // What a container has that has not started changes, or it starts; or what was kept runs.
  void note_unstarted_change() { ++unstarted_revision_; }
  // Grows with each of these changes: mostly a container is made and starts a moment later.
  [[nodiscard]] std::uint64_t unstarted_revision() const { return unstarted_revision_; }
  // So much of the ledger's shared memory is for this one. It is listed with its pod.
  void set_counted_memory(Member& member, Bytes bytes);
  // Those of one pod; none of an unknown one.
  [[nodiscard]] const std::vector<Member*>& members_of(std::string_view pod_id) const;
  [[nodiscard]] Member* find(std::string_view id);
  [[nodiscard]] const Member* find(std::string_view id) const;

 private:
  void leave_pod(Member& member);
  void unname(const Member& member);

  // Ids by a namespace and up to two other names.
  using Names = std::array<std::string, 3>;
  using Index = std::map<Names, std::set<std::string>>;
  [[nodiscard]] static Names meant_names(const Member& lender);
  Index named_;    // by container and pod
  Index of_pods_;  // by pod
  Index meaning_;  // lenders, by container and pod as they say them
  std::uint64_t kept_revision_ = 0;
  std::uint64_t unstarted_revision_ = 0;
};

// The first broken rule of the state as a sentence, or nothing: pods and names list their
// containers, claims correspond one to one to exclusive members, what pods keep and what updates
// have reserved, nobody runs on what another pod's holds, or one of its own pod that does not share
// its cores, no claim touches a reserved or offline CPU,
// shared memory is counted right, the shared set and `pool` are not empty and touch no claim; of
// the claims only `held` count against the pool.
[[nodiscard]] std::optional<std::string> broken_invariant(const State& state, const CpuSet& pool,
                                                          const CpuSet& held);

}  // namespace pinion::engine
