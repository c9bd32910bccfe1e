#include "ctl/machine/draw_topology.h"

#include <algorithm>
#include <map>

#include "ctl/common/text.h"

namespace pinion::ctl {
namespace {

using topology::Cache;
using topology::Core;
using topology::CpuId;
using topology::CpuSet;
using topology::Device;
using topology::DeviceKind;
using topology::Index;
using topology::kNoIndex;
using topology::Node;
using topology::NodeSet;
using topology::Topology;

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

std::vector<std::string> cpu_words(const CpuSet& cpus) {
  std::vector<std::string> words{cpus.count() == 1 ? "CPU " : "CPUs "};
  append(words, list_words(cpus.to_string()));
  return words;
}

// "  distance 12 to 1, 32 to 2-3": from `node` to the `others`, itself left out.
std::vector<std::string> distance_words(const Topology& machine, const Node& node,
                                        const NodeSet& others) {
  std::map<int, NodeSet> by_distance;
  for (std::size_t to = 0; to < node.distance.size(); ++to) {
    const topology::NodeId id = machine.nodes[to].id;
    if (id != node.id && others.contains(id)) by_distance[node.distance[to]].add(id);
  }
  std::vector<std::string> words;
  for (const auto& [distance, nodes] : by_distance) {
    if (!words.empty()) words.back() += ", ";
    words.push_back((words.empty() ? "  distance " : "") + std::to_string(distance) + " to ");
    append(words, list_words(nodes.to_string()));
  }
  return words;
}

std::string device_text(const Device& device) {
  std::string text = device.name;
  text += device.kind == DeviceKind::kNetwork ? " (network" : " (GPU";
  if (!device.pci.empty() && device.pci != device.name) text += ", " + device.pci;
  return text + ")";
}

std::string device_lines(const Topology& machine, Index node, const std::string& head) {
  std::vector<std::string> words;
  for (const Device& device : machine.devices) {
    if (device.node == node) words.push_back(device_text(device));
  }
  return words.empty() ? "" : flow(head, words, "  ");
}

class Picture {
 public:
  Picture(const Topology& machine, const std::vector<Layer>& layers, CacheSizes sizes)
      : machine_(machine),
        layers_(layers),
        sizes_(sizes),
        cpu_width_(std::to_string(machine.pus.back().cpu).size()),
        l3_width_(std::to_string(machine.l3s.size() - 1).size()) {
    for (const Node& node : machine.nodes) {
      all_nodes_.add(node.id);
      if (!node.cpus.empty()) cpu_nodes_.add(node.id);
    }
    for (const Cache& l3 : machine.l3s) {
      l3_size_width_ = std::max(l3_size_width_, human_bytes(l3.size).size());
    }
  }

  [[nodiscard]] std::string draw() const {
    std::string text = headline();
    for (std::size_t package = 0; package < machine_.packages.size(); ++package) {
      text += package_lines(static_cast<Index>(package));
    }
    text += memory_only_lines();
    const std::string devices = device_lines(machine_, kNoIndex, "Devices near no one node  ");
    if (!devices.empty()) text += devices + "\n";
    return text + legend();
  }

 private:
  [[nodiscard]] std::string headline() const {
    std::string text = counted(machine_.packages.size(), "package", "packages") + ", " +
                       counted(machine_.nodes.size(), "NUMA node", "NUMA nodes") + ", " +
                       counted(machine_.l3s.size(), "L3 domain", "L3 domains") + ", " +
                       counted(machine_.cores.size(), "core", "cores") + ", " +
                       counted(machine_.pus.size(), "CPU", "CPUs");
    if (!machine_.offline.empty()) {
      text += " online, " + std::to_string(machine_.offline.count()) + " offline";
    }
    return text + "\n\n";
  }

  [[nodiscard]] std::string package_lines(Index package) const {
    const CpuSet& whole = machine_.packages[static_cast<std::size_t>(package)].cpus;
    std::string text = flow("Package " + std::to_string(package) + "  ", cpu_words(whole), "");
    for (std::size_t node = 0; node < machine_.nodes.size(); ++node) {
      if (!machine_.nodes[node].cpus.intersects(whole)) continue;
      text += node_lines(machine_.nodes[node]);
      text += l3_lines(package, static_cast<Index>(node));
    }
    const std::string homeless = l3_lines(package, kNoIndex);
    if (!homeless.empty()) text += "  In no NUMA node\n" + homeless;
    return text + "\n";
  }

  [[nodiscard]] std::string node_lines(const Node& node) const {
    std::vector<std::string> words;
    words.push_back(node.memory == 0 ? "no memory" : human_bytes(node.memory));
    if (node.package == kNoIndex && machine_.packages.size() > 1) {
      words.emplace_back("  spans several packages");
    }
    append(words, distance_words(machine_, node, all_nodes_));
    return flow("  Node " + std::to_string(node.id) + "  ", words, "") +
           device_lines(machine_, machine_.node_index(node.id), "    near  ");
  }

