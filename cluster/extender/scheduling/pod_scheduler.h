// kube-scheduler's questions answered by the core: which nodes a pod may go to, which is best,
// whether its binding may be made. The pods that the API server tells of become members of jobs
// (core/scheduler.h), which decides; here is what only the protocol needs: bind calls that are held
// until a gang's last one has come, nominations, pods to be touched. A gang whose pods have
// Pinion's scheduling gate is planned before anybody asks about it, and its gates are taken off
// then. Takes one event at a time and says what is to be done outside (effects.h). No clock, no
// thread, no network.
//
// Nothing waits for anything without a limit: held calls end when the gang is whole, when `hold_ms`
// have passed since the first, or when a member is gone. Of the gangs that kube-scheduler keeps
// together itself no call is held, and the places end with its cycle (group_cycles.h).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/core/scheduler.h"
#include "cluster/extender/scheduling/demand.h"
#include "cluster/extender/scheduling/effects.h"
#include "cluster/extender/scheduling/gates.h"
#include "cluster/extender/scheduling/group_cycles.h"
#include "cluster/extender/scheduling/held_binds.h"
#include "cluster/extender/scheduling/node_facts.h"
#include "cluster/extender/scheduling/pod_cache.h"
#include "cluster/extender/scheduling/preemption.h"
#include "cluster/extender/scheduling/recent.h"
#include "cluster/extender/scheduling/waiting.h"

namespace pinion::cluster {

struct PodSchedulerLimits {
  std::int64_t hold_ms = 20'000;  // a bind call is held; below the scheduler's time-out for it
  // Places of a gang of kube-scheduler's own are kept without a question or a bind: longer than its
  // cycle takes from one member to the next, and from the last one to the first bind. A tenth of
  // that when the cycle before came to nothing.
  std::int64_t cycle_ms = 3000;
  std::int64_t epoch_ms = 0;    // the time of day, since 1970, when `now_ms` was 0
  std::size_t pods = 200'000;   // known at once
  std::size_t held = kMaxGang;  // bind calls at one time, kMaxGang or more
  SchedulerSettings scheduler{.head_after_ms = 60'000, .head_ms = 1'800'000};
};

// What the nodes of a question are.
enum class AskedNodes {
  kAll,        // all that the scheduler would take
  kSample,     // some of them: it stops looking when it has 100 or more
  kNominated,  // the one that the pod's status names, before all others
};

struct GangCounters {
  std::uint64_t planned = 0;
  std::uint64_t refused = 0;
  std::uint64_t whole = 0;     // all members were let go together
  std::uint64_t given_up = 0;  // plans that were withdrawn
};

struct FilterAnswer {
  struct Text {
    std::string text;       // no node's name in it: the scheduler counts equal ones
    bool hopeless = false;  // evicting pods there would not help
  };
  bool ours = false;  // else all nodes pass
  std::vector<std::uint8_t>
      verdict;  // by position of the node: 0 passes, else index into texts + 1
  std::vector<Text> texts;
  std::string why;  // where none passes: what most nodes are refused with
};

class PodScheduler {
 public:
  PodScheduler(const policy::Defaults& defaults, const PodSchedulerLimits& limits)
      : defaults_(defaults),
        limits_(limits),
        scheduler_(limits.scheduler),
        nodes_(scheduler_),
        held_(limits.held, limits.hold_ms),
        cycles_(limits.cycle_ms),
        preemption_(scheduler_, cache_, nodes_) {}
  PodScheduler(const PodScheduler&) = delete;
  PodScheduler& operator=(const PodScheduler&) = delete;

  // --- the scheduler's questions

  FilterAnswer filter(const Pod& pod, const std::vector<std::string_view>& nodes,
                      std::int64_t now_ms);
  // 0 .. 10 by position of the node; all 0 for a pod that is neither ours nor a service, and for
  // one that is a service by its target alone, unless there is a setting for services.
  std::vector<int> scores(const Pod& pod, const std::vector<std::string_view>& nodes) const;
  BindAnswer bind(const std::string& uid, const std::string& node, CallId call_id,
                  std::int64_t now_ms);
  // What the pod is told with its binding, as annotations for its agent: the CPUs that are promised
  // to its containers, so that the agent takes those whatever comes first there, and its task group
  // where the gang is cut into groups. Empty for a pod without a promise.
  [[nodiscard]] std::map<std::string, std::string> told_with_binding(const std::string& uid) const;
  // After a kGo: what the API server said; `done` also where nobody knows: then the same binding
  // may be made again, and its cores are kept for `confirm_ms` unless the API server tells of the
  // pod.
  void bound(const std::string& uid, bool done, std::int64_t now_ms);
  // Which of the proposals are to be carried out (preemption.h); all for a pod that is not ours.
  std::vector<Eviction> preempt(const Pod& pod, std::vector<Eviction> proposals,
                                std::int64_t now_ms);

  // --- what the API server tells

