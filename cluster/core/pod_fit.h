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

// What of them can be told from a machine's holes.
class PodShape {
 public:
  // They must outlive it. Precondition: one request or more.
  explicit PodShape(const std::vector<topology::Request>& requests);

  [[nodiscard]] const std::vector<topology::Request>& requests() const { return requests_; }
  // Whether these holes are enough for all; nullopt: only allocate() can tell. `grants` says it of
  // one request alone, as topology::would_grant().
  template <class Grants>
  [[nodiscard]] std::optional<bool> fit(const topology::Holes& holes, const Grants& grants) const {
    bool sure = true;
    for (const topology::Request& request : requests_) {
      const std::optional<bool> granted = grants(request);
      if (granted == false) return false;
      sure = sure && granted.has_value();
    }
    if (!whole_ || !sure) return std::nullopt;
    const std::optional<bool> as_one = grants(*whole_);
    if (as_one == true || spread(holes)) return true;
    return as_one == false && needs_one_domain(holes) ? std::optional(false) : std::nullopt;
  }

 private:
  [[nodiscard]] bool spread(const topology::Holes& holes) const;
  [[nodiscard]] bool needs_one_domain(const topology::Holes& holes) const;

  const std::vector<topology::Request>& requests_;
  // One request as large as all of them: what it needs of one domain is there for each after the
  // others, wherever those go. nullopt: they differ in more than their size.
  std::optional<topology::Request> whole_;
  topology::Request least_;  // that one of them asks for
};

// Whether nodes would give all of them their CPUs if nothing ran there; each kind of machine is
// asked once.
class IdleFit {
 public:
  // Both must outlive it. Precondition: one request or more.
  IdleFit(const Fleet& fleet, const std::vector<topology::Request>& requests)
      : fleet_(fleet), shape_(requests) {}

  // Precondition: an index below the fleet's size.
  [[nodiscard]] bool fit(NodeIndex node);

 private:
  const Fleet& fleet_;
  const PodShape shape_;
  std::map<const MachineKind*, bool> answers_;
};

// For many nodes in turn.
class PodFit {
 public:
  // The requests and the fleet must outlive it. Precondition: one request or more.
  PodFit(const FleetView& fleet, const std::vector<topology::Request>& requests)
      : fleet_(fleet), shape_(requests) {}

  // Whether the node would take all of them now; never a stale one. Precondition: an index below
  // the fleet's size.
  [[nodiscard]] bool fit(NodeIndex node) const;

 private:
  const FleetView fleet_;
  const PodShape shape_;
};

}  // namespace pinion::cluster
