#include "cluster/extender/scheduling/preemption.h"

#include <algorithm>
#include <set>

#include "cluster/core/pod_fit.h"

namespace pinion::cluster {
namespace {

constexpr std::int64_t kEarlyMs = 1000;
constexpr std::int64_t kCouldStartMs = 1000;  // the answer holds

// The ids of its containers that have CPUs there.
std::vector<std::string> claims_of(const topology::Ledger& ledger, const std::string& uid) {
  const std::string prefix = claim_id(uid, "");
  std::vector<std::string> ids;
  for (auto claim = ledger.claims().lower_bound(prefix);
       claim != ledger.claims().end() && claim->first.starts_with(prefix); ++claim) {
    ids.push_back(claim->first);
  }
  return ids;
}

topology::Ledger without(topology::Ledger ledger, const std::vector<std::string>& uids) {
  for (const auto& uid : uids) {
    for (const auto& id : claims_of(ledger, uid)) ledger.release(id);
  }
  return ledger;
}

}  // namespace

std::vector<Eviction> Preemption::judge(Pod pod, const Demand& demand,
                                        std::vector<Eviction> proposals, std::int64_t now_ms) {
  Asked& asked = asked_[pod.uid];
  pod.nominated = nominated_to(pod.uid, pod.nominated, now_ms);
  if (!pod.nominated.empty()) nominated(pod.uid, pod.nominated);
  const bool member = demand.kind == Demand::Kind::kMember;
  const Ledgers soon = without_ended(pod, member, proposals, asked, now_ms);
  if (!soon.empty() && fits_with(pod, demand, soon)) proposals.clear();
  // Its part is done, the others of its gang ask for themselves.
  if (member && has_its_place(pod, demand, now_ms)) proposals.clear();
  std::erase_if(proposals, [&](const Eviction& eviction) {
    const NodeIndex index = fleet_.find(eviction.node);
    if (index < 0 || fleet_.node(index).stale) return true;
    // Who would have to go is not known of those whom it must not join.
    if (fleet_.unwelcome(index, terms_of(pod)) != Unwelcome::kNo) return true;
    const FleetNode& node = fleet_.node(index);
    const auto later = soon.find(index);
    const topology::Ledger& ledger = later == soon.end() ? node.ledger : later->second;
    return !grants_all(node, without(ledger, eviction.victims), demand.requests);
  });
  // Nobody is to go for a gang that would lack room all the same.
  if (!proposals.empty() && member && !fits_with(pod, demand, without_lower(pod.priority, soon))) {
    proposals.clear();
  }
  if (!proposals.empty()) {
    asked.kept = proposals;
    asked.spared_ms = -1;
  } else if (!soon.empty()) {
    early_[pod.uid] = now_ms;
    if (asked.spared_ms < 0) asked.spared_ms = now_ms;
  }
  return proposals;
}

std::vector<std::string> Preemption::take_early(bool reported, std::int64_t now_ms) {
  std::vector<std::string> uids;
  std::erase_if(early_, [&](const auto& entry) {
    const bool due = reported || now_ms - entry.second >= kEarlyMs;
    if (due) uids.push_back(entry.first);
    return due;
  });
  return uids;
}

void Preemption::nominated(const std::string& uid, const std::string& node) {
  const auto asked = asked_.find(uid);
  if (asked == asked_.end()) return;
  std::erase_if(asked->second.kept, [&](const Eviction& kept) { return kept.node != node; });
}

void Preemption::forget(const std::string& uid) {
  asked_.erase(uid);
  early_.erase(uid);
}

void Preemption::deleted(const std::string& uid, const std::string& node) {
  const NodeIndex index = fleet_.find(node);
  if (index < 0 || claims_of(fleet_.node(index).ledger, uid).empty()) return;
  ending_[node].push_back(uid);
}

void Preemption::reported(const std::string& node) {
  const auto ending = ending_.find(node);
  if (ending == ending_.end()) return;
  const NodeIndex index = fleet_.find(node);
  std::erase_if(ending->second, [&](const std::string& uid) {
    return index < 0 || claims_of(fleet_.node(index).ledger, uid).empty();
  });
  if (ending->second.empty()) ending_.erase(ending);
}

MemberTerms Preemption::terms_of(const Pod& pod) const {
  const Member* member = scheduler_.book().member(pod.uid);
  return member == nullptr ? MemberTerms() : member->terms;
}

// On one of these nodes, or of a member the whole gang on all nodes.
bool Preemption::fits_with(const Pod& pod, const Demand& demand, const Ledgers& ledgers) const {
  if (demand.kind == Demand::Kind::kMember) return gang_fits_with(pod, demand, ledgers);
  return std::any_of(ledgers.begin(), ledgers.end(), [&](const auto& entry) {
    return grants_all(fleet_.node(entry.first), entry.second, demand.requests);
  });
}

// Node by node, as many as each takes: for members that are alike as exact as a plan. What nodes
// have beside CPUs counts as if nobody else were there, but whom a rule keeps from others waits for
// their end, as nobody is evicted for that.
bool Preemption::gang_fits_with(const Pod& pod, const Demand& demand,
                                const Ledgers& ledgers) const {
  const Job& job = *scheduler_.book().find(demand.gang);
  if (!job.complete()) return false;
  Gang rest;
  if (job.started) {
    rest.emplace_back(demand.requests, terms_of(pod));
  } else {
    for (const Member* member : next_members(job)) {
      rest.emplace_back(member->requests, member->terms);
    }
  }
  Gang kinds;  // what is asked for, each once
  for (const GangMember& member : rest) {
    const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const GangMember& kind) {
      return same_shape(kind, member);
    });
    if (!known) kinds.push_back(member);
  }
  for (NodeIndex node = 0; node < fleet_.size() && !rest.empty(); ++node) {
    const FleetNode& there = fleet_.node(node);
    if (there.name.empty() || there.stale) continue;
    const auto freed = ledgers.find(node);
    if (freed == ledgers.end() &&
        std::none_of(kinds.begin(), kinds.end(),
                     [&](const GangMember& kind) { return fleet_.may_fit(node, kind); })) {
      continue;
    }
    topology::Ledger ledger = freed == ledgers.end() ? there.ledger : freed->second;
    ResourceList left = there.capacity;
    bool has_one = false;
    std::erase_if(rest, [&](const GangMember& member) {
      const MemberTerms& terms = member.terms;
      if (!fleet_.may_use(node, terms) || !has(left, terms.requests) ||
          fleet_.too_near(node, terms, member.job) || (terms.apart && has_one)) {
        return false;
      }
      auto plan = topology::plan(there.topology(), ledger, member.requests());
      const bool all = std::all_of(plan.outcomes.begin(), plan.outcomes.end(),
                                   [](const topology::Outcome& outcome) {
                                     return std::holds_alternative<topology::Decision>(outcome);
                                   });
      if (!all) return false;
      ledger = std::move(plan.ledger);
      left -= terms.requests;
      has_one = true;
      return true;
    });
  }
  return rest.empty();
}

