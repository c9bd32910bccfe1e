// The scheduler, the API server, the agents and the owners of pods play against the pod scheduler
// in random order: calls time out, bindings fail or land late, pods vanish, told of or not, nodes
// go, pods change while they wait, gates are taken off or the patch is lost; another scheduler
// binds pods where it likes, and jobs are made again under their names while pods of the first are
// there. A deterministic schedule of events, chosen by rapidcheck.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <set>

#include "cluster/extender/scheduling/pod_scheduler.h"
#include "tests/property/topology_gen.h"
#include "tests/support/machine.h"

namespace pinion::cluster {
namespace {

using topology::one_in;
using topology::pick_below;

const PodSchedulerLimits kLimits{
    .hold_ms = 1000, .cycle_ms = 700, .scheduler = {.keep_ms = 4000, .confirm_ms = 9000}};
constexpr int kCpus = 8;

class SchedulingWorld {
 public:
  SchedulingWorld() {
    for (const char* node : {"a", "b", "c"}) come(node);
    pod_scheduler_.serve_groups(PodGroupApi::kSigs, true);
    pod_scheduler_.serve_groups(PodGroupApi::kNative, true);
    pod_scheduler_.complete_gangs(now_);
  }

  void step() {
    switch (pick_below(19)) {
      case 0:
        create();
        break;
      case 1:
      case 2:
      case 3:
      case 4:
        ask();
        break;
      case 5:
      case 6:
        answer_of_the_api_server();
        break;
      case 7:
        report();
        break;
      case 8:
        remove_pod();
        break;
      case 9:
        one_in(6) ? toggle_node() : tell_of_a_pod();
        break;
      case 10:
        one_in(4) ? pod_scheduler_.group_gone("n/g")
                  : pod_scheduler_.group("n/g", pick_below(4), now_);
        break;
      case 11:
        restart();
        break;
      case 12:
        land();
        break;
      case 13:
        if (one_in(4)) change_a_pod();
        tell_of_a_pod();
        break;
      case 14:
        ask_about_group();
        break;
      case 15:
        native_size_ = 1 + pick_below(3);
        pod_scheduler_.group(native_key(), native_size_, now_);
        break;
      case 16:
        if (one_in(4)) bind_by_another();
        break;
      default:
        now_ += pick_below(400);
        const bool due = pod_scheduler_.next_ms().value_or(kNeverDue) <= now_;
        pod_scheduler_.tick(now_);
        if (!due) RC_ASSERT(is_nothing(pod_scheduler_.take_effects()));
    }
    take_effects();
    check();
  }

  // All pods go: nothing is left of them.
  void end() {
    while (!api_.empty()) answer_of_the_api_server();
    while (!pods_.empty()) remove(pods_.begin()->first);
    take_effects();
    for (const auto& [call_id, call] : held_) RC_ASSERT(vanished_.contains(call.uid));
    for (const auto& [node, ledger] : agents_) report(node);
    now_ += kLimits.scheduler.confirm_ms + kLimits.scheduler.keep_ms;
    pod_scheduler_.tick(now_);
    take_effects();
    RC_ASSERT(held_.empty());
    RC_ASSERT(pod_scheduler_.gangs().empty());
    RC_ASSERT(pod_scheduler_.pods() == 0U);
    RC_ASSERT(pod_scheduler_.waiting().empty());
    RC_ASSERT(pod_scheduler_.gated() == 0U);
    RC_ASSERT(pod_scheduler_.fleet().promises() == 0U);
  }

  [[nodiscard]] int bindings() const { return bindings_; }
  [[nodiscard]] int opened() const { return opened_; }
  [[nodiscard]] int native_bindings() const { return native_bindings_; }
  [[nodiscard]] int whole() const { return static_cast<int>(pod_scheduler_.gang_counters().whole); }

 private:
  struct SimPod {
    Pod pod;
    bool in_call = false;  // its bind call is under way, as the scheduler sees it
    bool bound = false;
    bool told = false;        // the pod scheduler has been told of it
    bool by_another = false;  // another scheduler has bound it, of which nobody has told yet
  };
  struct ApiCall {
    std::string uid;
    std::string node;
  };