  // The pod exists. One that is bound already and that no agent has reported yet is promised its
  // cores, for as long as it exists; false where its node has no room for it, and the agent there
  // will refuse it. Then, where no agent speaks for the node yet, and when a report names it no
  // more (a container that is started again, an agent that has forgotten), it is promised with the
  // next report that has room for it.
  bool seen(const Pod& pod, std::int64_t now_ms);
  // It is deleted: until then what it requests counts on its node, whether it wants cores or not.
  void gone(const std::string& uid, std::int64_t now_ms);
  // A node, as it is now; lost() ends it.
  void node(const NodeView& node, std::int64_t now_ms) {
    nodes_.told(node, now_ms);
    heed();
  }
  // Whether the API server has PodGroups of this API at all; before it is said, it has not.
  void serve_groups(PodGroupApi api, bool served) { groups_.serve(api, served); }
  // The PodGroup with this key (group_key()) wants so many to start together, nullopt: it is no
  // gang; and it is deleted.
  void group(const std::string& key, std::optional<std::int64_t> members, std::int64_t now_ms);
  void group_gone(const std::string& key) { groups_.erase(key); }
  // The owner of the gang (Demand::gang) wants so many members now, whatever its pods say that was
  // written when it was made. Forgotten with its last pod; not heeded for a gang without pods, and
  // above kMaxGang.
  void resize(const JobId& gang, int members, std::int64_t now_ms);

  // --- what the agents tell

  Result<std::vector<LostPromise>> report(NodeReport report, std::int64_t now_ms);
  // False: the node is not known, its agent has to report it.
  bool heard(std::string_view node, std::int64_t now_ms);
  void unlinked(std::string_view node, std::int64_t now_ms);
  void measured(std::string_view node, MissRates rates);
  void lost(std::string_view node, std::int64_t now_ms);  // the node is no more

  // To be called when all that exists has been told after a start, before the first question: gangs
  // that are bound in part come before all others. No gate is taken off before.
  void complete_gangs(std::int64_t now_ms);

  // Ends what has lasted too long, plans the gangs that wait at their gates, and finds the refused
  // pods that would fit now. To be called at next_ms() or later; before that it does nothing.
  void tick(std::int64_t now_ms);
  // When tick() has something to do, also where nothing happens meanwhile: in milliseconds of the
  // same clock, past already where it has now; nullopt: never. Any call that is not const may
  // change it.
  [[nodiscard]] std::optional<std::int64_t> next_ms() const;
  // All held binds are refused, for instance because the extender stops.
  void refuse_held(const std::string& why, std::int64_t now_ms);

  // What is to be done since the last call.
  Effects take_effects();

  [[nodiscard]] const Fleet& fleet() const { return scheduler_.fleet(); }
  [[nodiscard]] const NodeFacts& nodes() const { return nodes_; }
  // Of a pod that is no member of a gang there is a job of its own.
  [[nodiscard]] const JobBook& book() const { return scheduler_.book(); }
  [[nodiscard]] std::vector<const Job*> gangs() const;  // by id
  // Calls `visit` with each of the wanted pods that has CPUs on a node, and with these.
  void visit_held(
      const std::function<bool(const PodRef&)>& wanted,
      const std::function<void(const PodRef&, NodeIndex, const topology::CpuSet&)>& visit) const;
  [[nodiscard]] const GangCounters& gang_counters() const { return gang_counters_; }
  [[nodiscard]] int held(const JobId& gang) const { return held_.count(gang); }
  // Why the gang waits where nobody is asked about it: for members, or at its gates; empty: it does
  // not.
  [[nodiscard]] std::string why_gated(const Job& gang) const;
  [[nodiscard]] std::size_t gated() const { return gates_.pods(); }  // pods
  // By uid.
  [[nodiscard]] const std::map<std::string, Waiting>& waiting() const { return waiting_.all(); }
  [[nodiscard]] std::size_t pods() const { return cache_.size(); }
  [[nodiscard]] std::size_t placed() const { return cache_.placed(); }  // of them

 private:
  // A question about a pod may be on its way while the pod is deleted, for as long as the
  // scheduler's time-out and longer where the network is slow.
  static constexpr std::size_t kGoneKept = 20'000;
  // Pods of a gang come one after another: before that their user is told nothing.
  static constexpr std::int64_t kComplainMs = 5000;
  static constexpr int kJudgedEachSecond = 20;  // of those that the scheduler alone has refused
  // While gangs wait at their gates: from one look at their reasons to the next.
  static constexpr std::int64_t kLookMs = 1000;

