#include "topology/discover/sysfs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

namespace pinion::topology {
namespace {

constexpr std::string_view kPrefix = "node";  // of a node's directory

Result<CpuSet> read_cpus(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // Old kernels end the text with a zero byte.
  auto cpus = CpuSet::parse(std::string_view(text).substr(0, text.find('\0')));
  if (!cpus) return failure(std::move(cpus.error()).within(path));
  return cpus;
}

// "node12" -> 12; nothing for any other name.
std::optional<NodeId> node_number(std::string_view name) {
  if (name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  NodeId number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

std::vector<NodeId> list_nodes(const std::string& directory) {
  std::vector<NodeId> found;
  std::error_code error;  // no such directory: no nodes
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (const auto number = node_number(at->path().filename().native())) found.push_back(*number);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

bool tells_cpus(const std::string& root) {
  const std::string directory = root + "/sys/devices/system/cpu/";
  const auto online = read_cpus(directory + "online");
  const int first_online = online && !online->empty() ? online->first() : 0;
  for (const int cpu : {0, first_online}) {
    // The second two are the names until Linux 5.1.
    for (const char* file : {"package_cpus", "core_cpus", "core_siblings", "thread_siblings"}) {
      std::error_code error;
      if (std::filesystem::exists(directory + "cpu" + std::to_string(cpu) + "/topology/" + file,
                                  error)) {
        return true;
      }
    }
  }
  return false;
}

Result<KernelFiles> read_kernel_files(const std::string& root) {
  const std::string cpu_directory = root + "/sys/devices/system/cpu/";
  const std::string node_directory = root + "/sys/devices/system/node/";
  const auto present = read_cpus(cpu_directory + "present");
  if (!present) return failure(present.error());
  const auto online = read_cpus(cpu_directory + "online");
  if (!online) return failure(online.error());
  const auto isolated = read_cpus(cpu_directory + "isolated");
  if (!isolated) return failure(isolated.error());

  KernelFiles files;
  files.isolated = *isolated;
  if (!online->empty()) files.offline = *present - *online;
  for (const NodeId node : list_nodes(node_directory)) {
    const auto cpus = read_cpus(node_directory + "node" + std::to_string(node) + "/cpulist");
    if (!cpus) return failure(cpus.error());
    files.nodes.emplace_back(node, *cpus);
  }
  return files;
}

}  // namespace pinion::topology