  static bool is_nothing(const Effects& effects) {
    return effects.answered.empty() && effects.nominations.empty() && effects.openings.empty() &&
           effects.wake.empty() && effects.explanations.empty() && effects.news.empty() &&
           effects.hopeless.empty();
  }

  void come(const std::string& node) {
    NodeReport report;
    report.name = node;
    report.topology = machine_;
    report.reserved = topology::CpuSet{0};
    report.instance = std::to_string(++instances_);
    report.generation = 1;
    const auto [agent, fresh] = agents_.try_emplace(node, topology::Ledger(topology::CpuSet{0}));
    for (const auto& [id, claim] : agent->second.claims()) report.claims.push_back(claim);
    RC_ASSERT(bool(pod_scheduler_.report(std::move(report), now_)));
  }

  void create() {
    const int job = pick_below(6);
    Pod pod;
    pod.uid = "u" + std::to_string(created_++);
    pod.name_space = "n";
    pod.name = pod.uid;
    pod.qos = policy::Qos::kGuaranteed;
    // Gangs of one size each, so that they fit in any order of arrival.
    pod.containers = {{.name = "c", .milli_cpus = 1000 * (1 + job % 4), .memory = 0}};
    if (job == 5) {
      pod.group = "h";
      pod.group_api = PodGroupApi::kNative;
    }
    if (job == 4) {
      pod.group = "g";
      if (one_in(4)) pod.qos = policy::Qos::kBurstable;
    }
    if (job < 3) {
      const std::string name = "j" + std::to_string(job);
      if (one_in(10)) ++made_again_;  // another one of that name
      pod.owner = name + "-" + std::to_string(made_again_);
      int alive = 0;
      for (const auto& [uid, other] : pods_) alive += other.pod.owner == pod.owner ? 1 : 0;
      if (alive > 1 + job) return;  // sometimes one more than the gang says it has
      pod.annotations = {{"pinion.dev/job", name},
                         {"pinion.dev/gang-size", std::to_string(2 + job)}};
      if (job == 1) pod.annotations["pinion.dev/nodes"] = std::to_string(1 + made_again_ % 2);
      if (alive > job && !one_in(4)) return;
      pod.gang_gate = one_in(2);
      pod.other_gates = one_in(8);
    }
    // One that is to be opened all the same: it is of no gang.
    if (job == 3) pod.gang_gate = one_in(4);
    pods_[pod.uid].pod = pod;
  }

  SimPod* some_pod() {
    if (pods_.empty()) return nullptr;
    return &std::next(pods_.begin(), pick_below(static_cast<int>(pods_.size())))->second;
  }

  // One cycle of the scheduler for one pod, up to the bind call; it may have given up an earlier
  // call that is still held or under way.
  void ask() {
    std::vector<SimPod*> open;
    for (auto& [uid, each] : pods_) {
      if (each.pod.gang_gate || each.pod.other_gates || is_native(each.pod)) continue;
      if (!each.bound && (!each.in_call || one_in(20))) open.push_back(&each);
    }
    if (open.empty()) return;
    SimPod* pod = open[static_cast<std::size_t>(pick_below(static_cast<int>(open.size())))];
    std::vector<std::string_view> names;
    for (const auto& [node, ledger] : agents_) {
      if (!one_in(10)) names.push_back(node);
    }
    const auto answer = pod_scheduler_.filter(pod->pod, names, now_);
    RC_ASSERT(answer.verdict.size() == names.size());
    if (!answer.ours) {
      pod->bound = true;  // the scheduler's own business
      return;
    }
    std::vector<std::string_view> passed;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (answer.verdict[i] == 0) {
        passed.push_back(names[i]);
      } else {
        RC_ASSERT(!answer.texts.at(answer.verdict[i] - 1U).text.empty());
      }
    }
    pod->in_call = false;
    if (passed.empty() && one_in(4)) preempt(pod->pod);
    if (passed.empty() || one_in(20)) return;  // or the scheduler dies here
    const std::string node(
        passed[static_cast<std::size_t>(pick_below(static_cast<int>(passed.size())))]);
    const CallId call_id = ++call_ids_;
    const auto bind = pod_scheduler_.bind(pod->pod.uid, node, call_id, now_);
    RC_ASSERT(bind.kind != BindAnswer::Kind::kUnknown);
    if (bind.kind == BindAnswer::Kind::kRefuse) return;
    pod->in_call = true;
    if (bind.kind == BindAnswer::Kind::kHold) {
      held_[call_id] = {pod->pod.uid, node, now_};
      return;
    }
    check_whole(pod->pod.uid);
    go(pod->pod.uid, node);
  }

