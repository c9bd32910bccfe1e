#include "cluster/extender/scheduling/node_facts.h"

#include <utility>

namespace pinion::cluster {

void NodeFacts::told(const NodeView& view, std::int64_t now_ms) {
  Node& node = nodes_[view.name];
  const bool fresh = !std::exchange(node.told, true);
  node.terms.open = view.taints.empty();
  node.terms.capacity = view.allocatable;
  scheduler_.exists(view.name, node.terms.open, now_ms);
  scheduler_.terms(view.name, node.terms, now_ms);
  Labels labels(view.labels);
  if (!fresh && node.taints == view.taints && node.labels == labels) return;
  node.taints = view.taints;
  node.labels = std::move(labels);
  if (refresh_sets(view.name)) scheduler_.nodes_changed(now_ms);
}

void NodeFacts::gone(const std::string& name, std::int64_t now_ms) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return;
  for (auto& [demand, nodes] : sets_) nodes->set_unheard(name, false);
  if (node->second.pods == 0) {
    nodes_.erase(node);
    return;
  }
  // The API server tells of their end later.
  const NodeTerms terms{.others = node->second.terms.others,
                        .services = node->second.terms.services};
  node->second =
      Node{.taints = {}, .labels = {}, .terms = terms, .told = false, .pods = node->second.pods};
  scheduler_.terms(name, node->second.terms, now_ms);
}

void NodeFacts::known(const std::string& node, std::int64_t now_ms) {
  if (refresh_sets(node)) scheduler_.nodes_changed(now_ms);
}

void NodeFacts::occupied(const std::string& uid, const std::string& name, const Occupant& occupant,
                         std::int64_t now_ms) {
  const auto known = occupants_.find(uid);
  if (known != occupants_.end()) {
    if (known->second.node->first == name && known->second.occupant == occupant) return;
    leave(known->second, now_ms);
    occupants_.erase(known);
  }
  const auto node = nodes_.try_emplace(name).first;
  ++node->second.pods;
  node->second.terms.others += occupant.requests;
  node->second.terms.services += occupant.service ? 1 : 0;
  occupants_.emplace(uid, Known{.node = node, .occupant = occupant});
  scheduler_.terms(name, node->second.terms, now_ms);
}

void NodeFacts::vacated(const std::string& uid, std::int64_t now_ms) {
  const auto known = occupants_.find(uid);
  if (known == occupants_.end()) return;
  leave(known->second, now_ms);
  occupants_.erase(known);
}

void NodeFacts::leave(const Known& known, std::int64_t now_ms) {
  Node& node = known.node->second;
  node.terms.others -= known.occupant.requests;
  node.terms.services -= known.occupant.service ? 1 : 0;
  scheduler_.terms(known.node->first, node.terms, now_ms);
  if (--node.pods == 0 && !node.told) nodes_.erase(known.node);
}

ResourceList NodeFacts::requests_of(const std::string& uid) const {
  const auto known = occupants_.find(uid);
  return known == occupants_.end() ? ResourceList() : known->second.occupant.requests;
}

std::map<std::string, std::vector<FleetView::Leaving>> NodeFacts::below(
    std::int32_t priority) const {
  std::map<std::string, std::vector<FleetView::Leaving>> those;
  for (const auto& [uid, known] : occupants_) {
    if (known.occupant.priority >= priority) continue;
    those[known.node->first].push_back(
        {.who = uid, .ids = {}, .requests = known.occupant.requests});
  }
  return those;
}

MemberTerms NodeFacts::terms(const NodeDemand& demand, const ResourceList& requests) {
  if (demand.empty()) return {.requests = requests, .nodes = nullptr};
  const auto known = sets_.find(demand);
  if (known != sets_.end()) return {.requests = requests, .nodes = known->second};
  std::erase_if(sets_, [](const auto& entry) { return entry.second.use_count() == 1; });
  const auto nodes = sets_.emplace(demand, set_of(demand)).first->second;
  return {.requests = requests, .nodes = nodes};
}

std::shared_ptr<NodeSet> NodeFacts::set_of(const NodeDemand& demand) const {
  auto nodes = std::make_shared<NodeSet>();
  for (const auto& [name, index] : scheduler_.fleet().by_name()) {
    nodes->set(index, allows(name, demand));
  }
  for (const auto& [name, node] : nodes_) {
    const bool unheard = node.told && scheduler_.fleet().find(name) < 0;
    if (unheard && allows(name, demand)) nodes->set_unheard(name, true);
  }
  return nodes;
}

std::shared_ptr<const NodeSet> NodeFacts::allowed(const NodeDemand& demand) const {
  if (demand.empty()) return nullptr;
  const auto known = sets_.find(demand);
  if (known != sets_.end()) return std::make_shared<const NodeSet>(*known->second);
  return set_of(demand);
}

// Of which nothing is told rules nobody out.
bool NodeFacts::allows(const std::string& name, const NodeDemand& demand) const {
  const auto node = nodes_.find(name);
  if (node == nodes_.end() || !node->second.told) return true;
  return tolerates(demand, node->second.taints) && selects(demand, name, node->second.labels);
}

// Whether any has changed.
bool NodeFacts::refresh_sets(const std::string& name) {
  const NodeIndex index = scheduler_.fleet().find(name);
  bool changed = false;
  for (auto& [demand, nodes] : sets_) {
    const bool in = allows(name, demand);
    nodes->set_unheard(name, in && index < 0);
    if (index < 0) continue;
    changed = changed || nodes->contains(index) != in;
    nodes->set(index, in);
  }
  return changed;
}

}  // namespace pinion::cluster