  bool take_in(const Pod& pod, std::int64_t now_ms);
  bool take_in_as_it_is(const Pod& pod, std::int64_t now_ms);
  void end_unless_awaited(const std::string& uid, std::int64_t now_ms);
  KnownPod* know(const Pod& pod, Demand demand, std::int64_t now_ms);
  KnownPod& asked(const Pod& pod, Demand demand, std::int64_t now_ms);
  void join(KnownPod& known, std::int64_t now_ms);
  void heed_spec(const KnownPod& known, std::int64_t now_ms);
  void heed_waiting(const Job& gang, std::int64_t now_ms);
  [[nodiscard]] std::string contradiction(const Job& gang) const;
  [[nodiscard]] std::string why_incomplete(const Job& gang) const;
  MemberTerms terms_of(const Pod& pod, const Demand& demand, std::int64_t now_ms);
  void heed_nodes(KnownPod& known, const Pod& pod, std::int64_t now_ms);
  void leave(const KnownPod& known, const std::string& why, std::int64_t now_ms);
  [[nodiscard]] Demand demand_of(const Pod& pod) const;
  void note_other(const Pod& pod, std::int64_t now_ms);
  void regroup(const std::string& key, std::int64_t now_ms);
  void set_size(const JobId& gang, int size, std::int64_t now_ms);
  [[nodiscard]] FilterAnswer::Text turned_away(const Pod& pod, const Demand& demand) const;
  void filter_single(const KnownPod& known, const std::vector<NodeIndex>& nodes, AskedNodes which,
                     std::int64_t now_ms, FilterAnswer& answer);
  void judge_nodes(const KnownPod& known, const std::vector<NodeIndex>& nodes,
                   FilterAnswer& answer) const;
  void keep_from_jobs(const std::vector<std::string_view>& nodes, FilterAnswer& answer) const;
  void filter_member(const Pod& pod, KnownPod& known, const std::vector<NodeIndex>& nodes,
                     AskedNodes which, std::int64_t now_ms, FilterAnswer& answer);
  struct Offer {
    std::string node;       // kept for the member; empty: none
    std::string text;       // why none
    bool never = false;     // and evicting others would not help
    bool nominate = false;  // the node is to be looked at, it was not among those offered
  };
  void note_cycle(const KnownPod& known, AskedNodes which, std::int64_t now_ms);
  void nominate_rest(const KnownPod& known);
  Offer offer(const Pod& pod, KnownPod& known, const std::vector<NodeIndex>& nodes,
              AskedNodes which, std::int64_t now_ms);
  Offer offer_elsewhere(KnownPod& known, const std::vector<NodeIndex>& nodes, std::int64_t now_ms);
  BindAnswer bind_single(KnownPod& known, const std::string& node, std::int64_t now_ms);
  BindAnswer bind_member(KnownPod& known, const std::string& node, CallId call_id,
                         std::int64_t now_ms);
  BindAnswer bind_native(KnownPod& known, const std::string& node, std::int64_t now_ms);
  void end_cycles(std::int64_t now_ms);
  bool let_go_if_whole(const JobId& gang, CallId own, std::int64_t now_ms);
  void start(KnownPod& known, std::int64_t now_ms);
  void heed();
  void unbind(const JobId& job);
  void tell(const JobNews& news);
  void forget(const std::string& uid, std::int64_t now_ms);
  void drop(const std::string& uid, const std::string& why, std::int64_t now_ms);
  void leave_late_group(const KnownPod& known);
  [[nodiscard]] bool may_run(const KnownPod& known) const;
  void forget_untold(std::int64_t now_ms);
  void still_there(const std::string& node, bool fresh, std::int64_t now_ms);
  void drop_lent(NodeReport& report) const;
  void drop_kept(NodeReport& report, NodeIndex node) const;
  void drop_spoken_for(const KnownPod& known);
  void note_gates(const Pod& pod);
  void plan_if_ready(const KnownPod& known, std::int64_t now_ms);
  void plan_gated(std::int64_t now_ms);
  [[nodiscard]] bool may_plan() const { return gates_.opening() < limits_.held; }
  void ask_for_evictions(std::int64_t now_ms);
  void follow_plan(const JobId& gang);
  void explain(std::int64_t now_ms);
  void judge_refused();
  void wake(std::int64_t now_ms);
  void wake_gang(const std::string& gang, const std::string& uid);
  void wake_early(bool reported, std::int64_t now_ms);

  policy::Defaults defaults_;
  PodSchedulerLimits limits_;
  Scheduler scheduler_;
  NodeFacts nodes_;
  HeldBinds held_;
  GroupCycles cycles_;
  GangCounters gang_counters_;
  PodGroups groups_;
  std::map<JobId, int> sizes_;  // of gangs whose owner has told it
  PodCache cache_;
  Recent gone_{kGoneKept};  // uids of pods that are no more
  // Uids of pods that were asked about before the API server told of them, and when they were last
  // looked at; oldest first.
  std::deque<std::pair<std::string, std::int64_t>> untold_;
  WaitingPods waiting_;                                     // all of them are in cache_
  std::map<std::string, std::set<std::string>> groupless_;  // uids by KnownPod::late_group
  Preemption preemption_;
  Gates gates_;
  bool acts_ = false;                 // see complete_gangs()
  std::int64_t plan_ms_ = kNeverDue;  // when a gang that waits at its gates is to be tried
  std::int64_t looked_ms_ = 0;        // at the reasons of those gangs, and at refused_
  // Uids of pods that the scheduler has refused, perhaps without a question here, since then.
  std::set<std::string> refused_;
  std::set<std::string> ending_;  // uids of pods that are asked to end, see end_unless_awaited()
  std::int64_t wake_ms_ = kNeverDue;  // when refused pods are to be looked at
  Effects effects_;
};

}  // namespace pinion::cluster
