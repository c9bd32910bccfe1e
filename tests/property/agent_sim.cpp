#include "tests/property/agent_sim.h"

namespace pinion::test_support {

using engine::Applied;
using engine::ContainerEvent;
using engine::CpuSet;
using engine::Effects;
using engine::Enforced;
using engine::Member;
using engine::Role;
using Kind = engine::ContainerEvent::Kind;

void Sim::broken(const std::string& rule) {
  if (fault_.empty()) fault_ = rule + " (after " + last_ + ")";
}

// --- the agent's shell

Effects Sim::handle(const engine::Event& event, const std::string& what) {
  last_ = what;
  const std::string verb = what.substr(0, what.find(' '));
  ++done_[verb];
  const std::vector<engine::KeptCores> kept = engine_.kept();
  const auto revision = [this] {
    return engine_.state().kept_revision() + engine_.state().unstarted_revision();
  };
  const std::uint64_t before = revision();
  Effects effects = engine_.handle(event);
  if (const auto rule = engine_.broken()) broken("fatal: " + *rule);
  if (engine_.kept() != kept && revision() == before) {
    broken("what pods keep changed and nobody will save it");
  }
  transcript_ += what;
  if (effects.reply.refusal) {
    ++done_[verb + " refused"];
    transcript_ += " refused: " + *effects.reply.refusal;
  }
  if (effects.reply.own) {
    if (effects.reply.own->cpus.empty()) broken("an empty set was told");
    transcript_ += " -> " + effects.reply.own->cpus.to_string();
  }
  std::set<Id> told;
  for (const auto& update : effects.reply.updates) {
    if (update.cpuset.cpus.empty()) broken("an empty set was told to " + update.id);
    if (!told.insert(update.id).second) broken("told twice in one answer: " + update.id);
    transcript_ += " " + update.id + "=" + update.cpuset.cpus.to_string();
  }
  transcript_ += '\n';
  done_["updates"] += static_cast<int>(effects.reply.updates.size());
  do_work();
  // Isolated ones leave it lazily; those of partitions stand in it for ever.
  const CpuSet ordinary = engine_.pool() - machine_.isolated - engine_.state().ledger.exclusive();
  if (!ordinary.is_subset_of(engine_.state().shared())) {
    broken("the pool is not a part of the shared set");
  }
  check_loans();
  check_company();
  return effects;
}

// Somebody sets AllowedCPUs, or takes it away: systemd writes what is set into the group.
void Sim::limit_group(const std::string& name, CpuSet& file) {
  limits_.erase(name);
  ++done_["limits"];
  if (roll(4) == 0) return;
  CpuSet some;
  for (const topology::CpuId cpu : machine_.online) {
    if (roll(2) == 0) some.add(cpu);
  }
  if (some.empty()) some = machine_.online;
  limits_[name] = some;
  file = some;
}

engine::Enforced Sim::write_group(const engine::Enforce& wanted) {
  CpuSet& file = groups_.try_emplace(wanted.id, machine_.online).first->second;
  Enforced result;
  result.id = wanted.id;
  result.cause = wanted.cause;
  if (options_.limit != 0 && roll(options_.limit) == 0) limit_group(wanted.id, file);
  if (const auto limit = limits_.find(wanted.id); limit != limits_.end()) {
    result.limit = limit->second;
  }
  const CpuSet cpus = engine::within(result.limit, wanted.cpuset.cpus, wanted.below);
  result.found = Applied{.cpus = file, .mems = {}};
  foreign_groups_.erase(wanted.id);
  stale_groups_.erase(wanted.id);
  if (file == cpus) return result;
  if (options_.no_group != 0 && roll(options_.no_group) == 0) {
    result.error = "not here";
    stale_groups_.insert(wanted.id);
    ++done_["no group"];
    return result;
  }
  file = cpus;
  result.written = true;
  ++done_["group writes"];
  return result;
}

void Sim::do_work() {
  int pieces = 0;
  while (const auto work = engine_.next()) {
    if (++pieces > 10'000) return broken("next() spins");
    if (const auto* wanted = std::get_if<engine::Enforce>(&*work)) {
      enforce(*wanted);
      continue;
    }
    for (auto& [id, sim] : containers_) {
      if (sim.container.cgroups_path == std::get<engine::Unguard>(*work).cgroups_path) {
        sim.file.partition = {};
      }
    }
  }
}

void Sim::enforce(const engine::Enforce& wanted) {
  if (wanted.cpuset.cpus.empty()) broken("an empty set was to be written");
  if (wanted.qos_group) {
    (void)engine_.report(write_group(wanted));
    return;
  }
  Enforced result;
  result.id = wanted.id;
  result.cause = wanted.cause;
  const auto at = containers_.find(wanted.id);
  const bool there = at != containers_.end() && at->second.phase != Phase::kCreated &&
                     at->second.phase != Phase::kExited;
  if (!there) {
    result.gone = true;
  } else {
    SimContainer& sim = at->second;
    result.found = sim.file;
    if (writes() && !matches(sim.file, wanted.cpuset)) {
      sim.file.cpus = wanted.cpuset.cpus;
      if (!wanted.cpuset.mems.empty()) sim.file.mems = wanted.cpuset.mems;
      result.written = true;
      ++done_["writes"];
    }
    if (writes()) sim.tampered = false;
    if (wanted.partition) {
      const bool fails = options_.no_partition != 0 && roll(options_.no_partition) == 0;
      sim.file.partition = fails ? engine::Partition() : *wanted.partition;
      if (fails) result.partition_error = "not here";
      result.partition = sim.file.partition;
      ++done_[fails ? "no partition" : "partition"];
    }
  }
  (void)engine_.report(result);
}

CpuSet Sim::effective(const Id& id) const {
  const SimContainer& one = containers_.at(id);
  CpuSet cpus = one.file.cpus;
  const auto group = groups_.find(policy::qos_group_of(one.pod.cgroup_parent));
  if (group != groups_.end()) {
    cpus = cpus.intersects(group->second) ? cpus & group->second : group->second;
  }
  for (const auto& [other, sim] : containers_) {
    if (other != id && sim.phase != Phase::kExited) cpus -= sim.file.partition.cpus;
  }
  return cpus;
}

// The runtime's way with updates in an answer: only a running container is sure to get its own.
void Sim::apply(const std::vector<engine::CpusetUpdate>& updates) {
  for (const auto& update : updates) {
    const auto at = containers_.find(update.id);
    if (at == containers_.end() || at->second.phase == Phase::kExited) continue;
    SimContainer& sim = at->second;
    if (sim.phase == Phase::kCreated && roll(15) == 0) continue;  // not in the store yet: dropped
    sim.container.resources.cpus = update.cpuset.cpus.to_string();
    if (!update.cpuset.mems.empty()) {
      sim.container.resources.mems = update.cpuset.mems.to_string();
    }
    if (sim.phase != Phase::kRunning) continue;  // the record alone
    sim.file.cpus = update.cpuset.cpus;
    if (!update.cpuset.mems.empty()) sim.file.mems = update.cpuset.mems;
    sim.tampered = false;
  }
}

void Sim::quiet_moment(int pieces) {
  for (int i = 0; i < pieces; ++i) {
    const auto piece = engine_.idle();
    if (!piece) return;
    enforce(*piece);
    do_work();
  }
}

// --- the rules

// Nobody's file but the container's own, its borrower's or those of its pod touches its cores.
void Sim::check_alone(const Id& id) {
  const Member* member = engine_.state().find(id);
  if (!writes() || member == nullptr) return;
  if (member->role != Role::kExclusive) {
    const CpuSet cores = pod_cores(engine_.state(), *member).cpus;
    if (!cores.empty()) check_others(id, cores, {});
    for (const auto& [lender, loan] : loans_) {
      if (loan.borrower == id) check_others(lender, loan.cpus, id);
    }
    return;
  }
  const SimContainer& own = containers_.at(id);
  const CpuSet wanted = engine_.target_of(*member).cpus;
  if (own.file.cpus != wanted)
    broken(id + " does not start on its cores " + wanted.to_string() + " but on " +
           own.file.cpus.to_string());
  const auto loan = loans_.find(id);
  check_others(id, member->own.cpus, loan == loans_.end() ? Id() : loan->second.borrower);
}

void Sim::check_others(const Id& id, const CpuSet& cores, const Id& borrower) {
  const auto whose = containers_.find(id);
  for (const auto& [other, sim] : containers_) {
    if (other == borrower || sim.tampered) continue;
    if (whose != containers_.end() && may_share(whose->second, sim) && shares(other)) continue;
    if (other == id && borrower.empty()) continue;
    if (mistold(sim)) continue;  // its file is looked for below another pod's group
    const std::string group = policy::qos_group_of(sim.pod.cgroup_parent);
    // A file that has nothing in common with its group's is of no effect.
    const bool moot = stale_groups_.contains(group) && !sim.file.cpus.intersects(groups_[group]);
    if (foreign_groups_.contains(group) || moot) continue;
    if (sim.phase != Phase::kStarting && sim.phase != Phase::kRunning) continue;
    if (effective(other).intersects(cores)) {
      const Member* known = engine_.state().find(other);
      const std::string seen = known == nullptr    ? "unknown"
                               : !known->started() ? "not started"
                               : !known->applied   ? "unseen"
                                                   : known->applied->cpus.to_string();
      broken(other + " (" + seen + ") on " + effective(other).to_string() + " touches " + id +
             " on " + cores.to_string());
    }
  }
  if (borrower.empty()) return;
  const SimContainer& own = containers_.at(borrower);
  const bool settled = own.phase == Phase::kRunning && !own.tampered && !mistold(own);
  if (settled && !cores.is_subset_of(effective(borrower))) {
    broken(borrower + " on " + effective(borrower).to_string() + " has not what " + id + " lends");
  }
}

// Whom the lender's pod means, by what the pods of all live containers say.
Sim::Id Sim::borrower_of(const Member& lender) const {
  const SimContainer& from = containers_.at(lender.id);
  const auto said = from.pod.annotations.find("pinion.dev/lend-to");
  if (said == from.pod.annotations.end() || lender.role != Role::kExclusive || !lender.started()) {
    return {};
  }
  const auto slash = said->second.find('/');
  std::string name = said->second.substr(0, slash);
  const bool any_rest = name.back() == '*';
  if (any_rest) name.pop_back();
  std::set<std::string> pods;
  std::vector<const Member*> running;
  for (const auto& [id, one] : engine_.state().members) {
    if (id == lender.id || one.name_space != lender.name_space) continue;
    if (one.name != said->second.substr(slash + 1)) continue;
    if (any_rest ? one.pod_name.rfind(name, 0) != 0 : one.pod_name != name) continue;
    pods.insert(one.pod_id);
    if (one.started()) running.push_back(&one);
  }
  if (pods.size() != 1 || running.size() != 1) return {};
  const Member& meant = *running.front();
  const bool agrees = containers_.at(meant.id).pod.annotations.count("pinion.dev/borrow") != 0;
  const bool fits = meant.role == Role::kShared && meant.qos == engine::Qos::kGuaranteed;
  return agrees && fits ? meant.id : Id();
}

// After every event: loans are as the pods say, and what is lent is to be in one set alone.
void Sim::check_loans() {
  if (!options_.lend) return;
  const engine::Loans before = std::exchange(loans_, loans_of(engine_.state()));
  CpuSet lent;
  std::map<Id, CpuSet> due;
  for (const auto& [lender, loan] : loans_) {
    if (!before.contains(lender)) ++done_["loans"];
    lent |= loan.cpus;
    due[loan.borrower] |= loan.cpus;
  }
  const bool lends = options_.fence != engine::FenceKind::kRuntime;
  const CpuSet pool = engine_.pool();
  for (const auto& [id, member] : engine_.state().members) {
    if (!containers_.contains(id)) continue;  // of a pod that ended this moment
    const engine::Cpuset target = engine::target(engine_.state(), member, pool);
    const auto loan = loans_.find(id);
    const Id borrower = loan == loans_.end() ? Id() : loan->second.borrower;
    // It goes by the pods that it was told.
    const Id wanted = options_.mistell ? borrower : lends ? borrower_of(member) : Id();
    if (wanted != borrower) {
      broken(id + " is to lend to '" + wanted + "'");
    }
    if (member.role == Role::kExclusive && wanted.empty() && target != member.own) {
      broken(id + " does not have back what it lent");
    }
    if (engine_.state().keeper_of(member) != nullptr) continue;
    if ((target.cpus & lent) != due[id]) broken(id + " has what is lent to another");
  }
}

// As their pod says, of which the runtime tells how many CPUs it has as a whole.
bool Sim::may_share(const SimContainer& one, const SimContainer& other) const {
  if (one.pod.id != other.pod.id || !policy::milli_cpus(one.pod.resources)) return false;
  for (const auto& [name, value] : one.pod.annotations) {
    if (name.starts_with("pinion.dev/lend-to") || value == "exclusive") return false;
  }
  return one.container.id != other.container.id;
}

// Or it was told of another pod.
bool Sim::shares(const Id& id) const {
  const Member* member = engine_.state().find(id);
  if (member == nullptr) return false;
  return member->with_pod() || (member->role == Role::kExclusive && member->of_pod);
}

// All CPUs of its pod, as that was told, and has always done so.
bool Sim::states_all(const Member& member) const {
  const SimContainer& one = containers_.at(member.id);
  const auto all = policy::milli_cpus(one.pod.resources);
  return all && *all % 1000 == 0 && policy::milli_cpus(member.resources) == all &&
         !policy::requests_less(member.resources) && !member.pending && !one.update && !one.changed;
}

// There is another attempt of it, which may have its cores.
bool Sim::is_replaced(const Member& member) const {
  for (const Member* other : engine_.state().members_of(member.pod_id)) {
    if (other != &member && other->name == member.name) return true;
  }
  return false;
}

// After every event: who runs on the cores of another is of its pod, and who is to share them does.
void Sim::check_company() {
  const engine::State& state = engine_.state();
  const CpuSet pool = engine_.pool();
  for (const auto& [id, member] : state.members) {
    const auto here = containers_.find(id);
    if (member.role != Role::kShared || here == containers_.end() || options_.mistell) continue;
    const CpuSet target = engine::target(state, member, pool).cpus;
    CpuSet mates;
    bool due = false;
    for (const auto& [other_id, other] : state.members) {
      const auto there = containers_.find(other_id);
      if (other.role != Role::kExclusive) continue;
      if (there == containers_.end()) {  // it is made this moment
        if (other.pod_id == member.pod_id) mates |= other.own.cpus;
        continue;
      }
      if (may_share(here->second, there->second)) {
        mates |= other.own.cpus;
        due = due || (states_all(member) && states_all(other));
      } else if (state.keeper_of(member) == nullptr && target.intersects(other.own.cpus) &&
                 !loans_.contains(other_id) && options_.fence != engine::FenceKind::kPartition) {
        broken(id + " is to run on the cores of " + other_id);
      }
    }
    const auto& annotations = here->second.pod.annotations;
    const bool may =
        !annotations.contains("pinion.dev/cpus") && !annotations.contains("pinion.dev/borrow");
    const bool beside = member.with_pod() && target.is_subset_of(mates);
    const bool replaced = is_replaced(member);
    if (due && may && !replaced && !beside) broken(id + " is not to share its pod's cores");
    if (beside) ++done_["guests"];
  }
}

// Every file is as decided.
void Sim::check_all_files() {
  const CpuSet pool = engine_.pool();
  for (const auto& [name, group] : engine_.state().qos_groups) {
    const CpuSet wanted = group_target(engine_.state(), name, group, pool);
    if (!group.stuck && groups_.at(name) != wanted) {
      broken(name + " has " + groups_.at(name).to_string() + " and not " + wanted.to_string());
    }
  }
  for (const auto& [id, sim] : containers_) {
    if (sim.phase != Phase::kRunning) continue;
    const Member* member = engine_.state().find(id);
    if (member == nullptr) {
      broken(id + " runs and is not known");
      continue;
    }
    const engine::Cpuset target = engine::target(engine_.state(), *member, pool);
    if (!matches(sim.file, target)) {
      broken(id + " is on " + sim.file.cpus.to_string() + " and not on " + target.cpus.to_string());
    }
  }
}

// After a few quiet rounds nothing is wrong any more: files by the leaf fence, answers to
// Synchronize by the runtime fence.
void Sim::settle_all() {
  for (int round = 0; round < 4; ++round) {
    quiet_moment(10'000);
    if (engine_.idle()) return broken("idle() spins");
    for (auto piece = engine_.audit(""); piece; piece = engine_.audit(piece->id)) {
      enforce(*piece);
      do_work();
    }
    if (engine_.wants_resync()) synchronize();
  }
  quiet_moment(10'000);
  if (engine_.wants_resync()) broken("a resync does not help");
  check_all_files();
  check_waiting();
}

// Who waits for cores does not fit.
void Sim::check_waiting() {
  const engine::State& state = engine_.state();
  for (const auto& [id, member] : state.members) {
    if (member.role != Role::kWaiting || state.ledger.find(member.claim) != nullptr) continue;
    ++done_["waits"];
    const auto outcome = topology::allocate(state.topology, state.ledger, member.request);
    if (std::holds_alternative<topology::Decision>(outcome)) broken(id + " waits in vain");
  }
}

}  // namespace pinion::test_support
