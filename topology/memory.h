// Which NUMA nodes a container's memory comes from, and what of it is already promised; internal to
// the allocator.
//
// Memory follows the CPUs: its first nodes are those that own the container's CPUs. A node without
// memory of its own borrows from the nearest node that has some. In a domain of several nodes the
// others in it lend, nearest first, what the limit needs beyond that. Each node promises all it has
// left before the next one is asked; among equally near nodes the one with most left comes first,
// then the lower one.
//
// A container that is not bound counts too: it uses memory of its nodes first, as the kernel does,
// of each by its number of the container's CPUs; what those do not have left counts on the others,
// nearest first. It is never refused: what no node has left counts nowhere.
#pragma once

#include <optional>
#include <vector>

#include "topology/space.h"

namespace pinion::topology {

// How near two nodes are: ACPI distance (10: the same), doubled, one more across packages. Where
// the machine states no distances, 20 within a package and 40 across stand in for the distance.
[[nodiscard]] int closeness(const Topology& topology, Index a, Index b);

// Calls visit(index) for each node that owns CPUs of the domain, ascending.
template <class Visit>
void for_each_node(const Topology& topology, Align align, Index domain, Visit visit) {
  if (align == Align::kNuma) {
    visit(domain);
  } else if (align == Align::kL3) {
    const Index node = topology.l3s[static_cast<std::size_t>(domain)].node;
    if (node != kNoIndex) visit(node);
  } else {
    const CpuSet& cpus = cpus_of(topology, align, domain);
    for (std::size_t node = 0; node < topology.nodes.size(); ++node) {
      if (topology.nodes[node].cpus.intersects(cpus)) visit(static_cast<Index>(node));
    }
  }
}

// Unpromised bytes by node, without what is set aside for containers without CPUs of their own.
// What `own` (may be nullptr) was promised counts as free for it, even where more is promised than
// the node has (adopt.h).
using MemoryLeft = std::vector<Bytes>;
[[nodiscard]] MemoryLeft memory_left(const Topology& topology, const Ledger& ledger,
                                     const Claim* own);

// The unpromised bytes that a container in this domain could be bound to. nullopt only on a machine
// that states no memory at all: there, memory plays no part.
[[nodiscard]] std::optional<Bytes> memory_left_in(const Topology& topology, const MemoryLeft& left,
                                                  Align align, Index domain);

struct Binding {
  NodeSet mems;                      // kernel numbers; empty: any, for policies other than kBind
  std::vector<Claim::Share> shares;  // ascending by node
};
// The binding of a container on these CPUs (not empty), all within the domain; nullopt where it is
// to be bound and the domain's memory does not cover the limit. `own` (may be nullptr) is what the
// container has now; the nodes that promised to it go on lending.
[[nodiscard]] std::optional<Binding> bind_memory(const Topology& topology, const MemoryLeft& left,
                                                 const Request& request, const CpuSet& cpus,
                                                 Place place, const Claim* own);

}  // namespace pinion::topology
