// What the API server says of the nodes, and what pods there request that are nobody's members: in
// the core's own terms (core/node_terms.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/core/scheduler.h"
#include "cluster/extender/scheduling/node_demand.h"

namespace pinion::cluster {

class NodeFacts {
 public:
  // Tells the core; it must outlive this.
  explicit NodeFacts(Scheduler& scheduler) : scheduler_(scheduler) {}

  // --- what is told

  void told(const NodeView& node, std::int64_t now_ms);
  void gone(const std::string& node, std::int64_t now_ms);
  // The fleet has this node now. To be called before anybody is placed there.
  void known(const std::string& node, std::int64_t now_ms);
  // Who is on a node without being a member of a job.
  struct Occupant {
    ResourceList requests{};
    bool service = false;
    std::int32_t priority = 0;

    bool operator==(const Occupant&) const = default;
  };
  void occupied(const std::string& uid, const std::string& node, const Occupant& occupant,
                std::int64_t now_ms);
  void vacated(const std::string& uid, std::int64_t now_ms);

  // What it requests; nothing where it is not known.
  [[nodiscard]] ResourceList requests_of(const std::string& uid) const;
  // Those of a lower priority, by node.
  [[nodiscard]] std::map<std::string, std::vector<FleetView::Leaving>> below(
      std::int32_t priority) const;

  // --- what members may use

  // Of a pod of this demand; kept up to date as long as anybody holds it.
  MemberTerms terms(const NodeDemand& demand, const ResourceList& requests);
  // As it is now; null for a demand that is empty.
  [[nodiscard]] std::shared_ptr<const NodeSet> allowed(const NodeDemand& demand) const;

 private:
  struct Node {
    std::vector<Taint> taints;
    Labels labels;
    NodeTerms terms;
    bool told = false;     // else pods have come before it
    std::size_t pods = 0;  // those in occupants_
  };
  using Nodes = std::map<std::string, Node, std::less<>>;
  struct Known {
    Nodes::iterator node;
    Occupant occupant;
  };

  [[nodiscard]] bool allows(const std::string& node, const NodeDemand& demand) const;
  [[nodiscard]] std::shared_ptr<NodeSet> set_of(const NodeDemand& demand) const;
  bool refresh_sets(const std::string& node);
  void leave(const Known& known, std::int64_t now_ms);

  Scheduler& scheduler_;
  Nodes nodes_;
  std::unordered_map<std::string, Known> occupants_;  // by uid
  std::map<NodeDemand, std::shared_ptr<NodeSet>> sets_;
};

}  // namespace pinion::cluster