  static bool is_native(const Pod& pod) { return pod.group_api == PodGroupApi::kNative; }
  static std::string native_key() { return group_key(PodGroupApi::kNative, "n", "h"); }

  // One cycle of the scheduler for the pods of its own group, with whatever happens meanwhile: it
  // asks about all, and binds when enough have a node.
  void ask_about_group() {
    std::vector<std::string> open;
    int scheduled = 0;
    for (const auto& [uid, each] : pods_) {
      if (!is_native(each.pod)) continue;
      if (each.bound || each.in_call) ++scheduled;
      if (!each.bound && !each.in_call) open.push_back(uid);
    }
    std::vector<std::pair<std::string, std::string>> assumed;  // uid and node
    for (const std::string& uid : open) {
      const auto pod = pods_.find(uid);
      if (pod == pods_.end()) continue;
      const std::string node = one_in(10) ? "" : first_passed(pod->second);
      if (!node.empty()) assumed.emplace_back(uid, node);
      meanwhile();
    }
    if (static_cast<int>(assumed.size()) + scheduled < std::max(1, native_size_)) return;
    for (const auto& [uid, node] : assumed) {
      meanwhile();
      if (!one_in(10)) bind_native(uid, node);
    }
  }

  // Empty: none.
  std::string first_passed(SimPod& pod) {
    std::vector<std::string_view> names;
    for (const auto& [node, ledger] : agents_) {
      if (!one_in(10)) names.push_back(node);
    }
    const auto answer = pod_scheduler_.filter(pod.pod, names, now_);
    pod.bound = !answer.ours;  // the scheduler's own business
    if (pod.bound) return {};
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (answer.verdict[i] == 0) return std::string(names[i]);
    }
    return {};
  }

  // It is answered at once.
  void bind_native(const std::string& uid, const std::string& node) {
    const auto pod = pods_.find(uid);
    if (pod == pods_.end()) return;
    const auto bind = pod_scheduler_.bind(uid, node, ++call_ids_, now_);
    RC_ASSERT(bind.kind == BindAnswer::Kind::kGo || bind.kind == BindAnswer::Kind::kRefuse);
    RC_ASSERT(bind.kind == BindAnswer::Kind::kGo || !bind.text.empty());
    if (bind.kind != BindAnswer::Kind::kGo) return;
    pod->second.in_call = true;
    ++native_bindings_;
    go(uid, node);
  }

  void meanwhile() {
    switch (pick_below(8)) {
      case 0:
        now_ += pick_below(400);
        pod_scheduler_.tick(now_);
        break;
      case 1:
        report();
        break;
      case 2:
        answer_of_the_api_server();
        break;
      case 3:
        tell_of_a_pod();
        break;
      default:
        return;
    }
    take_effects();
  }

  // Another scheduler than the one that asks us, with its own idea of what is free: of the node's
  // CPUs some may be promised.
  void bind_by_another() {
    SimPod* pod = some_pod();
    if (pod == nullptr || agents_.empty() || pod->bound || pod->in_call) return;
    const auto agent = std::next(agents_.begin(), pick_below(static_cast<int>(agents_.size())));
    const Demand demand = demand_of(pod->pod, {});
    if (demand.requests.empty()) return;
    const auto outcome = topology::allocate(*machine_, agent->second, demand.requests.front());
    const auto* decision = std::get_if<topology::Decision>(&outcome);
    if (decision == nullptr) return;
    disturbed_ = true;
    agent->second.commit(decision->claim);
    pod->bound = pod->by_another = true;
    pod->pod.node = agent->first;
    pod->pod.gang_gate = pod->pod.other_gates = false;
    // The agent and the API server tell of it in any order.
    if (one_in(2)) tell_of(agent->first);
    if (one_in(2)) tell_of(*pod);
  }