// The node that its status names, or will name in a moment; empty: none.
std::string Preemption::nominated_to(const std::string& uid, const std::string& told,
                                     std::int64_t now_ms) const {
  const auto asked = asked_.find(uid);
  if (!told.empty() || asked == asked_.end()) return told;
  return now_ms - asked->second.reserved_ms < kNominationMs ? asked->second.reserved : told;
}

// What the other members of its gang that are nominated ask for, by node.
std::map<std::string, Preemption::Requests> Preemption::reserved(const Pod& pod,
                                                                 const Demand& demand,
                                                                 std::int64_t now_ms) const {
  std::map<std::string, Requests> reserved;
  const Job* gang = scheduler_.book().find(demand.gang);
  if (gang == nullptr) return reserved;
  for (const auto& [uid, member] : gang->members) {
    const std::string node = nominated_to(uid, cache_.find(uid)->nominated, now_ms);
    if (uid == pod.uid || node.empty()) continue;
    auto& there = reserved[node];
    there.insert(there.end(), member.requests.begin(), member.requests.end());
  }
  return reserved;
}

// Whether the member has room where it is nominated, beside others of its gang that are: because it
// was free, or others were evicted for it.
bool Preemption::has_its_place(const Pod& pod, const Demand& demand, std::int64_t now_ms) const {
  const NodeIndex node = fleet_.find(pod.nominated);
  if (node < 0 || fleet_.node(node).stale) return false;
  std::vector<std::string> ended = ended_at(node);
  for (const auto& [uid, asked] : asked_) {
    if (asked.kept.size() != 1 || asked.kept.front().node != pod.nominated) continue;
    // All of them are known.
    if (cache_.find(uid)->demand.gang != demand.gang || !asked.spares(now_ms)) continue;
    const auto& victims = asked.kept.front().victims;
    ended.insert(ended.end(), victims.begin(), victims.end());
  }
  Requests requests = reserved(pod, demand, now_ms)[pod.nominated];
  requests.insert(requests.end(), demand.requests.begin(), demand.requests.end());
  return grants_all(fleet_.node(node), without(fleet_.node(node).ledger, ended), requests);
}

