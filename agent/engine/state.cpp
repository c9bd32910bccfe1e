#include "agent/engine/state.h"

#include "agent/engine/loans.h"
#include "agent/engine/with_pod.h"

namespace pinion::engine {

std::string claim_id(std::string_view pod_id, std::string_view name) {
  std::string id;
  id.reserve(pod_id.size() + 1 + name.size());
  return id.append(pod_id).append("/").append(name);
}

std::string reserve_id(std::string_view container_id) {
  return std::string("update of ").append(container_id);
}

const Size& Member::larger() const {
  const auto cores = [](const Size& size) {
    return size.role == Role::kExclusive ? size.request.cpus : 0;
  };
  return pending && cores(pending->size) > cores(*this) ? pending->size : *this;
}

CpuSet State::open_to_all(const CpuSet& held) const {
  CpuSet shared = topology.online - held;
  if (ledger.strict()) shared -= ledger.reserved();
  const CpuSet ordinary = shared - topology.isolated;
  return ordinary.empty() ? shared : ordinary;
}

const QosGroup* State::keeper_of(const Member& member) const {
  if (member.role == Role::kExclusive) return nullptr;
  const auto group = qos_groups.find(member.qos_group);
  return group != qos_groups.end() && group->second.keeps ? &group->second : nullptr;
}

Member& State::put_member(const std::string& id, const std::string& pod_id) {
  Member& member = members[id];
  if (member.pod_id == pod_id && !member.id.empty()) return member;
  leave_pod(member);
  member.id = id;
  member.pod_id = pod_id;
  pods.find(pod_id)->second.members.push_back(&member);
  return member;
}

void State::leave_pod(Member& member) {
  set_counted_memory(member, 0);
  const auto pod = pods.find(member.pod_id);
  if (pod != pods.end()) std::erase(pod->second.members, &member);
}

void State::erase_member(const std::string& id) {
  const auto member = members.find(id);
  if (member == members.end()) return;
  leave_pod(member->second);
  unname(member->second);
  members.erase(member);
}

void State::leave_partition(Member& member, const CpuSet& cpus) {
  member.guarded = false;
  const std::string key = "partition of " + member.id;
  const CpuSet before = left_partitions[key].cpus;  // not done yet
  left_partitions[key] = {
      .cgroups_path = member.cgroups_path, .pid = member.pid, .cpus = before | cpus};
  work.push_first(key, Cause::kFence);
}

void State::unname(const Member& member) {
  const auto take_out = [&](Index& index, const Names& names) {
    const auto ids = index.find(names);
    if (ids == index.end()) return;
    ids->second.erase(member.id);
    if (ids->second.empty()) index.erase(ids);
  };
  take_out(named_, {member.name_space, member.name, member.pod_name});
  take_out(of_pods_, {member.name_space, member.pod_name});
  if (!member.lending.lend_to) return;
  take_out(meaning_, meant_names(member));
  lenders.erase(member.id);
}

State::Names State::meant_names(const Member& lender) {
  const policy::LendTo& to = *lender.lending.lend_to;
  return {lender.name_space, to.container, to.any_rest ? to.pod + "*" : to.pod};
}

void State::name_member(Member& member, const std::string& name_space, const std::string& pod_name,
                        const std::string& name, Lending lending) {
  unname(member);
  member.name_space = name_space;
  member.pod_name = pod_name;
  member.name = name;
  member.lending = std::move(lending);
  named_[{name_space, name, pod_name}].insert(member.id);
  of_pods_[{name_space, pod_name}].insert(member.id);
  if (!member.lending.lend_to) return;
  meaning_[meant_names(member)].insert(member.id);
  lenders.insert(member.id);
}

std::vector<const Member*> State::meant_by(const Member& lender) const {
  const policy::LendTo& to = *lender.lending.lend_to;
  std::vector<const Member*> meant;
  auto ids = named_.lower_bound({lender.name_space, to.container, to.pod});
  for (; ids != named_.end(); ++ids) {
    const auto& [name_space, name, pod] = ids->first;
    if (name_space != lender.name_space || name != to.container || !to.means_pod(pod)) break;
    for (const std::string& id : ids->second) {
      if (id == lender.id) continue;
      meant.push_back(find(id));
      if (meant.back()->pod_id != meant.front()->pod_id) return meant;
    }
  }
  return meant;
}

std::vector<const Member*> State::lenders_to(const Member& borrower) const {
  std::vector<const Member*> found;
  const auto add = [&](const std::string& pod) {
    const auto ids = meaning_.find({borrower.name_space, borrower.name, pod});
    if (ids == meaning_.end()) return;
    for (const std::string& id : ids->second) found.push_back(find(id));
  };
  add(borrower.pod_name);
  for (std::size_t length = 1; length <= borrower.pod_name.size(); ++length) {
    add(borrower.pod_name.substr(0, length) + "*");
  }
  return found;
}

bool State::means_pod_beside(const Member& lender) const {
  const policy::LendTo& to = *lender.lending.lend_to;
  auto ids = of_pods_.lower_bound({lender.name_space, to.pod});
  for (; ids != of_pods_.end() && ids->first[0] == lender.name_space; ++ids) {
    if (!to.means_pod(ids->first[1])) return false;  // nor one of those that come later
    if (ids->second.size() > 1 || !ids->second.contains(lender.id)) return true;
  }
  return false;
}

void State::set_counted_memory(Member& member, Bytes bytes) {
  if (bytes == member.counted_memory) return;
  PodRecord& pod = pods.find(member.pod_id)->second;
  pod.counted_memory = pod.counted_memory - member.counted_memory + bytes;
  ledger.set_shared_memory(ledger.shared_memory() - member.counted_memory + bytes);
  member.counted_memory = bytes;
}

const std::vector<Member*>& State::members_of(std::string_view pod_id) const {
  static const std::vector<Member*> none;
  const auto pod = pods.find(pod_id);
  return pod == pods.end() ? none : pod->second.members;
}

Member* State::find(std::string_view id) {
  const auto it = members.find(id);
  return it == members.end() ? nullptr : &it->second;
}

const Member* State::find(std::string_view id) const {
  const auto it = members.find(id);
  return it == members.end() ? nullptr : &it->second;
}

// The same by name.
std::optional<std::string> State::broken_names() const {
  const auto lists = [](const Index& index, const Names& names, const std::string& id) {
    const auto ids = index.find(names);
    return ids != index.end() && ids->second.contains(id);
  };
  const auto listed = [](const Index& index) {
    std::size_t ids = 0;
    for (const auto& [names, some] : index) ids += some.size();
    return ids;
  };
  std::size_t lending = 0;
  for (const auto& [id, member] : members) {
    const bool lends_to = member.lending.lend_to.has_value();
    if (lends_to) ++lending;
    if (!lists(named_, {member.name_space, member.name, member.pod_name}, id) ||
        !lists(of_pods_, {member.name_space, member.pod_name}, id) ||
        (lends_to && (!lists(meaning_, meant_names(member), id) || !lenders.contains(id)))) {
      return id + " is not listed by its names";
    }
  }
  if (listed(named_) != members.size() || listed(of_pods_) != members.size() ||
      listed(meaning_) != lending || lenders.size() != lending) {
    return "a name lists a container that is not there";
  }
  return std::nullopt;
}

namespace {

std::optional<std::string> broken_claim(const State& state, const std::string& id,
                                        const CpuSet& cpus) {
  const topology::Claim* claim = state.ledger.find(id);
  if (claim == nullptr) return id + " has no claim";
  if (cpus.empty() || !cpus.is_subset_of(claim->cpus)) {
    return id + " is for CPUs '" + cpus.to_string() + "' and holds '" + claim->cpus.to_string() +
           "'";
  }
  return std::nullopt;
}

// Each member is listed with its pod, once, and nobody else is.
std::optional<std::string> broken_listing(const State& state) {
  std::size_t listed = 0;
  std::set<const Member*> seen;
  for (const auto& [pod_id, pod] : state.pods) {
    listed += pod.members.size();
    for (const Member* member : pod.members) {
      const bool once = seen.insert(member).second;
      if (member->pod_id != pod_id || !once) return member->id + " is listed wrong in a pod";
    }
  }
  if (listed != state.members.size()) return "a container is not listed with its pod";
  return std::nullopt;
}

// Each exclusive member and each thing kept has a claim of its own, and there are no others.
std::optional<std::string> broken_pairing(const State& state) {
  std::size_t claims = 0;
  for (const auto& [id, member] : state.members) {
    if (member.pending && state.ledger.find(reserve_id(id)) != nullptr) ++claims;
    if (member.role != Role::kExclusive) continue;
    ++claims;
    if (auto broken = broken_claim(state, member.claim, member.own.cpus)) return broken;
  }
  for (const auto& [id, pod] : state.pods) {
    for (const auto& [name, kept] : pod.kept()) {
      ++claims;
      if (auto broken = broken_claim(state, claim_id(id, name), kept.own.cpus)) return broken;
    }
  }
  // Two with the same claim count twice here.
  if (claims != state.ledger.claims().size()) return "claims and their holders do not correspond";
  return std::nullopt;
}

std::optional<std::string> broken_memory(const State& state) {
  Bytes counted = 0;
  for (const auto& [id, pod] : state.pods) {
    counted += pod.counted_memory;
    Bytes of_pod = 0;
    for (const Member* member : pod.members) of_pod += member->counted_memory;
    if (of_pod != pod.counted_memory) return "shared memory of " + id + " is counted wrong";
  }
  for (const auto& [id, member] : state.members) {
    if (member.role == Role::kExclusive && member.counted_memory > 0) {
      return id + " has a claim, and its memory counts as shared";
    }
  }
  if (counted != state.ledger.shared_memory()) return "shared memory is counted wrong";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_invariant(const State& state, const CpuSet& pool,
                                            const CpuSet& held) {
  if (auto broken = broken_listing(state)) return broken;
  if (auto broken = state.broken_names()) return broken;
  if (auto broken = broken_pairing(state)) return broken;
  if (auto broken = broken_memory(state)) return broken;
  const topology::Ledger& ledger = state.ledger;
  int claimed = 0;
  for (const auto& [id, claim] : ledger.claims()) claimed += claim.cpus.count();
  if (claimed != ledger.exclusive().count()) return "two claims share a CPU";
  if (ledger.exclusive().intersects(ledger.reserved())) return "a reserved CPU is claimed";
  if (!ledger.exclusive().is_subset_of(state.topology.online)) return "an offline CPU is claimed";
  if (state.shared().empty()) return "the shared set is empty";
  if (pool.empty()) return "the fence's pool is empty";
  if (pool.intersects(held)) return "the fence's pool touches a claim";
  if (auto broken = broken_company(state, pool, held)) return broken;
  return broken_loan(state, pool, held);
}

}  // namespace pinion::engine
