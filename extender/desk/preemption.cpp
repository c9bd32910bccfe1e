#include "extender/desk/preemption.h"

#include <algorithm>
#include <set>

#include "extender/fit_together.h"

namespace pinion::extender {
namespace {

// A victim whose end neither the API server nor its agent has told for so long has not been
// deleted.
constexpr std::int64_t kSpareMs = 5000;
constexpr std::int64_t kEarlyMs = 1000;

// Whether the scheduler seems to have evicted them: it names the node in the pod's status a moment
// later, and does not propose victims again that are being deleted.
bool chosen(const Eviction& kept, const Pod& pod, const std::vector<Eviction>& proposals) {
  if (!pod.nominated.empty()) return kept.node == pod.nominated;
  return std::none_of(proposals.begin(), proposals.end(),
                      [&](const Eviction& proposal) { return proposal.node == kept.node; });
}

topology::Ledger without(topology::Ledger ledger, const std::vector<std::string>& uids) {
  for (const auto& uid : uids) {
    const std::string prefix = claim_id(uid, "");
    std::vector<std::string> ids;
    for (auto claim = ledger.claims().lower_bound(prefix);
         claim != ledger.claims().end() && claim->first.starts_with(prefix); ++claim) {
      ids.push_back(claim->first);
    }
    for (const auto& id : ids) ledger.release(id);
  }
  return ledger;
}

}  // namespace

std::vector<Eviction> Preemption::judge(const Pod& pod, const Demand& demand,
                                        std::vector<Eviction> proposals, std::int64_t now_ms) {
  Asked& asked = asked_[pod.uid];
  const Ledgers soon = without_ended(pod, proposals, asked, now_ms);
  if (!soon.empty() && fits_with(demand, soon)) proposals.clear();
  std::erase_if(proposals, [&](const Eviction& eviction) {
    const NodeIndex index = fleet_.find(eviction.node);
    if (index < 0 || fleet_.node(index).stale) return true;
    const FleetNode& node = fleet_.node(index);
    return !grants_all(node, without(node.ledger, eviction.victims), demand.requests);
  });
  // Nobody is to go for a gang that would lack room all the same.
  if (!proposals.empty() && demand.kind == Demand::Kind::kMember &&
      !fits_with(demand, without_lower(pod.priority))) {
    proposals.clear();
  }
  if (!proposals.empty()) {
    asked = {.kept = proposals};
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

// On one of these nodes, or of a member the whole gang on all nodes.
bool Preemption::fits_with(const Demand& demand, const Ledgers& ledgers) const {
  if (demand.kind == Demand::Kind::kMember) return gangs_.would_fit_with(demand, ledgers);
  return std::any_of(ledgers.begin(), ledgers.end(), [&](const auto& entry) {
    return grants_all(fleet_.node(entry.first), entry.second, demand.requests);
  });
}

// The nodes in question with pods that are deleted or were given to the scheduler to evict, as they
// will be when all have told that those are gone: else more pods would be evicted in the moment
// between. The API server's word, the agent's and the scheduler's next question come in any order.
Preemption::Ledgers Preemption::without_ended(const Pod& pod,
                                              const std::vector<Eviction>& proposals,
                                              const Asked& asked, std::int64_t now_ms) const {
  std::map<NodeIndex, std::vector<std::string>> ended;
  if (asked.spared_ms < 0 || now_ms - asked.spared_ms < kSpareMs) {
    for (const Eviction& kept : asked.kept) {
      if (chosen(kept, pod, proposals)) ended[fleet_.find(kept.node)] = kept.victims;
    }
  }
  std::set<NodeIndex> nodes{fleet_.find(pod.nominated)};
  for (const Eviction& eviction : proposals) nodes.insert(fleet_.find(eviction.node));
  for (const NodeIndex index : nodes) {
    if (index < 0) continue;
    for (const auto& [id, claim] : fleet_.node(index).ledger.claims()) {
      const std::string_view uid = pod_of_claim(id);
      if (gone_.contains(uid)) ended[index].emplace_back(uid);
    }
  }
  Ledgers ledgers;
  for (const auto& [index, uids] : ended) {
    if (index < 0 || fleet_.node(index).stale) continue;
    ledgers.emplace(index, without(fleet_.node(index).ledger, uids));
  }
  return ledgers;
}

// The nodes that have pods of a lower priority, as they would be without them.
Preemption::Ledgers Preemption::without_lower(std::int32_t priority) const {
  Ledgers ledgers;
  for (const auto& [name, uids] : roster_.residents()) {
    const NodeIndex node = fleet_.find(name);
    if (node < 0) continue;
    std::vector<std::string> lower;
    for (const auto& uid : uids) {
      if (roster_.find(uid)->priority < priority) lower.push_back(uid);
    }
    if (!lower.empty()) ledgers.emplace(node, without(fleet_.node(node).ledger, lower));
  }
  return ledgers;
}

}  // namespace pinion::extender
