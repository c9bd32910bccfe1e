#include "topology/memory.h"

#include <algorithm>
#include <tuple>

namespace pinion::topology {
namespace {

const Node& node_at(const Topology& topology, Index node) {
  return topology.nodes[static_cast<std::size_t>(node)];
}

Bytes left_on(const MemoryLeft& left, Index node) {
  return left[static_cast<std::size_t>(node)];
}

bool is_in(const std::vector<Index>& nodes, Index node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// The node with memory that is nearest to this one; kNoIndex: none has any.
Index nearest_memory(const Topology& topology, Index from) {
  Index nearest = kNoIndex;
  for (Index node = 0; node < static_cast<Index>(topology.nodes.size()); ++node) {
    if (node_at(topology, node).memory == 0) continue;
    if (nearest == kNoIndex ||
        closeness(topology, from, node) < closeness(topology, from, nearest)) {
      nearest = node;
    }
  }
  return nearest;
}

// The nodes with memory among these; where none has any, the nearest that has; where there are no
// nodes at all (CPUs outside of them), every one that has.
std::vector<Index> with_memory(const Topology& topology, const std::vector<Index>& nodes) {
  std::vector<Index> found;
  for (const Index node : nodes) {
    if (node_at(topology, node).memory > 0) found.push_back(node);
  }
  if (!found.empty()) return found;
  if (!nodes.empty()) {
    const Index nearest = nearest_memory(topology, nodes.front());
    if (nearest != kNoIndex) found.push_back(nearest);
    return found;
  }
  for (Index node = 0; node < static_cast<Index>(topology.nodes.size()); ++node) {
    if (node_at(topology, node).memory > 0) found.push_back(node);
  }
  return found;
}

// The nodes of the CPUs first, then the rest of the domain and those that lend to it already,
// nearest first.
std::vector<Index> lending_order(const Topology& topology, const MemoryLeft& left, Place place,
                                 const std::vector<Index>& homes, const Claim* own) {
  std::vector<Index> others;
  for_each_node(topology, place.align, place.domain, [&](Index node) {
    if (node_at(topology, node).memory > 0 && !is_in(homes, node)) others.push_back(node);
  });
  if (own != nullptr) {
    for (const Claim::Share& share : own->memory) {
      if (!is_in(homes, share.node) && !is_in(others, share.node)) others.push_back(share.node);
    }
  }
  const auto most_left = [&](Index node) { return ~left_on(left, node); };
  std::vector<Index> order = homes;
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::tuple(most_left(a), a) < std::tuple(most_left(b), b);
  });
  std::sort(others.begin(), others.end(), [&](Index a, Index b) {
    return std::tuple(closeness(topology, homes.front(), a), most_left(a), a) <
           std::tuple(closeness(topology, homes.front(), b), most_left(b), b);
  });
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

}  // namespace

int closeness(const Topology& topology, Index a, Index b) {
  const Node& from = node_at(topology, a);
  const bool same_package =
      from.package != kNoIndex && from.package == node_at(topology, b).package;
  int distance = a == b ? 10 : (same_package ? 20 : 40);
  if (!from.distance.empty()) distance = from.distance[static_cast<std::size_t>(b)];
  return 2 * distance + (a == b || same_package ? 0 : 1);
}

MemoryLeft memory_left(const Topology& topology, const Ledger& ledger, const Claim* own) {
  double whole = 0;  // exact up to 8 PiB
  for (const Node& node : topology.nodes) whole += static_cast<double>(node.memory);
  const double shared = std::min(static_cast<double>(ledger.shared_memory()), whole);
  std::vector<Bytes> mine(topology.nodes.size());
  if (own != nullptr) {
    for (const Claim::Share& share : own->memory) {
      mine[static_cast<std::size_t>(share.node)] += share.bytes;
    }
  }
  MemoryLeft left(topology.nodes.size());
  for (std::size_t node = 0; node < left.size(); ++node) {
    const Bytes memory = topology.nodes[node].memory;
    const auto set_aside =
        memory == 0 ? 0 : static_cast<Bytes>(shared * (static_cast<double>(memory) / whole));
    const Bytes others = ledger.promised(static_cast<Index>(node)) - mine[node] + set_aside;
    left[node] = std::max(mine[node], memory - std::min(memory, others));
  }
  return left;
}

std::optional<Bytes> memory_left_in(const Topology& topology, const MemoryLeft& left, Align align,
                                    Index domain) {
  Bytes total = 0;
  bool has_memory = false;
  Index first = kNoIndex;
  for_each_node(topology, align, domain, [&](Index node) {
    if (first == kNoIndex) first = node;
    has_memory = has_memory || node_at(topology, node).memory > 0;
    total += left_on(left, node);
  });
  if (has_memory) return total;
  std::optional<Bytes> borrowed;
  const std::vector<Index> none;
  for (const Index node :
       with_memory(topology, first == kNoIndex ? none : std::vector<Index>{first})) {
    borrowed = borrowed.value_or(0) + left_on(left, node);
  }
  return borrowed;
}

std::optional<Binding> bind_memory(const Topology& topology, const MemoryLeft& left,
                                   const Request& request, const CpuSet& cpus, Place place,
                                   const Claim* own) {
  const bool bound = request.memory_policy == MemoryPolicy::kBind;
  if (!bound) place = {.align = Align::kNone, .domain = 0};  // it may use any node's
  Binding binding;
  std::vector<Index> owners;
  for_each_node(topology, place.align, place.domain, [&](Index node) {
    if (node_at(topology, node).cpus.intersects(cpus)) owners.push_back(node);
  });
  const std::vector<Index> homes = with_memory(topology, owners);
  if (homes.empty()) return binding;
  if (bound) {
    for (const Index node : homes) binding.mems.add(node_at(topology, node).id);
  }
  if (request.memory == 0) return binding;

  Bytes missing = request.memory;
  std::vector<Bytes> parts(topology.nodes.size());
  const auto take = [&](Index node, Bytes most) {
    Bytes& part = parts[static_cast<std::size_t>(node)];
    const Bytes more = std::min({missing, most, left_on(left, node) - part});
    part += more;
    missing -= more;
  };
  if (!bound) {
    const Bytes by_cpu = missing / static_cast<Bytes>(cpus.count());
    for (const Index node : homes) {
      take(node, by_cpu * static_cast<Bytes>(node_at(topology, node).cpus.count_common(cpus)));
    }
  }
  for (const Index node : lending_order(topology, left, place, homes, own)) take(node, missing);
  if (bound && missing > 0) return std::nullopt;
  for (Index node = 0; node < static_cast<Index>(parts.size()); ++node) {
    const Bytes part = parts[static_cast<std::size_t>(node)];
    if (part == 0) continue;
    if (bound) binding.mems.add(node_at(topology, node).id);
    binding.shares.push_back({.node = node, .bytes = part});
  }
  return binding;
}

}  // namespace pinion::topology