bool Preemption::could_start(const Pod& pod, const Demand& demand, std::int64_t now_ms) {
  auto& last = could_start_;
  if (last.gang != demand.gang || last.priority != pod.priority || now_ms >= last.until_ms) {
    const Ledgers soon = without_ended(pod, true, {}, {}, now_ms);
    last = {.gang = demand.gang,
            .priority = pod.priority,
            .until_ms = now_ms + kCouldStartMs,
            .yes = fits_with(pod, demand, without_lower(pod.priority, soon))};
  }
  return last.yes;
}

NodeIndex Preemption::reserve(const Pod& pod, const Demand& demand,
                              const std::vector<NodeIndex>& nodes, std::int64_t now_ms) {
  if (!pod.nominated.empty() || !cache_.any_below(pod.priority)) return -1;
  Asked& asked = asked_[pod.uid];
  if (!asked.pause.over(now_ms)) return -1;
  asked.pause.begin(now_ms);
  if (!could_start(pod, demand, now_ms)) return -1;
  const MemberTerms terms = terms_of(pod);
  auto others = reserved(pod, demand, now_ms);
  for (const NodeIndex index : nodes) {
    if (index < 0 || fleet_.node(index).stale || !fleet_.may_fit(index, demand.requests.front())) {
      continue;
    }
    const FleetNode& node = fleet_.node(index);
    Requests& requests = others[node.name];
    if (!fleet_.takes(index, terms) || fleet_.too_near(index, terms, demand.gang) ||
        (terms.apart && !requests.empty())) {
      continue;
    }
    const std::size_t before = requests.size();
    requests.insert(requests.end(), demand.requests.begin(), demand.requests.end());
    if (grants_all(node, node.ledger, requests)) {
      asked.reserved = node.name;
      asked.reserved_ms = now_ms;
      return index;
    }
    requests.resize(before);
  }
  early_[pod.uid] = now_ms;
  return -1;
}

std::vector<std::string> Preemption::ended_at(NodeIndex node) const {
  const auto ending = ending_.find(fleet_.node(node).name);
  return ending == ending_.end() ? std::vector<std::string>() : ending->second;
}

// The nodes in question (for a gang: all) with pods that are deleted or were given to the scheduler
// to evict, as they will be when all have told that those are gone: else more pods would be evicted
// in the moment between. The API server's word, the agent's and the scheduler's next question come
// in any order.
Preemption::Ledgers Preemption::without_ended(const Pod& pod, bool member,
                                              const std::vector<Eviction>& proposals,
                                              const Asked& asked, std::int64_t now_ms) const {
  std::map<NodeIndex, std::vector<std::string>> ended;
  for (const Eviction& kept : asked.kept) {
    // Victims that are being deleted are not proposed again.
    const bool again =
        std::any_of(proposals.begin(), proposals.end(),
                    [&](const Eviction& proposal) { return proposal.node == kept.node; });
    const bool chosen = !pod.nominated.empty() || !again;  // see nominated()
    if (chosen && asked.spares(now_ms)) ended[fleet_.find(kept.node)] = kept.victims;
  }
  std::set<std::string_view> nodes{pod.nominated};
  for (const Eviction& eviction : proposals) nodes.insert(eviction.node);
  for (const auto& [node, uids] : ending_) {
    if (!member && !nodes.contains(node)) continue;
    auto& there = ended[fleet_.find(node)];
    there.insert(there.end(), uids.begin(), uids.end());
  }
  Ledgers ledgers;
  for (const auto& [index, uids] : ended) {
    if (index < 0 || fleet_.node(index).stale) continue;
    ledgers.emplace(index, without(fleet_.node(index).ledger, uids));
  }
  return ledgers;
}

// The nodes that have pods of a lower priority, as they would be without them; and those of `soon`.
Preemption::Ledgers Preemption::without_lower(std::int32_t priority, Ledgers soon) const {
  for (const auto& [name, uids] : cache_.residents()) {
    const NodeIndex node = fleet_.find(name);
    if (node < 0) continue;
    std::vector<std::string> lower;
    for (const auto& uid : uids) {
      if (cache_.find(uid)->priority < priority) lower.push_back(uid);
    }
    if (lower.empty()) continue;
    topology::Ledger& ledger = soon.try_emplace(node, fleet_.node(node).ledger).first->second;
    ledger = without(std::move(ledger), lower);
  }
  return soon;
}

}  // namespace pinion::cluster
