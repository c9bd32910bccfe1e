#include "extender/fit_together.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace pinion::extender {
namespace {

// One request as large as all of them: what it needs of one domain is there for each after the
// others, wherever those go. nullopt: they differ in more than their size.
std::optional<topology::Request> as_one(const std::vector<topology::Request>& requests) {
  topology::Request whole = requests.front();
  const auto kind = [](const topology::Request& one) {
    return std::tie(one.align, one.strength, one.smt, one.memory_policy);
  };
  for (std::size_t i = 1; i < requests.size(); ++i) {
    if (kind(requests[i]) != kind(whole) || requests[i].use_isolated != whole.use_isolated ||
        requests[i].cpus > topology::CpuSet::kCapacity || !requests[i].near_device.empty() ||
        whole.memory + requests[i].memory < whole.memory) {
      return std::nullopt;
    }
    whole.cpus += requests[i].cpus;
    whole.memory += requests[i].memory;
  }
  return whole;
}

}  // namespace

bool grants_all(const FleetNode& node, topology::Ledger ledger,
                const std::vector<topology::Request>& requests) {
  const auto outcomes = topology::plan(node.topology(), std::move(ledger), requests).outcomes;
  return std::all_of(outcomes.begin(), outcomes.end(), [](const topology::Outcome& outcome) {
    return std::holds_alternative<topology::Decision>(outcome);
  });
}

bool fits_together(const Fleet& fleet, NodeIndex node,
                   const std::vector<topology::Request>& requests) {
  if (requests.size() == 1) return fleet.fits(node, requests.front());
  const FleetNode& there = fleet.node(node);
  if (there.stale) return false;
  const auto surely = [&](const auto& request) { return fleet.surely_fits(node, request); };
  const auto whole = as_one(requests);
  if (whole && surely(*whole) && std::all_of(requests.begin(), requests.end(), surely)) return true;
  return grants_all(there, there.ledger, requests);
}

}  // namespace pinion::extender
