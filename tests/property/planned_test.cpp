// The pod scheduler and the engines of three agents in one process: pods of many shapes come and
// go, what either side is told comes late, bindings fail, agents and extenders restart or another
// one takes over, links break, nodes are lost with all that runs there and come back, and everybody
// gets exactly the CPUs planned for him.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>

#include "agent/engine/with_pod.h"
#include "cluster/extender/scheduling/pod_scheduler.h"
#include "policy/annotations.h"
#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::cluster {
namespace {

using engine::ContainerEvent;
using engine::PodEvent;
using test_support::Driver;
using test_support::planned_for;
using topology::CpuSet;
using Kind = PodContainer::Kind;

class World {
 public:
  World(unsigned seed, bool restarts) : restarts_(restarts), random_(seed) {
    for (const char* name : {"a", "b", "c"}) {
      Node& node = nodes_[name];
      node.reserved = name[0] == 'b' ? CpuSet{0, 1, 16} : CpuSet{0};
      boot(name);
      hear(name);
    }
    scheduler_->complete_gangs(now_);
  }

  void step() {
    switch (roll(16)) {
      case 0:
        if (pods_.size() < 40) create();
        break;
      case 1:
      case 2:
      case 3:
        ask();
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        live();
        break;
      case 8:
      case 9:
      case 10:
        hear_of_some_pod();
        break;
      case 11:
        ask_to_end();
        break;
      case 12:
        if (restarts_ && roll(60) == 0) return roll(2) == 0 ? restart() : take_over();
        if (restarts_ && roll(20) == 0) return restart_agent(some_node());
        if (restarts_ && roll(60) == 0) return unlink(some_node());
        if (restarts_ && roll(120) == 0) return lose(some_node());
        hear(some_node());
        break;
      case 13:
        bind_one();
        break;
      case 14:
        change();
        break;
      default:
        now_ += roll(200);
        for (PodScheduler* each : both()) each->tick(now_);
    }
    take_effects();
  }

  // All pods go: nothing is left of them.
  void end() {
    while (fault_.empty() && !pods_.empty()) {
      for (auto& [uid, sim] : pods_) sim.asked = true;
      std::vector<std::string> waiting;
      for (const auto& [uid, sim] : pods_) {
        if (sim.pod.node.empty()) waiting.push_back(uid);
      }
      for (const std::string& uid : waiting) over(uid);
      if (!binds_.empty()) bind_one();
      live();
    }
    if (fault_.empty()) nothing_is_left();
  }

