#include "cluster/extender/scheduling/preemption.h"

#include <algorithm>
#include <set>

#include "cluster/core/pod_fit.h"

namespace pinion::cluster {
namespace {

constexpr std::int64_t kEarlyMs = 1000;
constexpr std::int64_t kCouldUseMs = 1000;  // the answer holds

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

// Whether the node is one of those that the gang would use, where it may use so many only.
bool counts(const Demand& demand, const std::set<NodeIndex>& those, NodeIndex node) {
  return demand.nodes == 0 || those.contains(node);
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
  FleetView soon = scheduler_.without_reserved_below(pod.priority);
  const std::set<NodeIndex> ended = drop_ended(pod, member, proposals, asked, now_ms, soon);
  const bool fits_soon =
      member ? !ended.empty() && scheduler_.would_use(pod.uid, soon).has_value()
             : std::any_of(ended.begin(), ended.end(), [&](NodeIndex node) {
                 return grants_all(soon.node(node), soon.node(node).ledger, demand.requests);
               });
  if (fits_soon) proposals.clear();
  std::erase_if(proposals, [&](const Eviction& eviction) {
    const NodeIndex index = fleet_.find(eviction.node);
    if (index < 0 || fleet_.node(index).stale) return true;
    // Who would have to go is not known of those whom it must not join.
    if (fleet_.unwelcome(index, terms_of(pod)) != Unwelcome::kNo) return true;
    const FleetNode& node = soon.node(index);
    return !grants_all(node, without(node.ledger, eviction.victims), demand.requests);
  });
  if (!proposals.empty() && member) {
    FleetView emptied = soon;
    drop_lower(pod.priority, emptied);
    const auto room = scheduler_.would_use(pod.uid, emptied);
    // Nobody is to go for a gang that would lack room all the same. Of one that has its place the
    // part is done, the others of its gang ask for themselves.
    std::erase_if(proposals, [&](const Eviction& eviction) {
      return !room || !counts(demand, *room, fleet_.find(eviction.node));
    });
    if (room && counts(demand, *room, fleet_.find(pod.nominated)) &&
        has_its_place(pod, demand, soon, now_ms)) {
      proposals.clear();
    }
  }
  if (!proposals.empty()) {
    asked.kept = proposals;
    asked.spared_ms = -1;
  } else if (!ended.empty()) {
    early_.set(pod.uid, now_ms + kEarlyMs);
    if (asked.spared_ms < 0) asked.spared_ms = now_ms;
  }
  return proposals;
}

std::vector<std::string> Preemption::take_early(bool reported, std::int64_t now_ms) {
  return early_.take(reported ? kNeverDue : now_ms);
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
// was free, or others were evicted for it. `soon`: without what has ended.
bool Preemption::has_its_place(const Pod& pod, const Demand& demand, const FleetView& soon,
                               std::int64_t now_ms) const {
  const NodeIndex node = fleet_.find(pod.nominated);
  if (node < 0 || fleet_.node(node).stale) return false;
  std::vector<std::string> ended;
  for (const auto& [uid, asked] : asked_) {
    if (asked.kept.size() != 1 || asked.kept.front().node != pod.nominated) continue;
    // All of them are known.
    if (cache_.find(uid)->demand.gang != demand.gang || !asked.spares(now_ms)) continue;
    const auto& victims = asked.kept.front().victims;
    ended.insert(ended.end(), victims.begin(), victims.end());
  }
  Requests requests = reserved(pod, demand, now_ms)[pod.nominated];
  requests.insert(requests.end(), demand.requests.begin(), demand.requests.end());
  return grants_all(soon.node(node), without(soon.node(node).ledger, ended), requests);
}

const std::optional<std::set<NodeIndex>>& Preemption::could_use(const Pod& pod,
                                                                const Demand& demand,
                                                                std::int64_t now_ms) {
  auto& last = could_use_;
  if (last.gang != demand.gang || last.priority != pod.priority || now_ms >= last.until_ms) {
    FleetView fleet = scheduler_.without_reserved_below(pod.priority);
    drop_ended(pod, true, {}, {}, now_ms, fleet);
    drop_lower(pod.priority, fleet);
    last = {.gang = demand.gang,
            .priority = pod.priority,
            .until_ms = now_ms + kCouldUseMs,
            .nodes = scheduler_.would_use(pod.uid, fleet)};
  }
  return last.nodes;
}

NodeIndex Preemption::reserve(const Pod& pod, const Demand& demand,
                              const std::vector<NodeIndex>& nodes, std::int64_t now_ms) {
  if (!pod.nominated.empty() || !cache_.any_below(pod.priority)) return -1;
  Asked& asked = asked_[pod.uid];
  if (!asked.pause.over(now_ms)) return -1;
  asked.pause.begin(now_ms);
  const auto& room = could_use(pod, demand, now_ms);
  if (!room) return -1;
  const MemberTerms terms = terms_of(pod);
  auto others = reserved(pod, demand, now_ms);
  for (const NodeIndex index : nodes) {
    if (index < 0 || fleet_.node(index).stale || !counts(demand, *room, index) ||
        !fleet_.may_fit(index, demand.requests.front())) {
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
  early_.set(pod.uid, now_ms + kEarlyMs);
  return -1;
}

// The nodes in question (for a gang: all) with pods that are deleted or were given to the scheduler
// to evict, as they will be when all have told that those are gone: else more pods would be evicted
// in the moment between. The API server's word, the agent's and the scheduler's next question come
// in any order. Returns the nodes where there are such.
std::set<NodeIndex> Preemption::drop_ended(const Pod& pod, bool member,
                                           const std::vector<Eviction>& proposals,
                                           const Asked& asked, std::int64_t now_ms,
                                           FleetView& fleet) const {
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
  std::set<NodeIndex> there;
  for (const auto& [index, uids] : ended) {
    if (index < 0 || fleet_.node(index).stale) continue;
    there.insert(index);
    std::vector<FleetView::Leaving> leaving;
    for (const auto& uid : uids) {
      // What it requests still counts until its end is told.
      const Member* known = scheduler_.book().member(uid);
      const bool counts = known != nullptr && known->node == fleet_.node(index).name;
      leaving.push_back({.who = uid,
                         .ids = claims_of(fleet_.node(index).ledger, uid),
                         .requests = counts ? known->terms.requests : nodes_.requests_of(uid)});
    }
    fleet.vacate(index, leaving);
  }
  return there;
}

// All pods of a lower priority.
void Preemption::drop_lower(std::int32_t priority, FleetView& fleet) const {
  scheduler_.drop_running_below(priority, fleet);
  for (const auto& [name, those] : nodes_.below(priority)) {
    if (const NodeIndex node = fleet_.find(name); node >= 0) fleet.vacate(node, those);
  }
}

}  // namespace pinion::cluster