  // The scheduler proposes one victim on each node, and evicts what is left of that or not.
  void preempt(Pod& pod) {
    std::vector<Eviction> proposals;
    for (const auto& [uid, each] : pods_) {
      const std::string& node = each.pod.node;  // clang 14 lets no lambda see a structured binding
      const bool there =
          std::any_of(proposals.begin(), proposals.end(),
                      [&](const Eviction& eviction) { return eviction.node == node; });
      if (each.bound && !node.empty() && !there && one_in(2)) {
        proposals.push_back({.node = node, .victims = {uid}});
      }
    }
    const auto kept = pod_scheduler_.preempt(pod, proposals, now_);
    for (const Eviction& eviction : kept) {
      RC_ASSERT(std::any_of(proposals.begin(), proposals.end(), [&](const Eviction& proposal) {
        return proposal.node == eviction.node && proposal.victims == eviction.victims;
      }));
    }
    if (kept.empty() || one_in(4)) return;
    pod.nominated = kept.front().node;
    remove(kept.front().victims.front());
  }

  // The scheduler has given it up.
  void ask_late(const Pod& pod) {
    const auto answer = pod_scheduler_.filter(pod, {"a", "b", "c"}, now_);
    for (const std::uint8_t verdict : answer.verdict) RC_ASSERT(verdict != 0 || !answer.ours);
  }

  void go(const std::string& uid, const std::string& node) { api_.push_back({uid, node}); }

  // Nobody of a gang goes before all of it do.
  void check_whole(const std::string& uid) {
    const auto pod = pods_.find(uid);
    if (pod == pods_.end()) return;
    for (const Job* gang : pod_scheduler_.gangs()) {
      if (!gang->members.contains(uid) || gang->id == gang_of_group(native_key())) continue;
      RC_ASSERT(gang->started);
      if (!whole_.insert(gang->id).second) continue;  // who comes later goes alone
      if (disturbed_) continue;
      RC_ASSERT(gang->count(Member::State::kReserved) == 0);
      RC_ASSERT(gang->fixed() == gang->spec.size);
    }
  }

  void take_effects() {
    const Effects effects = pod_scheduler_.take_effects();
    for (const auto& answered : effects.answered) {
      const auto held = held_.find(answered.call_id);
      RC_ASSERT(held != held_.end());  // each held call is answered, and once
      if (answered.go) {
        check_whole(held->second.uid);
        go(held->second.uid, held->second.node);
      } else {
        RC_ASSERT(!answered.text.empty());
        const auto pod = pods_.find(held->second.uid);
        if (pod != pods_.end()) pod->second.in_call = false;
      }
      held_.erase(held);
    }
    for (const auto& pod : effects.wake) RC_ASSERT(exists_for_the_scheduler(pod.uid));
    for (const auto& opening : effects.openings) take_opening(opening);
    for (const auto& explanation : effects.explanations) {
      RC_ASSERT(exists_for_the_scheduler(explanation.pod.uid));
      RC_ASSERT(!explanation.why.empty());
    }
    for (const auto& nomination : effects.nominations) {
      RC_ASSERT(exists_for_the_scheduler(nomination.pod.uid));
    }
  }

  // A gate is taken off for a place that is kept, or without one where the scheduler is to look.
  void take_opening(const Opening& opening) {
    RC_ASSERT(exists_for_the_scheduler(opening.pod.uid));
    const Member* member = pod_scheduler_.book().member(opening.pod.uid);
    if (!opening.node.empty()) {
      RC_ASSERT(member != nullptr);
      RC_ASSERT(member->state == Member::State::kReserved);
      RC_ASSERT(member->node == opening.node);
    }
    if (!one_in(4)) openings_.push_back(opening);  // else it is lost
  }

  // The patches of a gate land, or some gate of somebody else's goes.
  void land() {
    if (openings_.empty()) {
      SimPod* pod = some_pod();
      if (pod != nullptr) pod->pod.other_gates = false;
      return;
    }
    const auto at = openings_.begin() + pick_below(static_cast<int>(openings_.size()));
    const auto pod = pods_.find(at->pod.uid);
    if (pod != pods_.end()) {
      if (!at->node.empty()) pod->second.pod.nominated = at->node;
      opened_ += pod->second.pod.gang_gate ? 1 : 0;
      if (!one_in(6)) pod->second.pod.gang_gate = false;  // else it is nominated only
    }
    openings_.erase(at);
  }

