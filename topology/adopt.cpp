#include "topology/adopt.h"

#include <utility>

#include "topology/decide.h"
#include "topology/memory.h"
#include "topology/refusal.h"
#include "topology/space.h"

namespace pinion::topology {
namespace {

// Every CPU of the cores that `cpus` touches.
CpuSet whole_cores(const Topology& topology, const CpuSet& cpus) {
  CpuSet all;
  for (const CpuId cpu : cpus) {
    all |= topology.cores[static_cast<std::size_t>(topology.find(cpu)->core)].cpus;
  }
  return all;
}

// The nodes among these that have memory lend to it.
Claim lent_by(const Topology& topology, const NodeSet& mems) {
  Claim own;
  for (Index node = 0; node < static_cast<Index>(topology.nodes.size()); ++node) {
    const Node& one = topology.nodes[static_cast<std::size_t>(node)];
    if (one.memory == 0 || !mems.contains(one.id)) continue;
    own.mems.add(one.id);
    own.memory.push_back({.node = node, .bytes = 0});
  }
  return own;
}

// As a new container on these CPUs would be bound; where the nodes' memory does not cover its limit
// any more, the first node promises beyond what it has. The nodes of `own` lend to it already.
Binding binding_of(const Topology& topology, const Ledger& ledger, const Request& request,
                   const CpuSet& cpus, Place place, const Claim& own) {
  const MemoryLeft left = memory_left(topology, ledger, nullptr);
  if (auto covered = bind_memory(topology, left, request, cpus, place, &own)) return *covered;
  Request without_limit = request;
  without_limit.memory = 0;
  auto binding = bind_memory(topology, left, without_limit, cpus, place, &own);
  if (!binding) return {};
  if (!binding->mems.empty()) {
    binding->shares = {
        {.node = topology.node_index(binding->mems.first()), .bytes = request.memory}};
  }
  return *binding;
}

}  // namespace

Outcome adopt(const Topology& topology, const Ledger& ledger, const Request& request,
              const CpuSet& cpus, const NodeSet& mems) {
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

  if (const auto shared = shared_cpus(topology, ledger); shared && shared->is_subset_of(held)) {
    return refuse(request, Reason::kLastShared, "no CPU would be left for all other containers");
  }

  const Place place = place_of(topology, cpus, request.align);
  const Claim own = lent_by(topology, mems);
  Binding binding = binding_of(topology, ledger, request, cpus, place, own);
  // Its pages may be on any of these.
  if (!binding.mems.empty()) binding.mems |= own.mems;
  Decision decision;
  decision.cpus = cpus;
  decision.claim = {.id = request.id,
                    .cpus = held,
                    .mems = binding.mems,
                    .memory = std::move(binding.shares),
                    .job = request.job,
                    .task_group = request.task_group,
                    .profile = request.profile};
  decision.why = why_there(topology, request.align, place);
  decision.why.kept = cpus.count();
  return decision;
}

}  // namespace pinion::topology
