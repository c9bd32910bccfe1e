#include "cluster/core/gang_plan.h"

#include "cluster/core/gang_refusal.h"
#include "cluster/core/gang_search.h"

namespace pinion::cluster {
namespace {

GangPlan plan_of(const Gang& gang, const Draft& draft) {
  GangPlan plan;
  plan.placements.reserve(gang.size());
  for (std::size_t member = 0; member < gang.size(); ++member) {
    const auto& decisions = draft.decisions_of(member);
    plan.placements.push_back({.id = gang[member].id,
                               .node = draft.node_of(member),
                               .decision = decisions.front(),
                               .beside = {decisions.begin() + 1, decisions.end()}});
  }
  for (const auto& [node, members] : draft.by_node()) {
    plan.order.insert(plan.order.end(), members.begin(), members.end());
  }
  return plan;
}

}  // namespace

std::string_view to_string(GangReason reason) {
  switch (reason) {
    case GangReason::kEmpty:
      return "empty";
    case GangReason::kTwice:
      return "twice";
    case GangReason::kNever:
      return "never";
    case GangReason::kNoHole:
      return "no-hole";
    case GangReason::kTooFew:
      return "too-few";
    case GangReason::kNodeLimit:
      return "node-limit";
    case GangReason::kFragmented:
      break;
  }
  return "fragmented";
}

GangOutcome plan_gang(const FleetView& fleet, const Gang& gang, const PlanLimits& limits) {
  if (const auto reason = senseless(fleet, gang)) return refuse_as(*reason);
  Draft draft(fleet, gang, limits);
  for (const Draft::Members& group : draft.groups()) draft.place(group);
  const Quality first = draft.quality();
  const int steps = improve(draft, limits.steps);
  const Quality quality = draft.quality();
  if (quality.unplaced > 0) return refuse(draft);
  GangPlan plan = plan_of(gang, draft);
  plan.first = first;
  plan.quality = quality;
  plan.steps = steps;
  return plan;
}

bool promise_gang(Fleet& fleet, const Gang& gang, const GangPlan& plan, std::int64_t expires_ms) {
  std::vector<std::pair<NodeIndex, topology::Request>> those;
  for (const std::size_t member : plan.order) {
    for (topology::Request& request : gang[member].requests()) {
      those.emplace_back(plan.placements[member].node, std::move(request));
    }
  }
  return fleet.promise_all(those, expires_ms);
}

}  // namespace pinion::cluster
