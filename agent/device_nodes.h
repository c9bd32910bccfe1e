// On which NUMA nodes devices are, as the machine says: those that the kubelet allocated to a
// container, by their numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/engine/events.h"

namespace pinion::agent {

class DeviceNodes {
 public:
  // Finds none.
  DeviceNodes() = default;
  // `host_root`: where the host's /sys and /proc are.
  explicit DeviceNodes(const std::string& host_root)
      : root_(host_root == "/" ? "" : host_root), looks_(true) {}

  // The nodes of those whose node is known; each costs a few reads in /sys. A device that is not
  // there, belongs to no node or to one that no CpuSet's kin can hold, is passed over.
  [[nodiscard]] engine::NodeSet of(const std::vector<engine::DeviceNumber>& devices) const;

 private:
  void add_nodes_of(const engine::DeviceNumber& device, engine::NodeSet& nodes) const;
  [[nodiscard]] std::optional<int> node_of_nvidia(std::uint32_t minor) const;
  void add_nodes_of_group(const std::string& iommu_group, engine::NodeSet& nodes) const;

  std::string root_;
  bool looks_ = false;
};

}  // namespace pinion::agent