  [[nodiscard]] const std::string& fault() const { return fault_; }
  // The last of what happened.
  [[nodiscard]] std::string transcript() const {
    return transcript_.substr(transcript_.size() -
                              std::min<std::size_t>(transcript_.size(), 20'000));
  }
  [[nodiscard]] unsigned compared() const { return compared_; }
  [[nodiscard]] unsigned lost() const { return lost_; }  // nodes

 private:
  void nothing_is_left() {
    while (!binds_.empty()) bind_one();
    while (!changed_.empty()) hear_of_some_pod();
    for (const auto& [name, node] : nodes_) {
      while (!node.reports.empty()) hear(name);
    }
    take_effects();
    for (PodScheduler* each : both()) {
      if (each->pods() != 0) fault_ = "pods are left";
      if (each->fleet().promises() != 0) fault_ = "promises are left";
      for (const auto& [name, node] : each->fleet().by_name()) {
        const auto& claims = each->fleet().node(node).ledger.claims();
        if (!claims.empty()) fault_ = claims.begin()->first + " is left on " + name;
      }
    }
  }

  struct SimPod {
    Pod pod;
    bool in_call = false;
    bool asked = false;     // to end
    bool believed = false;  // to be bound, or once was: of a binding whose answer is lost
    std::string planned;
    engine::Pod as_run;
    std::size_t next = 0;  // container to be created
    bool init_runs = false;
    bool sandbox = false;
  };
  struct Node {
    std::unique_ptr<Driver> driver;
    CpuSet reserved;
    int instance = 0;
    std::uint64_t generation = 0;
    std::deque<NodeReport> reports;  // on their way
  };

  int roll(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  void say(const std::string& line) { transcript_ += line + "\n"; }

  static std::unique_ptr<PodScheduler> fresh() {
    return std::make_unique<PodScheduler>(policy::Defaults(), PodSchedulerLimits());
  }

  // It hears of all that there is, of some nodes before the pods.
  std::unique_ptr<PodScheduler> started() {
    auto one = fresh();
    const auto speak = [&](const std::string& name) {
      if (!one->report(state_of(name), now_)) fault_ = "a first report is refused";
    };
    for (const auto& [name, node] : nodes_) {
      if (roll(2) == 0) speak(name);
    }
    for (const auto& [uid, sim] : pods_) one->seen(sim.pod, now_);
    for (const auto& [name, node] : nodes_) speak(name);
    return one;
  }

  // The extender is killed and comes back.
  void restart() {
    say("restart");
    scheduler_ = started();
    lead();
  }

  std::unique_ptr<Driver> driver_of(const Node& node) {
    engine::Settings settings;
    settings.reserved = node.reserved;
    return std::make_unique<Driver>(*machine_, engine::FenceKind::kLeaf, settings);
  }

  // It is killed and comes back; what it has told stands, what it has not is told anew.
  void restart_agent(const std::string& name) {
    say("restart the agent of " + name);
    Node& node = nodes_.at(name);
    engine::Synchronize all;
    std::map<std::string, CpuSet> own;
    for (const auto& [uid, sim] : pods_) {
      if (sim.pod.node != name || !sim.sandbox) continue;
      all.pods.push_back(sim.as_run);
      for (std::size_t i = 0; i < made(sim); ++i) {
        const auto one = unit(sim, i);
        all.containers.push_back(one.container);
        all.containers.back().state =
            runs(sim, i) ? engine::ContainerState::kRunning : engine::ContainerState::kStopped;
        if (!runs(sim, i)) continue;
        all.containers.back().pid = 100;
        const engine::Member* member = node.driver->engine.state().find(one.id());
        if (member == nullptr) continue;
        const engine::State& state = node.driver->engine.state();
        const engine::Cpuset on =
            engine::runs_with_pod(state, *member) ? engine::pod_cores(state, *member) : member->own;
        all.files[one.id()] = {.cpus = on.cpus, .mems = on.mems};
        // Which of those that share them has the cores may be another one now.
        if (!sim.pod.milli_cpus && sim.pod.containers[i].milli_cpus.value_or(0) % 1000 == 0) {
          own[one.id()] = member->own.cpus;
        }
      }
    }
    auto kept = node.driver->engine.kept();
    node.driver = driver_of(node);
    node.driver->engine.restore(std::move(kept));
    (void)node.driver->handle(all);
    for (const auto& [id, cpus] : own) {
      const engine::Member* member = node.driver->engine.state().find(id);
      const CpuSet now = member == nullptr ? CpuSet() : member->own.cpus;
      if (now == cpus) continue;
      fault_ = name + ": " + id + " had " + cpus.to_string() + " and has " + now.to_string();
    }
    ++node.instance;
    node.generation = 0;
    node.reports.clear();
    note_report(name);
  }

  // A machine of this name, on which nothing runs.
  void boot(const std::string& name) {
    Node& node = nodes_.at(name);
    node.driver = driver_of(node);
    (void)node.driver->handle(engine::Synchronize{});
    ++node.instance;
    node.generation = 0;
    node.reports.clear();
    note_report(name);
  }

  // The agent's stream ends; the next one begins with a report.
  void unlink(const std::string& name) {
    say("unlink " + name);
    for (PodScheduler* each : both()) each->unlinked(name, now_);
    nodes_.at(name).reports.clear();
    note_report(name);
  }

  // The node is no more, and all that ran there; its pods are told of before or after that. Then
  // another one comes under its name.
  void lose(const std::string& name) {
    say("lose " + name);
    std::erase_if(binds_, [&](const auto& bind) {
      if (bind.second != name) return false;
      if (const auto at = pods_.find(bind.first); at != pods_.end()) at->second.in_call = false;
      scheduler_->bound(bind.first, false, now_);
      return true;
    });
    const bool pods_first = roll(2) == 0;
    if (!pods_first) {
      for (PodScheduler* each : both()) each->lost(name, now_);
    }
    std::vector<std::string> there;
    for (const auto& [uid, sim] : pods_) {
      if (sim.pod.node == name) there.push_back(uid);
    }
    for (const std::string& uid : there) over(uid);
    ++lost_;
    if (pods_first) {
      while (!changed_.empty()) hear_of_some_pod();
      for (PodScheduler* each : both()) each->lost(name, now_);
    }
    boot(name);
  }

  // By then the other one has heard of all bindings.
  void take_over() {
    say("take over");
    while (!changed_.empty()) hear_of_some_pod();
    scheduler_ = std::move(follower_);
    follower_ = started();
    lead();
  }

  void lead() {
    held_.clear();
    binds_.clear();
    for (auto& [uid, sim] : pods_) sim.in_call = false;
    scheduler_->complete_gangs(now_);
  }

  std::array<PodScheduler*, 2> both() { return {scheduler_.get(), follower_.get()}; }

  std::string some_node() { return std::next(nodes_.begin(), roll(3))->first; }

  NodeReport state_of(const std::string& name) {
    const Node& node = nodes_.at(name);
    NodeReport report;
    report.name = name;
    report.topology = machine_;
    report.reserved = node.reserved;
    report.instance = "i" + std::to_string(node.instance);
    report.generation = node.generation;
    for (const auto& [id, claim] : node.driver->engine.state().ledger.claims()) {
      report.claims.push_back(claim);
    }
    return report;
  }

  void note_report(const std::string& name) {
    Node& node = nodes_.at(name);
    ++node.generation;
    node.reports.push_back(state_of(name));
    if (node.reports.size() > 6) node.reports.pop_front();
  }

  void hear(const std::string& name) {
    Node& node = nodes_.at(name);
    if (node.reports.empty()) return;
    const NodeReport report = std::move(node.reports.front());
    node.reports.pop_front();
    std::string what;
    for (const auto& claim : report.claims) what += " " + claim.id + "=" + claim.cpus.to_string();
    say("report " + name + ":" + what);
    for (PodScheduler* each : both()) {
      if (!each->report(report, now_)) fault_ = "a report is refused";
    }
  }

  void create() {
    const int gang = roll(2) == 0 ? 1 : 2 + roll(4);
    const int cpus = 1 + roll(roll(3) == 0 ? 14 : 6);
    const std::string job = "j" + std::to_string(jobs_++);
    for (int i = 0; i < gang; ++i) {
      SimPod sim;
      Pod& pod = sim.pod;
      pod.uid = job + "-" + std::to_string(i);
      pod.name_space = "n";
      pod.name = pod.uid;
      pod.qos = policy::Qos::kGuaranteed;
      if (roll(8) == 0) pod.annotations["pinion.dev/strength"] = "required";
      if (roll(12) == 0) pod.annotations["pinion.dev/smt"] = "one-per-core";
      if (gang > 1) {
        pod.annotations["pinion.dev/job"] = job;
        pod.annotations["pinion.dev/gang-size"] = std::to_string(gang);
      }
      dress(pod, cpus);
      pods_[pod.uid] = sim;
      say("create " + pod.uid);
      changed_.push_back(pod.uid);
    }
  }

  void dress(Pod& pod, int cpus) {
    const std::pair<Kind, int> main{Kind::kMain, 1000 * cpus};
    std::vector<std::pair<Kind, int>> all = {main};
    switch (roll(16)) {
      case 12:  // it states its CPUs as a whole, and these containers none, which share them
        pod.milli_cpus = main.second;
        all = {main, main};
        break;
      case 13:
        pod.milli_cpus = main.second;
        all = {{Kind::kInit, main.second}, main, main};
        if (cpus > 2 && roll(2) == 0) {  // those that stay state their own
          all = {all[0], {Kind::kMain, 1000}, {Kind::kMain, 1000 * (1 + roll(cpus - 1))}};
        }
        break;
      case 14:
        pod.milli_cpus = main.second;
        all = {{Kind::kSidecar, main.second}, {Kind::kInit, main.second}, main};
        break;
      case 15:  // one of them states its own
        pod.milli_cpus = main.second;
        all = {main, {Kind::kMain, 1000 * (1 + roll(cpus))}, main};
        if (roll(2) == 0) std::swap(all[0], all[1]);
        break;
      case 0:
        all.emplace_back(Kind::kMain, 1000 * (1 + roll(3)));
        break;
      case 1:
        all.emplace_back(Kind::kMain, 500);
        break;
      case 2:
        all = {all[0], {Kind::kMain, 1000}, {Kind::kMain, 500}, {Kind::kMain, 1000}};
        break;
      case 3:
        all = {all[0], {Kind::kMain, 500}, {Kind::kMain, 500}};
        break;
      case 4:
        all = {{Kind::kInit, 1000 * (1 + roll(8))}, {Kind::kInit, 500}, all[0]};
        break;
      case 5:
        all = {{Kind::kInit, 1000 * (1 + roll(8))},
               all[0],
               {Kind::kMain, 1000 * (1 + roll(3))},
               {Kind::kMain, 500}};
        break;
      case 6:
        all = {{Kind::kSidecar, 1000}, {Kind::kInit, 1000 * (1 + roll(3))}, all[0]};
        break;
      case 7:
        all = {{Kind::kSidecar, 500}, all[0]};
        break;
      default:
        break;
    }
    int i = 0;
    for (const auto& [kind, milli] : all) {
      const auto gib = static_cast<topology::Bytes>(roll(3) == 0 ? 1 + roll(12) : 0);
      pod.containers.push_back({.name = "c" + std::to_string(i++),
                                .milli_cpus = milli,
                                .memory = gib * test_support::kGiB,
                                .kind = kind});
    }
  }

  SimPod* some_pod() {
    if (pods_.empty()) return nullptr;
    return &std::next(pods_.begin(), roll(static_cast<int>(pods_.size())))->second;
  }

  void ask() {
    SimPod* sim = some_pod();
    if (sim == nullptr || sim->in_call || !sim->pod.node.empty() || sim->asked) return;
    std::vector<std::string_view> names;
    for (const auto& [name, node] : nodes_) names.push_back(name);
    const auto answer = scheduler_->filter(sim->pod, names, now_);
    if (!answer.ours) {
      fault_ = sim->pod.uid + " is not ours";
      return;
    }
    std::vector<std::string> passed;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (answer.verdict[i] == 0) passed.emplace_back(names[i]);
    }
    if (passed.empty()) return;
    const std::string node =
        passed[static_cast<std::size_t>(roll(static_cast<int>(passed.size())))];
    const CallId call_id = ++call_ids_;
    const auto bind = scheduler_->bind(sim->pod.uid, node, call_id, now_);
    if (bind.kind == BindAnswer::Kind::kRefuse) return;
    sim->in_call = true;
    if (bind.kind == BindAnswer::Kind::kHold) {
      held_[call_id] = {sim->pod.uid, node};
    } else {
      binds_.emplace_back(sim->pod.uid, node);
    }
  }

  // Its owner patches its annotations, or resizes it, while it waits. Not of one that the extender
  // believes to be bound: what it is told then stands until the API server or the agent speaks.
  void change() {
    SimPod* sim = some_pod();
    if (sim == nullptr || sim->in_call || !sim->pod.node.empty() || sim->asked) return;
    if (sim->believed) return;
    Pod& pod = sim->pod;
    const auto toggle = [&](const std::string& key, const char* value) {
      if (pod.annotations.erase(key) == 0) pod.annotations[key] = value;
    };
    const std::string last = pod.containers.back().name;
    switch (roll(3)) {
      case 0:
        toggle("pinion.dev/strength", "required");
        break;
      case 1:
        if (pod.containers.size() > 2) toggle("pinion.dev/cpus." + last, "shared");
        break;
      default:
        if (!pod.milli_cpus) pod.containers[0].milli_cpus = 1000 * (1 + roll(6));
    }
    say("change " + pod.uid);
    changed_.push_back(pod.uid);
  }

  // The extender makes a binding, which lands or fails; it hears of that, or of neither.
  void bind_one() {
    if (binds_.empty()) return;
    const auto [uid, node] = binds_.front();
    binds_.pop_front();
    const auto told = scheduler_->told_with_binding(uid);
    const auto at = pods_.find(uid);
    const bool done = at != pods_.end() && !at->second.asked && roll(8) != 0;
    if (at != pods_.end()) at->second.in_call = false;
    if (done) {
      at->second.pod.node = node;
      for (const auto& [key, value] : told) at->second.pod.annotations[key] = value;
      const auto planned = told.find(annotation::kPlanned);
      at->second.planned = planned == told.end() ? "" : planned->second;
      say("bind " + uid + " to " + node + ": " + at->second.planned);
      changed_.push_back(uid);
    }
    const bool lost = roll(8) == 0;
    if (lost) say("the answer to the binding of " + uid + " is lost");
    if (lost && at != pods_.end()) at->second.believed = true;
    scheduler_->bound(uid, done || lost, now_);
  }

  void take_effects() {
    (void)follower_->take_effects();
    const Effects effects = scheduler_->take_effects();
    for (const auto& answered : effects.answered) {
      const auto [uid, node] = held_.extract(answered.call_id).mapped();
      if (answered.go) {
        binds_.emplace_back(uid, node);
      } else if (const auto at = pods_.find(uid); at != pods_.end()) {
        at->second.in_call = false;
      }
    }
  }

  // The API server's watch, in its order.
  void hear_of_some_pod() {
    if (changed_.empty()) return;
    const std::string uid = changed_.front();
    changed_.pop_front();
    const auto at = pods_.find(uid);
    say("hear of " + uid + (at == pods_.end() ? ": gone" : ""));
    for (PodScheduler* each : both()) {
      if (at == pods_.end()) {
        each->gone(uid, now_);
      } else {
        each->seen(at->second.pod, now_);
      }
    }
  }

  void ask_to_end() {
    SimPod* sim = some_pod();
    if (sim == nullptr || sim->asked || pods_.size() < 15) return;
    if (sim->pod.node.empty() && roll(2) == 0) return;
    sim->asked = true;
    sim->pod.deleting = true;
    say("ask to end " + sim->pod.uid);
    if (sim->pod.node.empty()) return over(sim->pod.uid);
    changed_.push_back(sim->pod.uid);
  }

  void over(const std::string& uid) {
    changed_.push_back(uid);
    pods_.erase(pods_.find(uid));
  }

  // One step of one pod's life on its node.
  void live() {
    SimPod* sim = some_pod();
    if (sim == nullptr || sim->pod.node.empty()) return;
    const std::string name = sim->pod.node;
    Driver& driver = *nodes_.at(name).driver;
    if (sim->asked) return end(*sim);
    if (!sim->sandbox) {
      sim->sandbox = true;
      sim->as_run = test_support::make_pod(sim->pod.name);
      sim->as_run.id = sim->as_run.uid = sim->pod.uid;
      sim->as_run.annotations = sim->pod.annotations;
      sim->as_run.resources = test_support::cpu(milli_of(sim->pod), memory_of(sim->pod));
      (void)driver.handle(PodEvent{.kind = PodEvent::Kind::kRun, .pod = sim->as_run});
      return;
    }
    if (sim->next == sim->pod.containers.size()) return;
    const auto made = unit(*sim, sim->next);
    if (sim->init_runs) {
      driver.stop(made);
      sim->init_runs = false;
      ++sim->next;
    } else {
      const auto answer = driver.create(made);
      if (answer.reply.refusal) {
        fault_ = made.id() + " refused: " + *answer.reply.refusal;
        return;
      }
      driver.start(made);
      const PodContainer& one = sim->pod.containers[sim->next];
      compare(*sim, one, driver.own(made));
      sim->init_runs = one.kind == Kind::kInit;
      if (!sim->init_runs) ++sim->next;
    }
    note_report(name);
  }

  static test_support::Unit unit(const SimPod& sim, std::size_t i) {
    const PodContainer& one = sim.pod.containers[i];
    return {sim.as_run, test_support::make_container(
                            sim.as_run, one.name,
                            test_support::cpu(one.milli_cpus.value_or(0), bytes_of(one)))};
  }

  static std::int64_t bytes_of(const PodContainer& one) {
    return static_cast<std::int64_t>(one.memory);
  }

  // Containers that were created.
  static std::size_t made(const SimPod& sim) { return sim.next + (sim.init_runs ? 1 : 0); }
  static bool runs(const SimPod& sim, std::size_t i) {
    return sim.pod.containers[i].kind != Kind::kInit || i == sim.next;
  }

  // Wherever in its life it is.
  void end(const SimPod& sim) {
    const std::string uid = sim.pod.uid;
    const std::string name = sim.pod.node;
    Driver& driver = *nodes_.at(name).driver;
    for (std::size_t i = 0; i < made(sim); ++i) {
      if (runs(sim, i)) driver.stop(unit(sim, i));
    }
    if (sim.sandbox) {
      (void)driver.handle(PodEvent{.kind = PodEvent::Kind::kStop, .pod = sim.as_run});
      for (std::size_t i = 0; i < made(sim); ++i) {
        driver.tell(unit(sim, i), ContainerEvent::Kind::kRemove);
      }
      (void)driver.handle(PodEvent{.kind = PodEvent::Kind::kRemove, .pod = sim.as_run});
    }
    say("over " + uid);
    note_report(name);
    over(uid);
  }

  // Of a pod's containers together, as the kubelet counts it.
  template <class Amount>
  static std::int64_t whole(const Pod& pod, Amount amount) {
    std::int64_t staying = 0;
    std::int64_t at_start = 0;
    for (const PodContainer& one : pod.containers) {
      if (one.kind == Kind::kInit) {
        at_start = std::max<std::int64_t>(at_start, staying + amount(one));
      } else {
        staying += amount(one);
      }
    }
    return std::max(staying, at_start);
  }
  static std::int64_t milli_of(const Pod& pod) {
    if (pod.milli_cpus) return *pod.milli_cpus;
    return whole(pod, [](const PodContainer& one) { return *one.milli_cpus; });
  }
  static std::int64_t memory_of(const Pod& pod) { return whole(pod, bytes_of); }

  static bool has_cores(const Pod& pod, const std::string& container) {
    const Demand demand = demand_of(pod, policy::Defaults());
    return std::any_of(demand.requests.begin(), demand.requests.end(), [&](const auto& request) {
      return request.id == claim_id(pod.uid, container);
    });
  }
  void compare(const SimPod& sim, const PodContainer& one, const CpuSet& own) {
    say("run " + sim.pod.uid + "/" + one.name + " on " + own.to_string());
    const bool shared = sim.pod.annotations.contains("pinion.dev/cpus." + one.name);
    if (*one.milli_cpus % 1000 != 0 || shared) return;
    if (sim.pod.milli_cpus && one.kind != Kind::kInit && !has_cores(sim.pod, one.name)) {
      if (!own.empty()) fault_ = sim.pod.uid + "/" + one.name + " has cores beyond its pod";
      return;
    }
    if (own.empty() && one.kind == Kind::kInit && sim.pod.containers[0].kind == Kind::kSidecar &&
        sim.pod.milli_cpus) {
      return;  // it is on the sidecar's
    }
    ++compared_;
    const CpuSet planned = planned_for(one.name, sim.planned);
    if (own.count() == *one.milli_cpus / 1000 && own.is_subset_of(planned)) return;
    fault_ = sim.pod.node + ": " + sim.pod.uid + "/" + one.name + " has " + own.to_string() +
             ", planned are " + sim.planned;
  }

  std::shared_ptr<const topology::Topology> machine_ = std::make_shared<const topology::Topology>(
      test_support::machine({.packages = 2,
                             .l3s_per_node = 2,
                             .cores_per_l3 = 4,
                             .threads_per_core = 2,
                             .memory_per_node = 64 * test_support::kGiB,
                             .siblings = test_support::Siblings::kAdjacent}));
  std::unique_ptr<PodScheduler> scheduler_ = fresh();
  std::unique_ptr<PodScheduler> follower_ = fresh();  // is told all that the other one is
  const bool restarts_;                               // of the extender
  std::mt19937 random_;
  std::int64_t now_ = 1;
  std::map<std::string, Node> nodes_;
  std::map<std::string, SimPod> pods_;
  std::deque<std::string> changed_;  // uids, as the watch will tell of them
  std::map<CallId, std::pair<std::string, std::string>> held_;
  std::deque<std::pair<std::string, std::string>> binds_;  // uid and node, to be made
  CallId call_ids_ = 0;
  int jobs_ = 0;
  unsigned compared_ = 0;
  unsigned lost_ = 0;
  std::string fault_;
  std::string transcript_;
};

// PINION_EVENTS: how many, both cases together.
unsigned events() {
  const char* wanted = std::getenv("PINION_EVENTS");  // NOLINT(concurrency-mt-unsafe)
  return wanted == nullptr ? 400'000U : static_cast<unsigned>(std::strtoul(wanted, nullptr, 10));
}

constexpr unsigned kLife = 4000;  // events of one world

class Planned : public testing::TestWithParam<bool> {};

TEST_P(Planned, EverybodyIsWherePlanned) {
  unsigned compared = 0;
  unsigned lost = 0;
  for (unsigned seed = 0; seed <= events() / 2 / kLife; ++seed) {
    World world(seed, GetParam());
    for (unsigned event = 0; event < kLife && world.fault().empty(); ++event) world.step();
    world.end();
    ASSERT_EQ(world.fault(), "") << "seed " << seed << ", after\n" << world.transcript();
    compared += world.compared();
    lost += world.lost();
  }
  EXPECT_GT(compared, events() / 2 / 120);
  EXPECT_EQ(lost > 0, GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, Planned, testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "ExtenderRestarts" : "NobodyRestarts");
});

}  // namespace
}  // namespace pinion::cluster
