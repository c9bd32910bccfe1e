// What the simulated runtime does, one random event at a time.
#include <cstdlib>

#include "tests/property/agent_sim.h"

namespace pinion::test_support {

using engine::Applied;
using engine::ContainerEvent;
using engine::ContainerState;
using engine::CpuSet;
using engine::Member;
using engine::NodeSet;
using engine::Qos;
using engine::Role;
using Kind = engine::ContainerEvent::Kind;

namespace {

CpuSet parsed(const std::string& list, const CpuSet& otherwise) {
  const auto set = CpuSet::parse(list);
  return set && !set->empty() ? *set : otherwise;
}

}  // namespace

SimContainer* Sim::pick(Phase phase) {
  std::vector<SimContainer*> fitting;
  for (auto& [id, sim] : containers_) {
    if (sim.phase == phase) fitting.push_back(&sim);
  }
  if (fitting.empty()) return nullptr;
  return fitting[static_cast<std::size_t>(roll(static_cast<int>(fitting.size())))];
}

SimContainer& Sim::pick() {
  auto at = containers_.begin();
  std::advance(at, roll(static_cast<int>(containers_.size())));
  return at->second;
}

const Member* Sim::known(const SimContainer& one) const {
  const Member* member = engine_.state().find(one.container.id);
  return member != nullptr && member->pod_id == one.pod.id ? member : nullptr;
}

bool Sim::mistold(const SimContainer& one) const {
  const Member* member = engine_.state().find(one.container.id);
  if (member != nullptr && member->pod_id != one.pod.id) return true;
  // Where it was taken for another pod's, it may have ended with that, and be new by now.
  const bool started = member != nullptr && member->started();
  return options_.mistell && one.phase == Phase::kRunning && !started;
}

engine::Resources Sim::some_request(Qos qos) {
  if (qos == Qos::kBestEffort) return cpu(0);
  const std::int64_t memory = roll(3) == 0 ? 0 : (1 + roll(4)) * (std::int64_t{1} << 28);
  const int size = roll(10) == 0 ? 1 + roll(machine_.online.count()) : 1 + roll(8);
  const int part = roll(6) == 0 ? 500 : 0;
  return cpu(1000 * size + part, memory);
}

engine::Pod Sim::some_pod() {
  // A further container of a pod that exists, now and then.
  if (!containers_.empty() && roll(options_.share ? 2 : 4) == 0) return pick().pod;
  static const Qos kClasses[] = {Qos::kGuaranteed, Qos::kGuaranteed, Qos::kGuaranteed,
                                 Qos::kBurstable,  Qos::kBestEffort, Qos::kUnknown};
  engine::Pod pod = make_pod("p" + std::to_string(next_++), kClasses[roll(6)]);
  if (roll(8) == 0) pod.name_space = "kube-system";
  if (roll(2) == 0)
    pod.resources = cpu(1000 * (1 + roll(12)));  // not always what its containers ask
  static const std::pair<const char*, const char*> kAnnotations[] = {{"align", "l3"},
                                                                     {"align", "none"},
                                                                     {"align", "socket"},
                                                                     {"smt", "pack"},
                                                                     {"smt", "one-per-core"},
                                                                     {"strength", "required"},
                                                                     {"cpus", "shared"},
                                                                     {"cpus", "exclusive"},
                                                                     {"memory", "any"},
                                                                     {"isolation", "isolated"},
                                                                     {"job", "j"},
                                                                     {"smt", "nonsense"},
                                                                     {"profile", "memory"}};
  for (int i = roll(3); i > 0; --i) {
    const auto& [name, value] = kAnnotations[roll(13)];
    pod.annotations[std::string("pinion.dev/") + name] = value;
  }
  if (options_.lend) lend_or_borrow(pod);
  if (options_.share && roll(2) == 0) {
    pod.cgroup_parent = make_pod(pod.uid).cgroup_parent;
    pod.resources = cpu(1000 * (1 + roll(4)));
    if (roll(2) == 0) pod.annotations.clear();
  }
  handle(engine::PodEvent{engine::PodEvent::Kind::kRun, pod}, "podrun " + pod.name);
  return pod;
}

// Names are few, so that several are meant now and then; some agree, and some are not fit.
void Sim::lend_or_borrow(engine::Pod& pod) {
  const int what = roll(8);
  if (what < 3) {
    const std::string digit = roll(8) == 0 ? "" : std::to_string(roll(7));
    const std::string to = "vc-" + digit + (roll(4) == 0 || digit.empty() ? "*" : "");
    pod.annotations["pinion.dev/lend-to"] = to + "/c" + std::to_string(roll(3));
    if (roll(9) != 0) pod.cgroup_parent = make_pod(pod.uid).cgroup_parent;
  } else if (what < 5) {
    pod.name = "vc-" + std::to_string(roll(6));
    if (roll(9) != 0) pod.annotations["pinion.dev/borrow"] = "true";
    if (roll(9) != 0) pod.annotations["pinion.dev/cpus"] = "shared";
    if (roll(9) != 0) pod.cgroup_parent = make_pod(pod.uid).cgroup_parent;
  }
}

// Attempts of one name differ in their ids, and so in their cgroups.
engine::Container Sim::attempt(const engine::Pod& pod, const std::string& name,
                               const engine::Resources& request) {
  engine::Container container = make_container(pod, name, request);
  const std::string suffix = "-" + std::to_string(next_++);
  container.id += suffix;
  container.cgroups_path += suffix;
  if (roll(3) > 0) container.oom_score_adj = 1000 - roll(60);
  return container;
}

bool Sim::has_live_namesake(const SimContainer& one) const {
  return std::any_of(containers_.begin(), containers_.end(), [&](const auto& entry) {
    const SimContainer& other = entry.second;
    return &other != &one && other.pod.id == one.pod.id && other.phase != Phase::kExited &&
           other.container.name == one.container.name;
  });
}

void Sim::create() {
  if (containers_.size() > 60) return;
  const engine::Pod pod = some_pod();
  // Few names: restarts and second attempts are frequent. Every draw is a statement of its own: the
  // order of a call's arguments is the compiler's, and another order is another life.
  const std::string name = "c" + std::to_string(roll(3));
  create(pod, name);
}

void Sim::create(const engine::Pod& pod, const std::string& name) {
  // Mostly as the attempt before asked.
  auto fresh = some_request(policy::qos_of(pod.cgroup_parent));
  // The kubelet gives one that states no CPUs those of its pod.
  if (options_.share && policy::milli_cpus(pod.resources) && roll(4) != 0) {
    const std::int64_t memory = roll(2) == 0 ? 0 : std::int64_t{1} << 28;
    fresh = cpu(*policy::milli_cpus(pod.resources), memory);
  }
  auto& request = requests_.try_emplace({pod.id, name}, fresh).first->second;
  if (roll(5) == 0) request = fresh;
  engine::Container container = attempt(pod, name, request);
  // No kubelet starts a second attempt beside one that lives, but somebody may by hand.
  const bool beside = has_live_namesake({pod, container, Phase::kCreated, "", {}, false});
  if (beside && roll(20) != 0) return;
  for (auto& [id, one] : containers_) {
    if (one.pod.id == pod.id && one.container.name == name) one.changed = true;
  }
  engine::Kept kept;
  if (const auto record = engine_.state().pods.find(pod.id);
      record != engine_.state().pods.end() && record->second.kept().contains(name)) {
    kept = record->second.kept().at(name);
  }
  const auto effects = handle(engine::CreateContainer{pod, container}, "create " + container.id);
  if (effects.reply.refusal) {
    if (engine_.state().find(container.id) != nullptr) broken("a refused one is remembered");
    return;
  }
  apply(effects.reply.updates);
  const Member& member = *engine_.state().find(container.id);
  if (kept.own.cpus.count() > 0 && member.role == Role::kExclusive &&
      member.request.cpus == kept.request.cpus && member.request.memory == kept.request.memory) {
    ++done_["came back"];
    if (member.own != kept.own) broken(container.id + " did not get what its pod kept for it");
  }
  container.resources.cpus = effects.reply.own->cpus.to_string();
  container.resources.mems = effects.reply.own->mems.to_string();
  if (effects.reply.own_quota) container.resources.quota = effects.reply.own_quota;
  SimContainer sim{pod, container, Phase::kCreated, container.resources.cpus, {}, false};
  containers_.emplace(container.id, sim);
}

void Sim::start(SimContainer& sim) {
  const std::string id = sim.container.id;
  sim.phase = Phase::kStarting;
  sim.container.pid = 1000U + static_cast<unsigned>(next_++);
  sim.file.cpus = parsed(sim.at_create, machine_.online);
  const auto mems = NodeSet::parse(sim.container.resources.mems);
  sim.file.mems = mems && !mems->empty() ? *mems : machine_.memory_nodes();
  handle(ContainerEvent{Kind::kStart, sim.pod, sim.container}, "start " + id);
  check_alone(id);
  if (roll(20) == 0) {  // an update of a moment ago is applied over what START wrote
    sim.file.cpus = parsed(sim.container.resources.cpus, machine_.online);
    sim.tampered = true;
  }
  sim.phase = Phase::kRunning;
  if (roll(40) != 0) {
    handle(ContainerEvent{Kind::kPostStart, sim.pod, sim.container}, "poststart " + id);
    check_alone(id);
  }
}

// As one of the pod that is told.
void Sim::update(SimContainer& sim, const engine::Pod& told) {
  engine::Resources wanted;
  if (roll(3) == 0) {
    wanted.memory = (1 + roll(4)) * (std::int64_t{1} << 28);
    wanted.shares = 0;
    wanted.quota = 0;
  } else {
    wanted = some_request(policy::qos_of(sim.pod.cgroup_parent));
  }
  if (options_.share && roll(2) == 0) wanted = cpu(1000 * (1 + roll(4)));
  const std::string id = sim.container.id;
  const Member* before = told.id == sim.pod.id ? known(sim) : nullptr;
  const CpuSet cores = before == nullptr ? CpuSet() : before->own.cpus;
  const int size = before == nullptr ? 0 : before->request.cpus;
  const bool new_here = before == nullptr || before->pending;  // or may be another one by now
  const auto effects = handle(engine::UpdateContainer{told, sim.container, wanted}, "update " + id);
  const Member* after = engine_.state().find(id);
  if (!new_here && (after->own.cpus != cores || after->request.cpus != size)) {
    broken("a resize that is not done changed " + id);
  }
  if (effects.reply.refusal) return;
  if (!effects.reply.own) return broken("an update was not answered with own CPUs");
  sim.update = policy::merge(sim.container.resources, wanted);
  sim.update->cpus = effects.reply.own->cpus.to_string();
  if (!effects.reply.own->mems.empty()) sim.update->mems = effects.reply.own->mems.to_string();
  if (effects.reply.own_quota) sim.update->quota = effects.reply.own_quota;
  apply(effects.reply.updates);
  const int way = options_.mistell ? 9 : roll(10);  // one fault of the runtime at a time
  if (way < 2) {  // it, or another plugin, refuses, and tells nobody
    if (sim.phase == Phase::kRunning && roll(2) == 0) {  // half way
      sim.file.cpus = parsed(sim.update->cpus, machine_.online);
      sim.tampered = true;
    }
    sim.update.reset();
    ++done_["update not done"];
  } else if (way > 2) {
    do_update(sim, told);
    after = engine_.state().find(id);
    const bool took = after != nullptr && !after->own.cpus.is_subset_of(cores);
    if (sim.phase == Phase::kRunning && took && !new_here) check_alone(id);
  }
}

// The whole record is applied; now and then nobody hears of it.
void Sim::do_update(SimContainer& sim, const engine::Pod& told) {
  sim.changed = true;
  sim.container.resources = *std::exchange(sim.update, std::nullopt);
  if (sim.phase == Phase::kRunning) {
    sim.file.cpus = parsed(sim.container.resources.cpus, machine_.online);
    const auto mems = NodeSet::parse(sim.container.resources.mems);
    if (mems && !mems->empty()) sim.file.mems = *mems;
  }
  if (roll(30) == 0) {
    ++done_["update unheard"];
    sim.tampered = true;
    return;
  }
  const std::string id = sim.container.id;
  handle(ContainerEvent{Kind::kPostUpdate, told, sim.container}, "postupdate " + id);
}

// One that was not done at once is done now, or the agent waits no longer.
void Sim::end_update() {
  for (auto& [id, sim] : containers_) {
    if (sim.phase == Phase::kExited) continue;
    const Member* member = engine_.state().find(id);
    if (sim.update && roll(2) == 0) return do_update(sim, sim.pod);
    if (member == nullptr || !member->pending || roll(2) == 0) continue;
    handle(engine::UpdateOverdue{id}, "overdue " + id);
    return;
  }
}

void Sim::settle_updates() {
  const auto open = [&](const auto& entry) {
    const Member* member = engine_.state().find(entry.first);
    const bool live = entry.second.phase != Phase::kExited;
    return live && (entry.second.update || (member != nullptr && member->pending));
  };
  while (std::any_of(containers_.begin(), containers_.end(), open)) end_update();
}

// The runtime's record says no other size than the agent knows, and has given it.
bool Sim::knows_size(const SimContainer& sim) const {
  const Member* member = engine_.state().find(sim.container.id);
  const engine::Resources& record = sim.container.resources;
  const bool grows = member != nullptr && member->role == Role::kExclusive &&
                     policy::milli_cpus(record) != 1000 * member->request.cpus;
  return member != nullptr && !grows &&
         policy::milli_cpus(member->resources) == policy::milli_cpus(record) &&
         policy::stated_memory(member->resources) == policy::stated_memory(record);
}

// Another of its pod lives on the cores that it shares.
bool Sim::has_host(const Member& guest) const {
  const auto& members = engine_.state().members_of(guest.pod_id);
  return std::any_of(members.begin(), members.end(),
                     [&](const Member* one) { return has_company(engine_.state(), *one); });
}

// Its file has as many CPUs as it would have for itself, and nothing tells that these are not its
// own. Having a quota does, where those with cores of their own have none; but memory that is bound
// goes before that.
bool Sim::passes_for_rank(const SimContainer& sim, bool quota_tells) const {
  const auto& resources = sim.container.resources;
  const auto entitlement =
      policy::entitlement_of(sim.pod, sim.container.name, resources, options_.settings.defaults);
  const topology::Request& request = entitlement.request;
  const bool bound = request.memory_policy == topology::MemoryPolicy::kBind;
  const bool limited = resources.quota.value_or(0) > 0;
  return entitlement.kind == policy::Entitlement::Kind::kExclusive &&
         request.cpus == sim.file.cpus.count() && !(quota_tells && limited && !bound);
}

// All of the pod's containers are as the agent knows them, and where it wants them.
bool Sim::knows_pod(const engine::Pod& pod) const {
  return std::all_of(containers_.begin(), containers_.end(), [&](const auto& entry) {
    const SimContainer& one = entry.second;
    if (one.pod.id != pod.id || one.phase == Phase::kExited) return true;
    const Member* member = known(one);
    const bool there = one.phase != Phase::kRunning || member == nullptr ||
                       one.file.cpus == engine_.target_of(*member).cpus;
    return there && !one.tampered && !one.update && knows_size(one) && !has_live_namesake(one);
  });
}

void Sim::stop(SimContainer& sim) {
  const std::string id = sim.container.id;
  const int way = roll(20);
  sim.phase = Phase::kExited;
  if (way > 12) {  // it crashed: the kubelet leaves it lying for a while
    apply(handle(engine::StopContainer{sim.pod, sim.container}, "stop " + id).reply.updates);
    return;
  }
  if (way != 0) {
    apply(handle(engine::StopContainer{sim.pod, sim.container}, "stop " + id).reply.updates);
    if (engine_.state().find(id) != nullptr) broken(id + " is still known after its stop");
  }
  if (way != 1) remove(sim);
}

void Sim::remove(SimContainer& sim) {
  const std::string id = sim.container.id;
  handle(ContainerEvent{Kind::kRemove, sim.pod, sim.container}, "remove " + id);
  containers_.erase(id);
}

void Sim::end_pod() {
  if (containers_.empty()) return;
  const engine::Pod pod = pick().pod;
  for (const auto& [id, sim] : containers_) {
    if (!options_.mistell || sim.pod.id != pod.id) continue;
    handle(engine::StopContainer{pod, sim.container},
           "stop " + id);  // wherever it is thought to be
  }
  std::erase_if(containers_, [&](const auto& entry) { return entry.second.pod.id == pod.id; });
  handle(engine::PodEvent{engine::PodEvent::Kind::kStop, pod}, "podstop " + pod.name);
  if (roll(2) == 0) handle(engine::PodEvent{engine::PodEvent::Kind::kRemove, pod}, "podremove");
}

// The runtime failed open: it runs unpinned, and the first that is heard of it is a later event.
void Sim::appear() {
  if (containers_.size() > 60) return;
  const engine::Pod pod = some_pod();
  const engine::Container container =
      attempt(pod, "lost", some_request(policy::qos_of(pod.cgroup_parent)));
  SimContainer sim{pod, container, Phase::kCreated, "", {}, false};
  SimContainer& here = containers_.emplace(container.id, sim).first->second;
  if (roll(2) == 0) return start(here);
  here.phase = Phase::kRunning;  // not even that: only a Synchronize or its end will tell
  here.file = {.cpus = machine_.online, .mems = machine_.memory_nodes()};
  here.tampered = true;
  if (roll(2) == 0) update(here);
}

void Sim::unknown() {
  const engine::Pod pod = make_pod("ghost" + std::to_string(roll(3)));
  const engine::Container container = make_container(pod, "main", cpu(2000));
  switch (roll(4)) {
    case 0:
      handle(engine::StopContainer{pod, container}, "ghoststop");
      break;
    case 1:
      handle(ContainerEvent{Kind::kRemove, pod, container}, "ghostremove");
      break;
    case 2:
      handle(engine::PodEvent{engine::PodEvent::Kind::kStop, pod}, "ghostpod");
      break;
    default:
      handle(ContainerEvent{Kind::kPostCreate, pod, container}, "ghostcreate");
  }
}

// Of a container its pod is not what it was, or its pod is one that nobody knows, or nobody has
// made it, or all is told for the second time. Where it is by then is known again by what is told
// rightly.
void Sim::mistell() {
  if (containers_.empty()) return;
  SimContainer& sim = pick();
  engine::Pod pod = sim.pod;
  engine::Container container = sim.container;
  const int what = roll(4);
  if (what == 0) pod = pick().pod;
  if (what == 1) pod = make_pod("stranger" + std::to_string(roll(3)));
  if (what == 2) container = make_container(pod, "nobody" + std::to_string(roll(3)), cpu(2000));
  if (roll(2) == 0) container.pod_id = pod.id;
  if (what != 2) sim.tampered = true;
  const bool lives = what != 2 && sim.phase != Phase::kExited;
  mistell(pod, container, lives ? &sim : nullptr);
}

// `one`: it lives, so what it is told to have is done, and not even then has it stopped in its pod.
void Sim::mistell(const engine::Pod& pod, const engine::Container& container, SimContainer* one) {
  static const Kind kKinds[] = {Kind::kPostCreate, Kind::kStart, Kind::kPostStart,
                                Kind::kPostUpdate, Kind::kRemove};
  const int what = roll(9);
  if (what < 5) {
    handle(ContainerEvent{kKinds[what], pod, container}, "mistold event of " + container.id);
  } else if (what == 5) {
    if (one != nullptr && one->pod.id == pod.id) return;
    apply(handle(engine::StopContainer{pod, container}, "mistold stop of " + container.id)
              .reply.updates);
  } else if (what == 6) {
    apply(handle(engine::CreateContainer{pod, container}, "mistold create of " + container.id)
              .reply.updates);
  } else if (one != nullptr) {
    update(*one, pod);
  } else {
    const engine::UpdateContainer update{pod, container, some_request(Qos::kGuaranteed)};
    apply(handle(update, "mistold update of " + container.id).reply.updates);
  }
}

void Sim::synchronize() {
  engine::Synchronize event;
  std::set<std::string> pods;
  std::map<Id, CpuSet> before;
  for (auto& [id, sim] : containers_) {
    if (mistold(sim)) sim.tampered = true;  // its file is as for another pod, until a quiet moment
    if (pods.insert(sim.pod.id).second) event.pods.push_back(sim.pod);
    event.pods.back().pid = 1;
    if (sim.phase == Phase::kExited) continue;
    event.containers.push_back(sim.container);
    const bool runs = sim.phase == Phase::kRunning;
    event.containers.back().state = runs ? ContainerState::kRunning : ContainerState::kCreated;
    if (runs) event.files[id] = sim.file;
    const Member* member = known(sim);
    if (member != nullptr && member->role == Role::kExclusive && knows_size(sim)) {
      before[id] = member->own.cpus;
    }
  }
  const auto effects = handle(event, "synchronize");
  for (const auto& [id, cores] : before) {
    if (engine_.state().find(id)->own.cpus != cores) broken(id + " lost its cores in a reconnect");
  }
  apply(effects.reply.updates);
}

// All that the new agent has is the runtime's list, the files and what the last one has saved.
void Sim::restart_agent() {
  std::map<Id, CpuSet> before;
  for (const auto& [id, sim] : containers_) {
    const Member* member = known(sim);
    const bool runs = sim.phase == Phase::kRunning && member != nullptr && knows_size(sim);
    const CpuSet shared = runs ? pod_cores(engine_.state(), *member).cpus : CpuSet();
    if (runs && member->role == Role::kExclusive && sim.file.cpus == member->own.cpus) {
      before[id] = member->own.cpus;
    } else if (!shared.empty() && sim.file.cpus == shared && knows_pod(sim.pod) &&
               has_host(*member)) {
      before[id] = shared;
      ++done_["guests over a restart"];
    }
    // What a lender has lent is saved.
    const auto loan = loans_.find(id);
    if (loan == loans_.end() || member == nullptr || !knows_size(sim)) continue;
    if (sim.phase != Phase::kRunning) continue;
    before[id] = loan->second.cpus;
    ++done_["loans over a restart"];
  }
  const bool quota_tells = std::none_of(before.begin(), before.end(), [&](const auto& entry) {
    return engine_.state().find(entry.first)->role == Role::kExclusive &&
           containers_.at(entry.first).container.resources.quota.value_or(0) > 0;
  });
  bool clean = true;  // no other file can be taken for a rank's
  for (const auto& [id, sim] : containers_) {
    if (sim.phase != Phase::kRunning || before.contains(id)) continue;
    // One that found no cores, or is beyond its pod, may stand on as many as it wants, all that the
    // ranks have left.
    clean = clean && !has_live_namesake(sim) && !passes_for_rank(sim, quota_tells);
    const Member* member = engine_.state().find(id);
    // A rank whose file somebody changed is taken to be where that says, in force or not.
    const bool holds = known(sim) == nullptr || member->role == Role::kExclusive;
    const CpuSet due = member == nullptr ? CpuSet() : borrowed(engine_.state(), *member);
    CpuSet stands = holds ? sim.file.cpus : effective(id) - due;
    for (const topology::Core& core : machine_.cores) {  // it may hold whole ones
      if (holds && core.cpus.intersects(sim.file.cpus)) stands |= core.cpus;
    }
    for (const auto& [rank, cores] : before) clean = clean && !stands.intersects(cores);
  }
  const std::vector<engine::KeptCores> kept = engine_.kept();
  engine_ = engine::Engine(machine_, options_.settings, options_.fence);
  engine_.restore(kept);
  synchronize();
  ++done_[clean ? "restart clean" : "restart with wrong files"];
  if (!clean) return;
  // One that found no cores before takes those of its pod.
  const bool placed = engine_.counters().exclusive_placed > 0;
  for (const engine::KeptCores& one : placed ? std::vector<engine::KeptCores>() : kept) {
    check_kept(one);
  }
  // Which of those that share cores holds them may change.
  for (const auto& [id, cores] : before) {
    const Member& member = *engine_.state().find(id);
    const CpuSet shared = pod_cores(engine_.state(), member).cpus;
    const CpuSet& has = shared.empty() ? member.own.cpus : shared;
    if (shared.empty() ? has != cores : !cores.is_subset_of(has)) {
      broken(id + " lost " + cores.to_string() + " in a restart and has " + has.to_string());
    }
  }
}

// Over a restart: unless its pod is gone or states other CPUs than its containers ask for, or
// somebody else is there.
void Sim::check_kept(const engine::KeptCores& kept) {
  const auto is_its = [&](const auto& entry) { return entry.second.pod.id == kept.pod_id; };
  const auto one = std::find_if(containers_.begin(), containers_.end(), is_its);
  if (one == containers_.end() || policy::milli_cpus(one->second.pod.resources)) return;
  const topology::Ledger& ledger = engine_.state().ledger;
  const auto* claim = ledger.find(engine::claim_id(kept.pod_id, kept.container));
  // Its container runs elsewhere, where it was thought to be another pod's.
  if (claim != nullptr && options_.mistell) return;
  // Nor is there room where others have all but these, while an update was not done that was to
  // use some of them, or where one that was forgotten runs on its cores again.
  if (engine_.state().shared().is_subset_of(kept.cpus)) return;
  if (claim != nullptr && kept.cpus.is_subset_of(claim->cpus)) {
    ++done_["kept over a restart"];
  } else if (!kept.cpus.intersects(ledger.exclusive())) {
    broken(kept.pod_id + " kept " + kept.cpus.to_string() + " and lost it in a restart");
  }
}

void Sim::tamper() {
  if (!groups_.empty() && roll(4) == 0) {
    auto at = groups_.begin();
    std::advance(at, roll(static_cast<int>(groups_.size())));
    at->second = machine_.online;
    foreign_groups_.insert(at->first);
    ++done_["tamper group"];
    return;
  }
  SimContainer* sim = pick(Phase::kRunning);
  if (sim == nullptr) return;
  sim->file.cpus = CpuSet();
  for (const int one : machine_.online) {
    if (roll(2) == 0) sim->file.cpus.add(one);
  }
  if (sim->file.cpus.empty()) sim->file.cpus = machine_.online;
  sim->tampered = true;
  ++done_["tamper"];
}

// One or two CPUs go, or all come back. The kernel refuses where a root partition would lose its
// last one. On v1 (no partitions here) it takes them out of the files as well, and a file that
// would be empty says what its parent has.
void Sim::hotplug() {
  const CpuSet all = machine_.online | machine_.offline;
  CpuSet offline;
  if (machine_.offline.empty()) {
    for (int i = 1 + roll(2); i > 0; --i) offline.add(1 + roll(all.count() - 1));
  }
  for (const auto& [id, sim] : containers_) {
    const CpuSet& held = sim.file.partition.cpus;
    if (sim.phase != Phase::kExited && !held.empty() && held.is_subset_of(offline)) return;
  }
  machine_ = options_.with_offline(offline);
  const bool v1 = options_.fence == engine::FenceKind::kLeaf;
  for (auto& [id, sim] : containers_) {
    sim.file.partition.cpus -= offline;
    if (!v1 || sim.phase == Phase::kExited) continue;
    sim.file.cpus &= machine_.online;
    if (sim.file.cpus.empty()) sim.file.cpus = machine_.online;
  }
  handle(engine::MachineChanged{machine_}, "hotplug " + offline.to_string());
  for (const auto& [id, sim] : containers_) {
    const Member* member = engine_.state().find(id);
    // What a Synchronize has placed waits for a quiet moment.
    const bool there = member != nullptr && sim.file.cpus == member->own.cpus;
    if (sim.phase == Phase::kRunning && there && !sim.tampered) check_alone(id);
  }
}

void Sim::run() {
  const char* times = std::getenv("PINION_LIVES");  // NOLINT(concurrency-mt-unsafe)
  const int events = options_.events * (times != nullptr ? std::atoi(times) : 1);
  for (int i = 0; i < events && fault_.empty(); ++i) {
    if (options_.mistell && roll(12) == 0) {
      mistell();
      continue;
    }
    const int what = roll(1000);
    SimContainer* created = pick(Phase::kCreated);
    SimContainer* running = pick(Phase::kRunning);
    SimContainer* exited = pick(Phase::kExited);
    if (what < 300 && exited != nullptr && roll(3) == 0) {  // the kubelet tries again
      create(exited->pod, exited->container.name);
      remove(*exited);
    } else if (what < 300) {
      create();
    } else if (what < 560) {
      if (created != nullptr) start(*created);
    } else if (what < 680) {
      if (running != nullptr) update(*running);
    } else if (what < 700) {
      if (created != nullptr) update(*created);
    } else if (what < 860) {
      if (running != nullptr) stop(*running);
    } else if (what < 880) {
      if (created != nullptr) stop(*created);
    } else if (what < 890) {
      if (exited != nullptr) remove(*exited);
    } else if (what < 898) {
      end_update();
    } else if (what < 910) {
      end_pod();
    } else if (what < 925) {
      appear();
    } else if (what < 940) {
      unknown();
    } else if (what < 960) {
      synchronize();
    } else if (what < 970) {
      restart_agent();
    } else if (what < 975) {
      settle_updates();
      synchronize();
      settle_all();
    } else if (what < 985) {
      if (options_.tamper) tamper();
      if (options_.with_offline) hotplug();
    } else {
      quiet_moment(roll(5));
    }
  }
  if (!fault_.empty()) return;
  settle_updates();
  synchronize();
  settle_all();
}

}  // namespace pinion::test_support