  [[nodiscard]] std::string l3_lines(Index package, Index node) const {
    std::string text;
    for (std::size_t l3 = 0; l3 < machine_.l3s.size(); ++l3) {
      const Cache& cache = machine_.l3s[l3];
      if (cache.package != package || cache.node != node) continue;
      text += grid(l3_name(l3), core_words(static_cast<Index>(l3)));
    }
    return text;
  }

  [[nodiscard]] std::string l3_name(std::size_t l3) const {
    const topology::Bytes size = machine_.l3s[l3].size;
    std::string name = "    L3 " + padded(std::to_string(l3), l3_width_) + "  ";
    if (sizes_ == CacheSizes::kUnknown) return name;
    if (size == 0) return "    no L3  ";
    return name + padded(human_bytes(size), l3_size_width_) + "  ";
  }

  [[nodiscard]] std::vector<std::string> core_words(Index l3) const {
    std::vector<std::string> words;
    for (const Core& core : machine_.cores) {
      if (core.l3 != l3) continue;
      std::string word;
      for (const CpuId cpu : core.cpus) word += (word.empty() ? "[" : " ") + cpu_text(cpu);
      words.push_back(word + "]");
    }
    return words;
  }

  // The number and, where the picture has marks, one column for them.
  [[nodiscard]] std::string cpu_text(CpuId cpu) const {
    std::string text = padded(std::to_string(cpu), cpu_width_);
    if (layers_.empty()) return text;
    const auto layer = std::find_if(layers_.begin(), layers_.end(),
                                    [&](const Layer& one) { return one.cpus.contains(cpu); });
    return text + (layer == layers_.end() ? ' ' : layer->mark);
  }

  // What makes two nodes without CPUs look alike: memory, and the words for their distances.
  using Kind = std::pair<topology::Bytes, std::vector<std::string>>;

  // Equal neighbours share a line: a machine may have dozens of them.
  [[nodiscard]] std::string memory_only_lines() const {
    std::map<Kind, NodeSet> groups;
    for (const Node& node : machine_.nodes) {
      if (!node.cpus.empty()) continue;
      groups[{node.memory, distance_words(machine_, node, cpu_nodes_)}].add(node.id);
    }
    if (groups.empty()) return "";
    std::map<topology::NodeId, std::string> lines;  // by the group's lowest node
    for (const auto& [kind, nodes] : groups) lines[nodes.first()] = group_line(kind, nodes);
    std::string text = "Nodes without CPUs\n";
    for (const auto& [first, line] : lines) text += line;
    return text + "\n";
  }

  [[nodiscard]] static std::string group_line(const Kind& kind, const NodeSet& nodes) {
    const auto& [memory, distances] = kind;
    const bool several = nodes.count() > 1;
    std::vector<std::string> words = list_words(nodes.to_string());
    words.push_back(memory == 0 ? "  no memory"
                                : "  " + human_bytes(memory) + (several ? " each" : ""));
    append(words, distances);
    return flow(several ? "  Nodes " : "  Node ", words, "");
  }

  [[nodiscard]] std::string legend() const {
    std::string text;
    const bool siblings = std::any_of(machine_.cores.begin(), machine_.cores.end(),
                                      [](const Core& core) { return core.cpus.count() > 1; });
    text += siblings ? "[..]  one core with its SMT siblings\n" : "[..]  one core\n";
    for (const Layer& layer : layers_) {
      text += flow(std::string("   ") + layer.mark + "  " + layer.name + ": ",
                   cpu_words(layer.cpus), "");
    }
    if (!machine_.offline.empty()) {
      text += flow("      offline, not drawn: ", cpu_words(machine_.offline), "");
    }
    return text;
  }

  const Topology& machine_;
  const std::vector<Layer>& layers_;
  CacheSizes sizes_;
  std::size_t cpu_width_;
  std::size_t l3_width_;
  std::size_t l3_size_width_ = 0;
  NodeSet all_nodes_;
  NodeSet cpu_nodes_;
};

}  // namespace

std::vector<Layer> container_layers(const std::vector<Layer>& holders) {
  std::vector<Layer> layers;
  for (const Layer& holder : holders) {
    if (holders.size() <= kMarks.size()) {
      layers.push_back({kMarks[layers.size()], holder.name, holder.cpus});
    } else if (layers.empty()) {
      layers.push_back({kMarkOfAll, "held by a container", holder.cpus});
    } else {
      layers.front().cpus |= holder.cpus;
    }
  }
  return layers;
}

std::vector<Layer> standing_layers(const Topology& machine, const CpuSet& reserved) {
  std::vector<Layer> layers;
  const CpuSet& isolated = machine.isolated;
  const auto add = [&](char mark, const char* name, const CpuSet& cpus) {
    if (!cpus.empty()) layers.push_back({mark, name, cpus});
  };
  add('b', "reserved and isolated", reserved & isolated);
  add('r', "reserved", reserved - isolated);
  add('i', "isolated (isolcpus)", isolated - reserved);
  return layers;
}

std::string draw_topology(const Topology& machine, const std::vector<Layer>& layers,
                          CacheSizes sizes) {
  if (machine.pus.empty()) return "no CPUs\n";
  return Picture(machine, layers, sizes).draw();
}

}  // namespace pinion::ctl
