// What members leave behind: which NUMA nodes become wholly free, and who would find room then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/core/fleet.h"

namespace pinion::cluster {

// What one member has on one node of the fleet.
struct HeldCpus {
  NodeIndex node = -1;
  topology::CpuSet cpus;
};

// CPUs that the first of `leaving`, the first two, and so on, have in NUMA nodes in which nobody
// has exclusive CPUs any more once these have left. Reserved and isolated CPUs are neither in the
// way nor counted. As long as `leaving`, and never falls. Precondition: indexes below fleet.size()
// of nodes that exist.
[[nodiscard]] std::vector<std::int64_t> whole_nodes_freed(const Fleet& fleet,
                                                          std::span<const HeldCpus> leaving);

// The room that there would be once these have left. Precondition: as above; the fleet is not
// changed meanwhile.
class RoomWhenLeft {
 public:
  RoomWhenLeft(const Fleet& fleet, std::span<const HeldCpus> leaving);

  // No less than the containers like this one that could be given their CPUs then, as
  // Fleet::room_at_most().
  [[nodiscard]] std::int64_t of(const topology::Request& request) const;
  // That have to be looked at each time.
  [[nodiscard]] std::size_t nodes() const { return sites_.size(); }

 private:
  struct Site {
    NodeIndex node = -1;
    topology::Holes then;
  };

  const Fleet& fleet_;
  std::vector<Site> sites_;  // where somebody leaves
};

}  // namespace pinion::cluster
