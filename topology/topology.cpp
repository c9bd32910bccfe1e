#include "topology/topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace pinion::topology {

const Pu* Topology::find(CpuId cpu) const {
  if (cpu < 0 || static_cast<std::size_t>(cpu) >= pu_of_cpu.size()) return nullptr;
  const Index at = pu_of_cpu[static_cast<std::size_t>(cpu)];
  return at == kNoIndex ? nullptr : &pus[static_cast<std::size_t>(at)];
}

Index Topology::node_index(NodeId id) const {
  const auto at =
      std::lower_bound(nodes.begin(), nodes.end(), id,
                       [](const Node& node, NodeId wanted) { return node.id < wanted; });
  if (at == nodes.end() || at->id != id) return kNoIndex;
  return static_cast<Index>(at - nodes.begin());
}

NodeSet Topology::nodes_of(const CpuSet& cpus) const {
  NodeSet found;
  for (const Node& node : nodes) {
    if (node.memory > 0 && node.cpus.intersects(cpus)) found.add(node.id);
  }
  return found;
}

NodeSet Topology::memory_nodes() const {
  NodeSet found;
  for (const Node& node : nodes) {
    if (node.memory > 0) found.add(node.id);
  }
  return found;
}

namespace {

// What is wrong with the memories, if anything.
std::optional<std::string> fault_of(const std::vector<Facts::Memory>& memories) {
  NodeSet seen;
  for (const Facts::Memory& memory : memories) {
    const std::string name = "NUMA node " + std::to_string(memory.node);
    if (memory.node < 0 || memory.node >= NodeSet::kCapacity) {
      return name + ": its number is outside 0-" + std::to_string(NodeSet::kCapacity - 1);
    }
    if (seen.contains(memory.node)) return name + " is given twice";
    seen.add(memory.node);
    if (!memory.distance.empty() && memory.distance.size() != memories.size()) {
      return name + " has " + std::to_string(memory.distance.size()) + " distances, the machine " +
             std::to_string(memories.size()) + " nodes";
    }
  }
  return std::nullopt;
}

// What is wrong with the threads, if anything. Precondition: the memories are sound.
std::optional<std::string> fault_of(const std::vector<Facts::Thread>& threads,
                                    const std::vector<Facts::Memory>& memories) {
  if (threads.empty()) return "the machine has no CPUs";
  NodeSet nodes;
  for (const Facts::Memory& memory : memories) nodes.add(memory.node);
  CpuSet seen;
  for (const Facts::Thread& thread : threads) {
    const std::string name = "CPU " + std::to_string(thread.cpu);
    if (thread.cpu < 0 || thread.cpu >= CpuSet::kCapacity) {
      return name + ": its number is outside 0-" + std::to_string(CpuSet::kCapacity - 1);
    }
    if (seen.contains(thread.cpu)) return name + " is given twice";
    seen.add(thread.cpu);
    if (thread.node != kNoIndex && !nodes.contains(thread.node)) {
      return name + " is in NUMA node " + std::to_string(thread.node) + ", which is not listed";
    }
  }
  return std::nullopt;
}

std::vector<Node> make_nodes(const std::vector<Facts::Memory>& memories) {
  std::vector<std::size_t> order(memories.size());  // positions, ascending by node number
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return memories[a].node < memories[b].node; });
  std::vector<Node> nodes;
  for (const std::size_t from : order) {
    Node node;
    node.id = memories[from].node;
    node.memory = memories[from].bytes;
    if (!memories[from].distance.empty()) {
      for (const std::size_t to : order) node.distance.push_back(memories[from].distance[to]);
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Bytes size_of(const std::vector<std::pair<int, Bytes>>& sizes, int cache) {
  for (const auto& [number, size] : sizes) {
    if (number == cache) return size;
  }
  return 0;
}

// Numbers keys 0, 1, 2 ... in the order in which they are first seen. As threads come in ascending
// order of their CPU, that is ascending by the lowest CPU of each element.
template <class Key>
class Numbering {
 public:
  Index of(const Key& key) {
    return numbers_.try_emplace(key, static_cast<Index>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, Index> numbers_;
};

// Each level's key holds the level above it, so a core lies in one L2, an L2 in one L3 domain and
// an L3 domain in one node of one package, whatever the facts say.
class Builder {
 public:
  Builder(const Facts& facts, Topology& machine) : facts_(facts), machine_(machine) {}

  void add(const Facts::Thread& thread) {
    Pu pu;
    pu.cpu = thread.cpu;
    pu.node = machine_.node_index(thread.node);
    pu.package = packages_.of(thread.package);
    pu.l3 = l3s_.of({thread.l3, pu.node, pu.package});
    pu.l2 = l2s_.of({thread.l2, thread.l2 < 0 ? thread.core : kNoIndex, pu.l3});
    pu.core = cores_.of({thread.core, pu.l2});

    machine_.online.add(pu.cpu);
    at(machine_.packages, pu.package).cpus.add(pu.cpu);
    if (pu.node != kNoIndex) machine_.nodes[static_cast<std::size_t>(pu.node)].cpus.add(pu.cpu);
    add_to_cache(at(machine_.l3s, pu.l3), pu, size_of(facts_.l3_sizes, thread.l3));
    add_to_cache(at(machine_.l2s, pu.l2), pu, size_of(facts_.l2_sizes, thread.l2));
    Core& core = at(machine_.cores, pu.core);
    core.cpus.add(pu.cpu);
    core.l2 = pu.l2;
    core.l3 = pu.l3;
    core.node = pu.node;
    core.package = pu.package;
    machine_.pus.push_back(pu);
  }

 private:
  template <class Element>
  static Element& at(std::vector<Element>& elements, Index index) {
    const auto position = static_cast<std::size_t>(index);
    if (position >= elements.size()) elements.resize(position + 1);
    return elements[position];
  }

  static void add_to_cache(Cache& cache, const Pu& pu, Bytes size) {
    cache.cpus.add(pu.cpu);
    cache.size = size;
    cache.node = pu.node;
    cache.package = pu.package;
  }

  const Facts& facts_;
  Topology& machine_;
  Numbering<int> packages_;
  Numbering<std::tuple<int, Index, Index>> l3s_;  // cache number, node, package
  Numbering<std::tuple<int, int, Index>> l2s_;    // cache number, core where that is -1, L3
  Numbering<std::tuple<int, Index>> cores_;       // core number, L2
};

void place_nodes_in_packages(Topology& machine) {
  for (Node& node : machine.nodes) {
    if (node.cpus.empty()) continue;
    const Index package = machine.find(node.cpus.first())->package;
    const CpuSet& whole = machine.packages[static_cast<std::size_t>(package)].cpus;
    if (node.cpus.is_subset_of(whole)) node.package = package;
  }
}

std::vector<Device> make_devices(std::vector<Device> devices, const Topology& machine) {
  // A device may name a node that is offline: then the machine does not say where it is.
  for (Device& device : devices) device.node = machine.node_index(device.node);
  std::sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) {
    return std::tie(a.node, a.kind, a.name, a.pci) < std::tie(b.node, b.kind, b.name, b.pci);
  });
  return devices;
}

std::vector<Index> make_pu_of_cpu(const std::vector<Pu>& pus) {
  std::vector<Index> table(static_cast<std::size_t>(pus.back().cpu) + 1, kNoIndex);
  for (std::size_t i = 0; i < pus.size(); ++i) {
    table[static_cast<std::size_t>(pus[i].cpu)] = static_cast<Index>(i);
  }
  return table;
}

}  // namespace

Result<Topology> make_topology(const Facts& facts) {
  if (auto fault = fault_of(facts.memories)) return failure(Errc::kInvalid, std::move(*fault));
  if (auto fault = fault_of(facts.threads, facts.memories)) {
    return failure(Errc::kInvalid, std::move(*fault));
  }
  Topology machine;
  machine.nodes = make_nodes(facts.memories);
  std::vector<Facts::Thread> threads = facts.threads;
  std::sort(threads.begin(), threads.end(),
            [](const Facts::Thread& a, const Facts::Thread& b) { return a.cpu < b.cpu; });
  Builder builder(facts, machine);
  for (const Facts::Thread& thread : threads) builder.add(thread);
  machine.pu_of_cpu = make_pu_of_cpu(machine.pus);
  place_nodes_in_packages(machine);
  machine.devices = make_devices(facts.devices, machine);
  machine.offline = facts.offline - machine.online;
  machine.isolated = facts.isolated & (machine.online | machine.offline);
  return machine;
}

}  // namespace pinion::topology
