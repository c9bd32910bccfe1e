// Properties of gang plans on random fleets.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/property/extender_gen.h"

namespace pinion::cluster {
namespace {

using topology::Decision;
using topology::Ledger;

std::vector<Ledger> ledgers_of(const Fleet& fleet) {
  std::vector<Ledger> ledgers;
  for (NodeIndex node = 0; node < fleet.size(); ++node) ledgers.push_back(fleet.node(node).ledger);
  return ledgers;
}

// The agents, told of the workers in the plan's order, give each what the plan says. Committing
// also checks that no CPU is given twice.
void check_granted(const Fleet& fleet, const Gang& gang, const GangPlan& plan) {
  std::vector<Ledger> ledgers = ledgers_of(fleet);
  RC_ASSERT(plan.placements.size() == gang.size());
  RC_ASSERT(plan.order.size() == gang.size());
  for (const std::size_t member : plan.order) {
    const Placement& placement = plan.placements[member];
    const FleetNode& node = fleet.node(placement.node);
    Ledger& ledger = ledgers[static_cast<std::size_t>(placement.node)];
    const auto outcome = topology::allocate(node.topology(), ledger, gang[member]);
    RC_ASSERT(std::holds_alternative<Decision>(outcome));
    RC_ASSERT(std::get<Decision>(outcome) == placement.decision);
    ledger.commit(placement.decision.claim);
    RC_ASSERT(placement.id == gang[member].id);
    RC_ASSERT(!node.stale);
  }
}

RC_GTEST_PROP(GangPlan, IsWhatTheNodesGrantAndAllOrNothing, ()) {
  Fleet fleet;
  random_fleet(fleet);
  const Gang gang = random_gang("job");
  const std::vector<Ledger> before = ledgers_of(fleet);
  const GangOutcome outcome = plan_gang(fleet, gang, {.steps = 200});
  RC_ASSERT(ledgers_of(fleet) == before);
  const auto* plan = std::get_if<GangPlan>(&outcome);
  RC_CLASSIFY(plan != nullptr, "placed");
  if (plan == nullptr) {
    const auto& refusal = std::get<GangRefusal>(outcome);
    RC_ASSERT(!refusal.text.empty());
    RC_ASSERT(refusal.text.find("node-") == std::string::npos);
    return;
  }
  check_granted(fleet, gang, *plan);
  RC_ASSERT(plan->quality <= plan->first);
  RC_CLASSIFY(plan->quality < plan->first, "improved");
}

RC_GTEST_PROP(GangPlan, PromisedThenReleasedLeavesTheFleetAsItWas, ()) {
  Fleet fleet;
  random_fleet(fleet);
  const Gang gang = random_gang("job");
  const std::vector<Ledger> before = ledgers_of(fleet);
  const GangOutcome outcome = plan_gang(fleet, gang, {.steps = 200});
  const auto* plan = std::get_if<GangPlan>(&outcome);
  if (plan == nullptr) RC_DISCARD("refused");
  RC_ASSERT(promise_gang(fleet, gang, *plan, 100));
  for (const Placement& placement : plan->placements) {
    const topology::Claim* claim = fleet.node(placement.node).ledger.find(placement.id);
    RC_ASSERT(claim != nullptr);
    RC_ASSERT(*claim == placement.decision.claim);
  }
  for (const auto& request : gang) RC_ASSERT(fleet.release(request.id));
  RC_ASSERT(ledgers_of(fleet) == before);
  for (NodeIndex node = 0; node < fleet.size(); ++node) {
    const FleetNode& it = fleet.node(node);
    RC_ASSERT(it.holes == topology::holes_of(it.topology(), it.ledger));
  }
}

RC_GTEST_PROP(GangPlan, IsTheSameAgain, ()) {
  Fleet fleet;
  random_fleet(fleet);
  const Gang gang = random_gang("job");
  const GangOutcome first = plan_gang(fleet, gang, {.steps = 200});
  const GangOutcome second = plan_gang(fleet, gang, {.steps = 200});
  RC_ASSERT(first.index() == second.index());
  if (const auto* plan = std::get_if<GangPlan>(&first)) {
    RC_ASSERT(*plan == std::get<GangPlan>(second));
  } else {
    RC_ASSERT(std::get<GangRefusal>(first).text == std::get<GangRefusal>(second).text);
  }
}

// Workers that are alike need no search: they are refused only where one after another, each on
// any node that takes it, they do not fit either.
RC_GTEST_PROP(GangPlan, AlikeWorkersArePlacedWhereverTheyFit, ()) {
  Fleet fleet;
  random_fleet(fleet);
  Gang gang = random_gang("job");
  for (auto& request : gang) {
    request = gang.front();
    request.strength = topology::Strength::kRequired;
    request.align = std::min(request.align, topology::Align::kNuma);
    request.task_group.clear();
    request.use_isolated = false;
  }
  for (std::size_t i = 0; i < gang.size(); ++i) gang[i].id = "job-" + std::to_string(i);
  const bool planned = std::holds_alternative<GangPlan>(plan_gang(fleet, gang, {.steps = 0}));
  bool fits = true;
  for (const auto& request : gang) {
    const NodeIndex node = fleet.best_node(request);
    fits = fits && node >= 0 && bool(fleet.promise(node, request, 100));
  }
  RC_CLASSIFY(fits, "fits");
  RC_ASSERT(planned == fits);
}

}  // namespace
}  // namespace pinion::cluster
