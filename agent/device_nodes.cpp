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
constexpr std::uint32_t kNvidiaMajor = 195;
constexpr int kMostGpus = 64;

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

// The nearest above it that says a node: as a rule its PCI function.
std::optional<int> DeviceNodes::node_of(const DeviceNumber& device) const {
  const bool block = device.kind == DeviceNumber::Kind::kBlock;
  std::error_code error;
  const fs::path top = fs::canonical(root_ + "/sys/devices", error);
  if (error) return std::nullopt;
  fs::path at = fs::canonical(root_ + "/sys/dev/" + (block ? "block/" : "char/") +
                                  std::to_string(device.major) + ":" + std::to_string(device.minor),
                              error);
  if (error) {
    return !block && device.major == kNvidiaMajor ? node_of_nvidia(device.minor) : std::nullopt;
  }
  const std::string inside = top.string() + "/";
  for (; at.string().starts_with(inside); at = at.parent_path()) {
    if (fs::exists(at / "numa_node", error)) return read_node(at / "numa_node");
  }
  return std::nullopt;
}

engine::NodeSet DeviceNodes::of(const std::vector<DeviceNumber>& devices) const {
  engine::NodeSet nodes;
  if (!looks_) return nodes;
  for (const DeviceNumber& device : devices) {
    if (const auto node = node_of(device)) nodes.add(*node);
  }
  return nodes;
}

}  // namespace pinion::agent