  [[nodiscard]] bool exists_for_the_scheduler(const std::string& uid) const {
    return pods_.contains(uid) || vanished_.contains(uid);
  }

  // The binding lands or fails; the pod scheduler is told of it, the pod's agent starts it.
  void answer_of_the_api_server() {
    if (api_.empty()) return;
    const auto at = api_.begin() + pick_below(static_cast<int>(api_.size()));
    const ApiCall call = *at;
    api_.erase(at);
    const auto pod = pods_.find(call.uid);
    const bool done = pod != pods_.end() && !pod->second.bound && !one_in(6);
    if (done) {
      pod->second.bound = true;
      pod->second.pod.node = call.node;
      ++bindings_;
    }
    if (pod != pods_.end()) pod->second.in_call = false;
    pod_scheduler_.bound(call.uid, done, now_);
    take_effects();
  }

  // The kubelet of the node starts what is bound there; the agent gives cores and reports.
  void report(const std::string& node) {
    topology::Ledger& ledger = agents_.at(node);
    for (const auto& [uid, pod] : pods_) {
      if (!pod.bound || pod.pod.node != node) continue;
      const auto request = demand_of(pod.pod, {}).requests.front();
      if (ledger.find(request.id) != nullptr) continue;
      const auto outcome = topology::allocate(*machine_, ledger, request);
      // Nothing bounces off a node, but where one has come and gone meanwhile.
      if (const auto* decision = std::get_if<topology::Decision>(&outcome)) {
        ledger.commit(decision->claim);
      } else {
        RC_ASSERT(disturbed_);
      }
    }
    tell_of(node);
  }

  void tell_of(const std::string& node) {
    NodeReport report;
    report.name = node;
    report.instance = std::to_string(instances_);
    report.generation = ++generation_;
    report.topology = machine_;
    report.reserved = topology::CpuSet{0};
    for (const auto& [id, claim] : agents_.at(node).claims()) report.claims.push_back(claim);
    RC_ASSERT(bool(pod_scheduler_.report(std::move(report), now_)));
  }
  void report() {
    if (agents_.empty()) return;
    report(std::next(agents_.begin(), pick_below(static_cast<int>(agents_.size())))->first);
  }

  // A container ends and is started again later; a report or two between.
  void restart() {
    const SimPod* pod = some_pod();
    if (pod == nullptr || !pod->bound || !pod->told || pod->by_another) return;
    const auto agent = agents_.find(pod->pod.node);
    if (agent == agents_.end()) return;
    agent->second.release(claim_id(pod->pod.uid, "c"));
    tell_of(agent->first);
  }

  void remove(std::string uid) {
    const auto pod = pods_.find(uid);
    if (pod->second.bound) {
      const auto agent = agents_.find(pod->second.pod.node);
      if (agent != agents_.end()) agent->second.release(claim_id(uid, "c"));
    }
    const SimPod last = pod->second;
    pods_.erase(pod);
    // What came and went while the watch was away is told of by nobody.
    if (!last.told && one_in(3)) {
      vanished_.insert(uid);
      return;
    }
    pod_scheduler_.gone(uid, now_);
    // A question that was on its way meanwhile.
    if (one_in(4)) ask_late(last.pod);
    take_effects();
  }
  void remove_pod() {
    const SimPod* pod = some_pod();
    if (pod != nullptr && one_in(2)) remove(pod->pod.uid);
  }

  // The watch of the API server, always a little late or early.
  void tell_of_a_pod() {
    SimPod* pod = some_pod();
    if (pod != nullptr) tell_of(*pod);
  }
  void tell_of(SimPod& pod) {
    pod_scheduler_.seen(pod.pod, now_);
    pod.told = true;
    pod.by_another = false;
  }

