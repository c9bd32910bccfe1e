#include "policy/plan.h"

#include <utility>

namespace pinion::policy {
namespace {

topology::Outcome decide(const topology::Topology& topology, const topology::Ledger& ledger,
                         const topology::Request& request, const std::set<Privilege>& privileges) {
  std::string text = not_allowed(request, privileges);
  if (text.empty()) return topology::resize(topology, ledger, request);
  topology::Refusal refusal;
  refusal.reason = topology::Reason::kAnnotation;
  refusal.need = request.cpus;
  refusal.align = request.align;
  refusal.text = std::move(text);
  return refusal;
}

}  // namespace

topology::Plan plan(const topology::Topology& topology, topology::Ledger ledger,
                    const std::vector<topology::Request>& requests,
                    const std::set<Privilege>& privileges) {
  topology::Plan result{.outcomes = {}, .ledger = std::move(ledger)};
  result.outcomes.reserve(requests.size());
  for (const topology::Request& request : requests) {
    result.outcomes.push_back(decide(topology, result.ledger, request, privileges));
    if (const auto* decision = std::get_if<topology::Decision>(&result.outcomes.back())) {
      result.ledger.commit(decision->claim);
    }
  }
  return result;
}

}  // namespace pinion::policy
