#include <array>

#include "agent/http/expose_parts.h"

namespace pinion::agent {
namespace {

using prometheus::Labels;
using prometheus::Metric;
using prometheus::series;
using prometheus::Writer;
using topology::CpuSet;

// A NUMA node or an L3 with its labels made.
struct Domain {
  CpuSet cpus;
  Labels labels;
};

// CPUs that the machine puts into no NUMA node have one of their own here, so that sums are right.
constexpr std::string_view kNoNode = "none";

std::string node_label(const topology::Topology& machine, topology::Index node) {
  if (node < 0) return std::string(kNoNode);
  return std::to_string(machine.nodes[static_cast<std::size_t>(node)].id);
}

std::vector<Domain> numa_domains(const topology::Topology& machine) {
  std::vector<Domain> domains;
  CpuSet in_none = machine.online;
  for (const topology::Node& node : machine.nodes) {
    in_none -= node.cpus;
    if (node.cpus.empty()) continue;  // memory only
    domains.push_back({node.cpus, {{"numa_node", std::to_string(node.id)}}});
  }
  if (!in_none.empty()) domains.push_back({in_none, {{"numa_node", kNoNode}}});
  return domains;
}

std::vector<Domain> l3_domains(const topology::Topology& machine) {
  std::vector<Domain> domains;
  for (std::size_t i = 0; i < machine.l3s.size(); ++i) {
    const topology::Cache& cache = machine.l3s[i];
    domains.push_back(
        {cache.cpus, {{"numa_node", node_label(machine, cache.node)}, {"l3", std::to_string(i)}}});
  }
  return domains;
}

// The five families of one kind of domain.
struct Families {
  Metric capacity;
  Metric allocatable;
  Metric reserved;
  Metric exclusive;
  Metric free;
};
constexpr Families kNuma{Metric::kNumaCapacity, Metric::kNumaAllocatable, Metric::kNumaReserved,
                         Metric::kNumaExclusive, Metric::kNumaFree};
constexpr Families kL3{Metric::kL3Capacity, Metric::kL3Allocatable, Metric::kL3Reserved,
                       Metric::kL3Exclusive, Metric::kL3Free};

void cpus(Writer& writer, Metric metric, const std::vector<Domain>& domains, const CpuSet& set) {
  writer.family(series(metric));
  for (const Domain& domain : domains) {
    writer.sample(domain.labels, static_cast<std::uint64_t>(domain.cpus.count_common(set)));
  }
}

void rooms(Writer& writer, const Families& families, const std::vector<Domain>& domains,
           const NodeView& view) {
  const CpuSet& online = view.topology->online;
  const CpuSet allocatable = online - view.ledger.reserved();
  cpus(writer, families.capacity, domains, online);
  cpus(writer, families.allocatable, domains, allocatable);
  cpus(writer, families.reserved, domains, online & view.ledger.reserved());
  cpus(writer, families.exclusive, domains, view.ledger.exclusive());
  cpus(writer, families.free, domains, allocatable - view.ledger.exclusive());
}

void memory(Writer& writer, const NodeView& view) {
  const auto& nodes = view.topology->nodes;
  writer.family(series(Metric::kNumaMemory));
  for (const topology::Node& node : nodes) {
    writer.sample({}, {{"numa_node", std::to_string(node.id)}}, node.memory);
  }
  writer.family(series(Metric::kNumaMemoryPromised));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    writer.sample({}, {{"numa_node", std::to_string(nodes[i].id)}},
                  view.ledger.promised(static_cast<topology::Index>(i)));
  }
}

}  // namespace

void expose_machine(Writer& writer, const NodeView& view) {
  if (view.topology == nullptr) return;
  rooms(writer, kNuma, numa_domains(*view.topology), view);
  rooms(writer, kL3, l3_domains(*view.topology), view);
  memory(writer, view);
  writer.single(series(Metric::kSharedCpus), static_cast<std::uint64_t>(view.pool.count()));
  writer.single(series(Metric::kSharedMemory), view.ledger.shared_memory());
  writer.family(series(Metric::kLargestRequest));
  using topology::Align;
  for (const Align align : {Align::kL3, Align::kNuma, Align::kSocket, Align::kNone}) {
    const int largest = topology::largest(*view.topology, view.ledger, align);
    writer.sample({}, {{"align", topology::to_string(align)}}, static_cast<std::uint64_t>(largest));
  }
}

}  // namespace pinion::agent