  // Its owner changes what may be changed while it waits: where it may go, and whether it is to
  // have cores of its own.
  void change_a_pod() {
    SimPod* pod = some_pod();
    if (pod == nullptr || pod->bound) return;
    const std::string& uid = pod->pod.uid;
    pod->pod.nodes.tolerations = {
        {.key = std::to_string(pick_below(3)), .op = "Exists", .value = {}, .effect = {}}};
    const bool on_its_way =
        std::any_of(api_.begin(), api_.end(), [&](const ApiCall& call) { return call.uid == uid; });
    if (!on_its_way && one_in(2)) {
      auto& annotations = pod->pod.annotations;
      if (annotations.erase("pinion.dev/cpus") == 0) annotations["pinion.dev/cpus"] = "shared";
    }
    tell_of(*pod);
  }

  void toggle_node() {
    disturbed_ = true;
    if (agents_.size() > 1 && one_in(2)) {
      const auto agent = agents_.begin();
      // Its pods go with it.
      std::vector<std::string> lost;
      for (const auto& [uid, pod] : pods_) {
        if (pod.bound && pod.pod.node == agent->first) lost.push_back(uid);
      }
      for (const auto& uid : lost) remove(uid);
      pod_scheduler_.lost(agent->first, now_);
      agents_.erase(agent);
    } else {
      for (const char* node : {"a", "b", "c"}) {
        if (!agents_.contains(node)) come(node);
      }
    }
  }

  void check() {
    for (const auto& [call_id, call] : held_) {
      RC_ASSERT(now_ - call.since < kLimits.hold_ms + 400);  // one tick is late at most
    }
    RC_ASSERT(pod_scheduler_.waiting().size() <= pod_scheduler_.pods());
    // Places are kept for all of a gang or for none.
    for (const Job* gang : pod_scheduler_.gangs()) {
      for (const auto& [uid, member] : gang->members) {
        // What is reserved is really reserved.
        if (member.state != Member::State::kReserved) continue;
        RC_ASSERT(pod_scheduler_.fleet().find(member.node) >= 0);
        RC_ASSERT(pod_scheduler_.fleet().knows(member.requests.front().id));
      }
      if (gang->started) continue;
      const int kept = gang->count(Member::State::kReserved);
      RC_ASSERT(kept == 0 || kept + gang->fixed() >= gang->spec.size);
      RC_ASSERT(kept == 0 || kept + gang->fixed() == gang->spec.size || disturbed_);
    }
    std::erase_if(
        whole_, [&](const std::string& key) { return pod_scheduler_.book().find(key) == nullptr; });
  }

  struct HeldCall {
    std::string uid;
    std::string node;
    std::int64_t since = 0;
  };

  std::shared_ptr<const topology::Topology> machine_ = std::make_shared<const topology::Topology>(
      test_support::machine({.cores_per_l3 = kCpus, .memory_per_node = 64 * test_support::kGiB}));
  PodScheduler pod_scheduler_{policy::Defaults(), kLimits};
  std::int64_t now_ = 1;
  std::map<std::string, topology::Ledger> agents_;
  std::map<std::string, SimPod> pods_;
  std::set<std::string> vanished_;  // uids
  std::map<CallId, HeldCall> held_;
  std::vector<ApiCall> api_;
  std::vector<Opening> openings_;  // on their way
  int opened_ = 0;
  CallId call_ids_ = 0;
  int created_ = 0;
  int instances_ = 0;
  std::uint64_t generation_ = 1;
  int bindings_ = 0;
  int native_size_ = 0;  // of the scheduler's own group; 0: it is not there yet
  int native_bindings_ = 0;
  int made_again_ = 0;
  bool disturbed_ = false;       // nodes have come and gone, or another scheduler has bound a pod
  std::set<std::string> whole_;  // gangs of which somebody has gone
};

RC_GTEST_PROP(PodScheduler, SurvivesAnyInterleaving, ()) {
  SchedulingWorld world;
  const int steps = *rc::gen::inRange(100, 600);
  for (int i = 0; i < steps; ++i) world.step();
  RC_CLASSIFY(world.bindings() > 0, "something was bound");
  RC_CLASSIFY(world.whole() > 0, "a gang was let go");
  RC_CLASSIFY(world.opened() > 0, "a gate was taken off");
  RC_CLASSIFY(world.native_bindings() > 0, "one of the scheduler's own gangs was bound");
  world.end();
}

}  // namespace
}  // namespace pinion::cluster
