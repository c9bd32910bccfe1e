#include "cluster/core/fleet_view.h"

#include <utility>

namespace pinion::cluster {

FleetView FleetView::idle(const Fleet& fleet) {
  FleetView view(fleet);
  view.idle_ = true;
  view.others_ = std::make_shared<std::map<NodeIndex, Other>>();
  for (const auto& [name, index] : fleet.by_name()) {
    const FleetNode& now = fleet.node(index);
    FleetNode node;
    node.name = name;
    node.kind = now.kind;
    node.ledger = now.kind->idle_ledger();
    node.holes = now.kind->idle;
    node.open = now.open;
    node.capacity = node.room = node.spare = now.capacity;
    NodeDigest digest = digest_of(node.holes, node.holes);
    digest.usable = true;
    view.others_->emplace(index, Other{.node = std::move(node), .digest = digest});
  }
  return view;
}

void FleetView::vacate(NodeIndex index, const std::vector<Leaving>& those) {
  if (others_ == nullptr) {
    others_ = std::make_shared<std::map<NodeIndex, Other>>();
  } else if (others_.use_count() > 1) {
    others_ = std::make_shared<std::map<NodeIndex, Other>>(*others_);
  }
  const auto [other, fresh] = others_->try_emplace(index);
  auto& [node, digest] = other->second;
  if (fresh) node = fleet_->node(index);
  bool released = fresh;
  for (const Leaving& leaving : those) {
    if (!gone_.insert(leaving.who).second) continue;
    for (const std::string& id : leaving.ids) released = node.ledger.release(id) || released;
    node.spare += leaving.requests;
  }
  if (!released) return;
  node.holes = topology::holes_of(node.topology(), node.ledger);
  digest = digest_of(node.holes, node.kind->idle);
  digest.usable = !node.stale;
}

bool FleetView::may_fit(NodeIndex node, const topology::Request& request) const {
  const Other* other = find(node);
  return other == nullptr ? fleet_->may_fit(node, request)
                          : would_grant(other->digest, request).value_or(true);
}

bool FleetView::surely_fits(NodeIndex node, const topology::Request& request) const {
  const Other* other = find(node);
  return other == nullptr ? fleet_->surely_fits(node, request)
                          : would_grant(other->digest, request).value_or(false);
}

bool FleetView::fits(NodeIndex node, const topology::Request& request) const {
  const Other* other = find(node);
  if (other == nullptr) return fleet_->fits(node, request);
  if (const auto known = would_grant(other->digest, request)) return *known;
  const FleetNode& it = other->node;
  return std::holds_alternative<topology::Decision>(
      topology::allocate(it.topology(), it.ledger, request));
}

}  // namespace pinion::cluster
