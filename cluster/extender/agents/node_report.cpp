#include "cluster/extender/agents/node_report.h"

#include <set>

#include "agent/client/machine.h"
#include "cluster/extender/scheduling/demand.h"

namespace pinion::cluster {

namespace {

bool holds(const v1::Container& container) {
  return container.exclusive() && !container.finished();
}

// What an agent keeps for containers of a pod that are still to come is nobody's yet.
bool runs(const v1::Container& container) {
  return holds(container) && !container.name().empty();
}

// What its claim is called here.
std::string name_of(const v1::Container& container) {
  return claim_id(container.pod_uid(), container.name());
}

}  // namespace

MissRates rates_of(const agent::api::Mirror& mirror) {
  MissRates rates;
  for (const auto& [id, container] : mirror.containers()) {
    if (!runs(container) || !container.rates().has_l3_misses_per_second()) continue;
    rates[name_of(container)] = container.rates().l3_misses_per_second();
  }
  return rates;
}

std::vector<ContainerUse> uses_of(const agent::api::Mirror& mirror) {
  constexpr double ns = 1e-9;
  std::vector<ContainerUse> uses;
  for (const auto& [id, container] : mirror.containers()) {
    if (!runs(container)) continue;
    ContainerUse use{.job = job_key(container.namespace_(), container.job()), .id = id};
    const auto cpus = topology::CpuSet::parse(container.cpus());
    if (use.job.empty() || !cpus || cpus->empty()) continue;
    use.cpus = cpus->count();
    const v1::Figures& figures = container.figures();
    if (figures.has_cpu_user_ns() && figures.has_cpu_system_ns()) {
      use.used_s = ns * static_cast<double>(figures.cpu_user_ns()) +
                   ns * static_cast<double>(figures.cpu_system_ns());
    }
    if (figures.has_l3_misses() && figures.has_instructions()) {
      use.misses = static_cast<double>(figures.l3_misses());
      use.instructions = static_cast<double>(figures.instructions());
    }
    if (figures.has_voluntary_switches()) {
      use.waits = static_cast<double>(figures.voluntary_switches());
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

Result<NodeReport> report_of(const agent::api::Mirror& mirror,
                             std::shared_ptr<const topology::Topology> machine) {
  const v1::NodeState& node = mirror.node();
  v1::Snapshot named;
  named.mutable_node()->mutable_sets()->set_reserved(node.sets().reserved());
  named.mutable_node()->set_strict_reservation(node.strict_reservation());
  named.mutable_node()->set_shared_memory(node.shared_memory());
  NodeReport report;
  std::set<std::string> names;
  for (const auto& [id, container] : mirror.containers()) {
    if (!holds(container)) continue;
    v1::Container& added = *named.add_containers();
    added = container;
    added.set_id(name_of(container));
    // Two sandboxes of one pod, as somebody may make by hand: each holds what it holds.
    if (!names.insert(added.id()).second) added.set_id(added.id() + "/" + id);
  }
  const auto ledger = agent::api::ledger_of(named, *machine);
  if (!ledger) return failure(ledger.error());
  report.rates = rates_of(mirror);
  report.name = node.name();
  report.topology = std::move(machine);
  report.reserved = ledger->reserved();
  report.strict_reservation = ledger->strict();
  report.shared_memory = ledger->shared_memory();
  report.instance = node.instance();
  report.generation = node.generation();
  for (const auto& [id, claim] : ledger->claims()) report.claims.push_back(claim);
  return report;
}

}  // namespace pinion::cluster
