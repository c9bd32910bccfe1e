#include "agent/device_nodes.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace pinion::agent {
namespace {

namespace fs = std::filesystem;
using engine::DeviceNumber;

// NVIDIA's GPUs have this major number, and no entry in /sys/dev/char: their driver keeps its own
// list.
constexpr std::string_view kNoIommu = "noiommu-";  // before a group's number, without an IOMMU
constexpr std::uint32_t kNvidiaMajor = 195;
constexpr int kMostGpus = 64;
constexpr int kMostInGroup = 64;

// A machine with one node, or a device of which the firmware says nothing, has -1 here.
std::optional<int> read_node(const fs::path& file) {
  std::ifstream stream(file);
  int node = -1;
  if (!(stream >> node) || node < 0 || node >= engine::NodeSet::kCapacity) return std::nullopt;
  return node;
}

// The number after "Device Minor:" in the driver's description of a GPU.
std::optional<std::uint32_t> nvidia_minor(const fs::path& information) {
  constexpr std::string_view name = "Device Minor:";
  std::ifstream stream(information);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(name)) continue;
    std::uint32_t minor = 0;
    std::istringstream value(line.substr(name.size()));
    return value >> minor ? std::optional(minor) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> DeviceNodes::node_of_nvidia(std::uint32_t minor) const {
  std::error_code error;
  fs::directory_iterator gpus(root_ + "/proc/driver/nvidia/gpus", error);
  for (int seen = 0; !error && gpus != fs::directory_iterator() && seen < kMostGpus; ++seen) {
    if (nvidia_minor(gpus->path() / "information") == minor) {
      return read_node(root_ + "/sys/bus/pci/devices/" + gpus->path().filename().string() +
                       "/numa_node");
    }
    gpus.increment(error);
  }
  return std::nullopt;
}

// Of what is given to user space as a whole: the devices that can reach each other's memory.
void DeviceNodes::add_nodes_of_group(const std::string& iommu_group, engine::NodeSet& nodes) const {
  std::error_code error;
  fs::directory_iterator devices(root_ + "/sys/kernel/iommu_groups/" + iommu_group + "/devices",
                                 error);
  for (int seen = 0; !error && devices != fs::directory_iterator() && seen < kMostInGroup; ++seen) {
    if (const auto node = read_node(devices->path() / "numa_node")) nodes.add(*node);
    devices.increment(error);
  }
}

// The nearest above it that says a node: as a rule its PCI function. /dev/vfio/24 stands for the
// IOMMU group 24 and is below no bus.
void DeviceNodes::add_nodes_of(const DeviceNumber& device, engine::NodeSet& nodes) const {
  const bool block = device.kind == DeviceNumber::Kind::kBlock;
  std::error_code error;
  const fs::path top = fs::canonical(root_ + "/sys/devices", error);
  if (error) return;
  fs::path at = fs::canonical(root_ + "/sys/dev/" + (block ? "block/" : "char/") +
                                  std::to_string(device.major) + ":" + std::to_string(device.minor),
                              error);
  if (error) {
    if (block || device.major != kNvidiaMajor) return;
    if (const auto node = node_of_nvidia(device.minor)) nodes.add(*node);
    return;
  }
  if (at.parent_path() == top / "virtual/vfio") {
    std::string group = at.filename().string();
    if (group.starts_with(kNoIommu)) group.erase(0, kNoIommu.size());
    return add_nodes_of_group(group, nodes);
  }
  const std::string inside = top.string() + "/";
  for (; at.string().starts_with(inside); at = at.parent_path()) {
    if (!fs::exists(at / "numa_node", error)) continue;
    if (const auto node = read_node(at / "numa_node")) nodes.add(*node);
    return;
  }
}

engine::NodeSet DeviceNodes::of(const std::vector<DeviceNumber>& devices) const {
  engine::NodeSet nodes;
  if (!looks_) return nodes;
  for (const DeviceNumber& device : devices) add_nodes_of(device, nodes);
  return nodes;
}

}  // namespace pinion::agent
