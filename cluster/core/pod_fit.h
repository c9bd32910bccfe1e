// Several containers of one pod on one node, each beside the others.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "cluster/core/fleet_view.h"

namespace pinion::cluster {

// Whether the node's machine, with this ledger, gives all of them their CPUs.
[[nodiscard]] bool grants_all(const FleetNode& node, topology::Ledger ledger,
                              const std::vector<topology::Request>& requests);

// Whether nodes would give all of them their CPUs if nothing ran there; each kind of machine is
// asked once.
class IdleFit {
 public:
  // Both must outlive it. Precondition: one request or more.
  IdleFit(const Fleet& fleet, const std::vector<topology::Request>& requests)
      : fleet_(fleet), requests_(requests) {}

  // Precondition: an index below the fleet's size.
  [[nodiscard]] bool fit(NodeIndex node);

 private:
  const Fleet& fleet_;
  const std::vector<topology::Request>& requests_;
  std::map<const MachineKind*, bool> answers_;
};

// For many nodes in turn.
class PodFit {
 public:
  // The requests and the fleet must outlive it. Precondition: one request or more.
  PodFit(const FleetView& fleet, const std::vector<topology::Request>& requests);

  // Whether the node would take all of them now; never a stale one. Precondition: an index below
  // the fleet's size.
  [[nodiscard]] bool fit(NodeIndex node) const;

 private:
  [[nodiscard]] bool spread(const topology::Holes& holes) const;
  [[nodiscard]] bool needs_one_domain(const topology::Holes& holes) const;

  const FleetView fleet_;
  const std::vector<topology::Request>& requests_;
  // One request as large as all of them: what it needs of one domain is there for each after the
  // others, wherever those go. nullopt: they differ in more than their size.
  std::optional<topology::Request> whole_;
  topology::Request least_;  // that one of them asks for
};

}  // namespace pinion::cluster
