#include "topology/adopt.h"

#include <algorithm>

namespace pinion::topology {
namespace {

Refusal refuse(const Request& request, Reason reason, std::string text) {
  Refusal refusal;
  refusal.reason = reason;
  refusal.need = request.cpus;
  refusal.align = request.align;
  refusal.text = std::move(text);
  return refusal;
}

// Every CPU of the cores that `cpus` touches.
CpuSet whole_cores(const Topology& topology, const CpuSet& cpus) {
  CpuSet all;
  for (const CpuId cpu : cpus) {
    all |= topology.cores[static_cast<std::size_t>(topology.find(cpu)->core)].cpus;
  }
  return all;
}

// The narrowest alignment that these CPUs satisfy.
Align alignment_of(const Topology& topology, const CpuSet& cpus) {
  const Pu& first = *topology.find(cpus.first());
  bool same_l3 = true;
  bool same_node = true;
  bool same_package = true;
  for (const CpuId cpu : cpus) {
    const Pu& pu = *topology.find(cpu);
    same_l3 = same_l3 && pu.l3 == first.l3;
    same_node = same_node && pu.node == first.node;
    same_package = same_package && pu.package == first.package;
  }
  if (same_l3) return Align::kL3;
  if (same_node) return Align::kNuma;
  return same_package ? Align::kSocket : Align::kNone;
}

// Fills the nodes in ascending order; what does not fit is promised on the last one.
std::vector<Claim::Share> shares(const Topology& topology, const Ledger& ledger,
                                 const NodeSet& mems, Bytes bytes) {
  std::vector<Claim::Share> result;
  for (const NodeId id : mems) {
    const Index node = topology.node_index(id);
    const Bytes size = topology.nodes[static_cast<std::size_t>(node)].memory;
    const Bytes left = size - std::min(size, ledger.promised(node));
    const Bytes part = mems.next(id + 1) < 0 ? bytes : std::min(bytes, left);
    if (part > 0) result.push_back({.node = node, .bytes = part});
    bytes -= part;
  }
  return result;
}

}  // namespace

Outcome adopt(const Topology& topology, const Ledger& ledger, const Request& request,
              const CpuSet& cpus) {
  const std::string list = cpus.to_string();
  if (cpus.empty() || cpus.count() != request.cpus) {
    return refuse(
        request, Reason::kCpus,
        "it runs on CPUs '" + list + "' and is entitled to " + std::to_string(request.cpus));
  }
  if (!cpus.is_subset_of(topology.online)) {
    return refuse(request, Reason::kTopology,
                  "CPUs " + (cpus - topology.online).to_string() + " are not online");
  }
  const CpuSet held = request.smt == Smt::kOnePerCore ? whole_cores(topology, cpus) : cpus;
  if (held.intersects(ledger.reserved())) {
    return refuse(request, Reason::kReserved,
                  "CPUs " + (held & ledger.reserved()).to_string() + " are reserved");
  }
  if (held.intersects(ledger.exclusive())) {
    return refuse(
        request, Reason::kCpus,
        "CPUs " + (held & ledger.exclusive()).to_string() + " belong to another container");
  }

  Decision decision;
  decision.cpus = cpus;
  decision.claim.id = request.id;
  decision.claim.cpus = held;
  decision.claim.job = request.job;
  decision.claim.task_group = request.task_group;
  decision.claim.profile = request.profile;
  if (request.memory_policy == MemoryPolicy::kBind) {
    decision.claim.mems = topology.nodes_of(cpus);
    decision.claim.memory = shares(topology, ledger, decision.claim.mems, request.memory);
  }
  decision.why.asked = request.align;
  decision.why.met = std::max(request.align, alignment_of(topology, cpus));
  decision.why.kept = cpus.count();
  return decision;
}

}  // namespace pinion::topology
