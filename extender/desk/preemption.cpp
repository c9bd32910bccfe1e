#include "extender/desk/preemption.h"

#include <algorithm>

#include "extender/fit_together.h"

namespace pinion::extender {
namespace {

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
                                        std::vector<Eviction> proposals) {
  const auto freed = without_ended(pod, proposals);
  if (!freed.empty() && fits_with(demand, freed)) proposals.clear();
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
  if (proposals.empty() && !freed.empty()) early_.insert(pod.uid);
  return proposals;
}

// On one of these nodes, or of a member the whole gang on all nodes.
bool Preemption::fits_with(const Demand& demand, const Ledgers& ledgers) const {
  if (demand.kind == Demand::Kind::kMember) return gangs_.would_fit_with(demand, ledgers);
  return std::any_of(ledgers.begin(), ledgers.end(), [&](const auto& entry) {
    return grants_all(fleet_.node(entry.first), entry.second, demand.requests);
  });
}

// The nodes in question that have containers of deleted pods, as they will be when their agents
// have told that those are gone: else more pods would be evicted in the moment between.
Preemption::Ledgers Preemption::without_ended(const Pod& pod,
                                              const std::vector<Eviction>& proposals) const {
  std::set<NodeIndex> nodes{fleet_.find(pod.nominated)};
  for (const Eviction& eviction : proposals) nodes.insert(fleet_.find(eviction.node));
  Ledgers ledgers;
  for (const NodeIndex index : nodes) {
    if (index < 0 || fleet_.node(index).stale) continue;
    const topology::Ledger& ledger = fleet_.node(index).ledger;
    std::vector<std::string> ended;
    for (const auto& [id, claim] : ledger.claims()) {
      const std::string_view uid = pod_of_claim(id);
      if (gone_.contains(uid)) ended.emplace_back(uid);
    }
    if (!ended.empty()) ledgers.emplace(index, without(ledger, ended));
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
