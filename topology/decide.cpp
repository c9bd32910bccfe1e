#include "topology/decide.h"

#include "topology/refusal.h"

namespace pinion::topology {
namespace {

int cores_split(const Topology& topology, const CpuSet& held) {
  int split = 0;
  CpuSet rest = held;
  while (!rest.empty()) {
    const auto core = static_cast<std::size_t>(topology.find(rest.first())->core);
    if (!topology.cores[core].cpus.is_subset_of(held)) ++split;
    rest -= topology.cores[core].cpus;
  }
  return split;
}

NodeId node_number(const Topology& topology, Place place) {
  NodeId number = kNoIndex;
  int nodes = 0;
  for_each_node(topology, place.align, place.domain, [&](Index node) {
    number = topology.nodes[static_cast<std::size_t>(node)].id;
    ++nodes;
  });
  return nodes == 1 ? number : kNoIndex;
}

Why why_of(const Criteria& criteria, Place place, const CpuSet& held) {
  const CpuSet taken = criteria.own == nullptr ? CpuSet() : criteria.own->cpus;
  const CpuSet free =
      criteria.topology.online - criteria.ledger.reserved() - (criteria.ledger.exclusive() - taken);
  const bool isolated = held.intersects(criteria.topology.isolated);
  const CpuSet pool =
      isolated ? free & criteria.topology.isolated : free - criteria.topology.isolated;
  Why why = why_there(criteria.topology, criteria.request.align, place);
  why.free_before = pool.count_common(cpus_of(criteria.topology, place.align, place.domain));
  why.free_after = why.free_before - pool.count_common(held);
  why.cores_split = cores_split(criteria.topology, held);
  why.kept = held.count_common(criteria.request.preferred);
  why.group_members = group_members(criteria, place.align, place.domain);
  why.isolated = isolated;
  return why;
}

}  // namespace

Why why_there(const Topology& topology, Align asked, Place place) {
  Why why;
  why.asked = asked;
  why.met = place.align;
  why.domain = place.align == Align::kNone ? kNoIndex : place.domain;
  why.node = node_number(topology, place);
  return why;
}

std::optional<Decision> decide(const Criteria& criteria, Place place, const CpuSet& held) {
  const bool grows = criteria.own == nullptr || !held.is_subset_of(criteria.own->cpus);
  const std::optional<CpuSet> shared = shared_cpus(criteria.topology, criteria.ledger);
  if (grows && shared && shared->is_subset_of(held)) return std::nullopt;
  auto binding =
      bind_memory(criteria.topology, criteria.left, criteria.request, held, place, criteria.own);
  if (!binding) return std::nullopt;

  const Request& request = criteria.request;
  Decision decision;
  decision.claim.id = request.id;
  decision.claim.cpus = held;
  decision.claim.mems = binding->mems;
  decision.claim.memory = std::move(binding->shares);
  decision.claim.job = request.job;
  decision.claim.task_group = request.task_group;
  decision.claim.profile = request.profile;
  decision.cpus = running_on(criteria.topology, request, held);
  decision.why = why_of(criteria, place, held);
  return decision;
}

}  // namespace pinion::topology
