// The fleet as it is, or as it would be if some were not there: what plans are made on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/core/fleet.h"

namespace pinion::cluster {

class FleetView {
 public:
  // As it is; it must outlive this. NOLINTNEXTLINE(google-explicit-constructor)
  FleetView(const Fleet& fleet) : fleet_(&fleet) {}
  // With nothing running anywhere, and no agent silent.
  [[nodiscard]] static FleetView idle(const Fleet& fleet);

  // Who is gone from a node, with these containers and so much of what is requested there.
  struct Leaving {
    std::string who;
    std::vector<std::string> ids;
    ResourceList requests{};
  };
  // Each counts once. Who has to keep away from whom is as it was: nobody is sent away for that.
  void vacate(NodeIndex node, const std::vector<Leaving>& those);

  [[nodiscard]] const Fleet& fleet() const { return *fleet_; }
  [[nodiscard]] const FleetNode& node(NodeIndex node) const {
    const Other* other = find(node);
    return other == nullptr ? fleet_->node(node) : other->node;
  }

  // As Fleet's.
  [[nodiscard]] std::set<NodeIndex> nodes_of_job(std::string_view job) const {
    return idle_ ? std::set<NodeIndex>() : fleet_->nodes_of_job(job);
  }
  [[nodiscard]] bool knows(std::string_view id) const { return !idle_ && fleet_->knows(id); }
  [[nodiscard]] bool may_use(NodeIndex node, const MemberTerms& terms) const {
    return idle_ ? fleet_->may_ever_use(node, terms) : fleet_->may_use(node, terms);
  }
  [[nodiscard]] bool takes(NodeIndex node, const MemberTerms& terms) const {
    return may_use(node, terms) && has(this->node(node).spare, terms.requests);
  }
  [[nodiscard]] bool may_fit(NodeIndex node, const topology::Request& request) const;
  [[nodiscard]] bool surely_fits(NodeIndex node, const topology::Request& request) const;
  [[nodiscard]] bool fits(NodeIndex node, const topology::Request& request) const;

 private:
  struct Other {
    FleetNode node;
    NodeDigest digest;
  };

  [[nodiscard]] const Other* find(NodeIndex node) const {
    if (others_ == nullptr) return nullptr;
    const auto other = others_->find(node);
    return other == others_->end() ? nullptr : &other->second;
  }

  const Fleet* fleet_;
  bool idle_ = false;
  // Shared with copies of this, until one of them is changed; null: none.
  std::shared_ptr<std::map<NodeIndex, Other>> others_;
  std::set<std::string> gone_;
};

// The fleet with nothing running, made when it is first asked for.
class IdleFleet {
 public:
  explicit IdleFleet(const Fleet& fleet) : fleet_(fleet) {}  // it must outlive this

  [[nodiscard]] const Fleet& fleet() const { return fleet_; }
  const FleetView& view() {
    if (!view_) view_ = FleetView::idle(fleet_);
    return *view_;
  }
  // Its nodes, their machines or what they have beside CPUs are others now.
  void forget() { view_.reset(); }

 private:
  const Fleet& fleet_;
  std::optional<FleetView> view_;
};

}  // namespace pinion::cluster
