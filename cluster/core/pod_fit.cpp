#include "cluster/core/pod_fit.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pinion::cluster {
namespace {

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

bool IdleFit::fit(NodeIndex node) {
  const auto& requests = shape_.requests();
  if (requests.size() == 1) return fleet_.fits_idle(node, requests.front());
  const FleetNode& there = fleet_.node(node);
  if (there.name.empty()) return false;
  const auto [answer, fresh] = answers_.try_emplace(there.kind.get(), false);
  if (fresh) {
    const topology::Holes& idle = there.kind->idle;
    const auto known =
        shape_.fit(idle, [&](const auto& request) { return topology::would_grant(idle, request); });
    answer->second = known ? *known : grants_all(there, there.kind->idle_ledger(), requests);
  }
  return answer->second;
}

PodShape::PodShape(const std::vector<topology::Request>& requests)
    : requests_(requests), whole_(as_one(requests)), least_(requests.front()) {
  for (const topology::Request& one : requests) {
    least_.cpus = std::min(least_.cpus, one.cpus);
    least_.memory = std::min(least_.memory, one.memory);
  }
}

// Whether each finds a domain that those before it have left alone, wherever they went. L3 domains
// share their memory, and all domains the last CPU that must remain.
bool PodShape::spread(const topology::Holes& holes) const {
  if (holes.guarded || (whole_->align == topology::Align::kL3 && whole_->memory > 0)) return false;
  int before = 0;
  return std::all_of(requests_.begin(), requests_.end(), [&](const topology::Request& request) {
    return topology::rooms(holes, request) > before++;
  });
}

// Whether all of them go into one domain or nowhere; in the end that is the machine.
bool PodShape::needs_one_domain(const topology::Holes& holes) const {
  return whole_->strength == topology::Strength::kPreferred || topology::rooms(holes, least_) == 1;
}

bool PodFit::fit(NodeIndex node) const {
  const auto& requests = shape_.requests();
  if (requests.size() == 1) return fleet_.fits(node, requests.front());
  const FleetNode& there = fleet_.node(node);
  const auto known = shape_.fit(there.holes, [&](const auto& request) -> std::optional<bool> {
    if (fleet_.surely_fits(node, request)) return true;
    return fleet_.may_fit(node, request) ? std::nullopt : std::optional(false);
  });
  return known ? *known : grants_all(there, there.ledger, requests);
}

}  // namespace pinion::cluster
