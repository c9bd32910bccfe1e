#include "extender/agents/node_report.h"

#include "agent/api/machine.h"
#include "extender/desk/demand.h"

namespace pinion::extender {

Result<NodeReport> report_of(const agent::api::Mirror& mirror,
                             std::shared_ptr<const topology::Topology> machine) {
  const v1::NodeState& node = mirror.node();
  v1::Snapshot named;
  named.mutable_node()->mutable_sets()->set_reserved(node.sets().reserved());
  NodeReport report;
  for (const auto& [id, container] : mirror.containers()) {
    if (!container.exclusive() || container.finished()) continue;
    v1::Container& added = *named.add_containers();
    added = container;
    added.set_id(claim_id(container.pod_uid(), container.name()));
    if (container.rates().has_l3_misses_per_second()) {
      report.rates[added.id()] = container.rates().l3_misses_per_second();
    }
  }
  const auto ledger = agent::api::ledger_of(named, *machine);
  if (!ledger) return failure(ledger.error());
  report.name = node.name();
  report.topology = std::move(machine);
  report.reserved = ledger->reserved();
  report.instance = node.instance();
  report.generation = node.generation();
  for (const auto& [id, claim] : ledger->claims()) report.claims.push_back(claim);
  return report;
}

}  // namespace pinion::extender
