#include "cluster/core/placement.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cluster/core/gang_refusal.h"
#include "cluster/core/node_score.h"
#include "cluster/core/pod_fit.h"
#include "cluster/core/task_groups.h"

namespace pinion::cluster {
namespace {

struct Named {
  PlacementPolicy placement;
  std::string_view word;
};
constexpr std::array kNames = {Named{PlacementPolicy::kHoles, "holes"},
                               Named{PlacementPolicy::kTaskGroup, "task-group"},
                               Named{PlacementPolicy::kTaskGroupRandom, "task-group-random"},
                               Named{PlacementPolicy::kFirstFit, "first-fit"},
                               Named{PlacementPolicy::kLeastLoaded, "least-loaded"},
                               Named{PlacementPolicy::kMostLoaded, "most-loaded"},
                               Named{PlacementPolicy::kFill, "fill"},
                               Named{PlacementPolicy::kRandom, "random"}};

// The fleet with the members that have been placed so far.
class Trial {
 public:
  Trial(const FleetView& fleet, const Gang& gang, const PlanLimits& limits)
      : fleet_(fleet), most_nodes_(limits.nodes), allowed_(nodes_among(fleet, limits.among).heard) {
    for (const NodeIndex node : fleet.nodes_of_job(gang.front().job)) {
      for (const auto& [id, claim] : fleet.node(node).ledger.claims()) {
        if (claim.job == gang.front().job) ++groups_[node][claim.task_group];
      }
    }
  }

  [[nodiscard]] const std::vector<NodeIndex>& allowed() const { return allowed_; }
  // Members of the job there, by task group.
  [[nodiscard]] const std::map<std::string, int>& groups_at(NodeIndex node) const {
    static const std::map<std::string, int> none;
    const auto found = groups_.find(node);
    return found == groups_.end() ? none : found->second;
  }
  [[nodiscard]] const topology::Ledger& ledger(NodeIndex node) const {
    const auto found = ledgers_.find(node);
    return found == ledgers_.end() ? fleet_.node(node).ledger : found->second;
  }
  [[nodiscard]] bool fits(NodeIndex node, const GangMember& member) const {
    if (!fleet_.may_use(node, member.terms) || !has(spare(node), member.terms.requests))
      return false;
    if (static_cast<int>(groups_.size()) >= most_nodes_ && !groups_.contains(node)) return false;
    if (member.terms.apart && !groups_at(node).empty()) return false;
    const auto found = ledgers_.find(node);
    if (found == ledgers_.end() && member.beside.empty()) return fleet_.fits(node, member);
    if (!fleet_.may_fit(node, member)) return false;
    return grants_all(fleet_.node(node), ledger(node), member.requests());
  }
  // How many claims the node has with those that have been placed there so far.
  [[nodiscard]] std::size_t claims_at(NodeIndex node) const { return ledger(node).claims().size(); }
  // The fill_score() of the node as it is with those.
  [[nodiscard]] int fill_score_at(NodeIndex index, std::int64_t milli_cpus) const {
    if (ledgers_.find(index) == ledgers_.end()) return fill_score(fleet_.node(index), milli_cpus);
    FleetNode node = fleet_.node(index);
    node.ledger = ledger(index);
    node.holes = topology::holes_of(node.topology(), node.ledger);
    node.spare = spare(index);
    return fill_score(node, milli_cpus);
  }
  [[nodiscard]] int load_at(NodeIndex node) const {
    return load_of(fleet_.node(node), ledger(node), spare(node));
  }
  // Precondition: it fits.
  Placement put(NodeIndex node, const GangMember& member) {
    topology::Ledger& ledger = ledgers_.try_emplace(node, fleet_.node(node).ledger).first->second;
    spare_.try_emplace(node, fleet_.node(node).spare).first->second -= member.terms.requests;
    Placement placement{.id = member.id, .node = node, .decision = {}};
    for (const auto& request : member.requests()) {
      auto decision = std::get<topology::Decision>(
          topology::allocate(fleet_.node(node).topology(), ledger, request));
      ledger.commit(decision.claim);
      placement.beside.push_back(std::move(decision));
    }
    placement.decision = std::move(placement.beside.front());
    placement.beside.erase(placement.beside.begin());
    ++groups_[node][member.task_group];
    return placement;
  }

 private:
  [[nodiscard]] const ResourceList& spare(NodeIndex node) const {
    const auto found = spare_.find(node);
    return found == spare_.end() ? fleet_.node(node).spare : found->second;
  }

  const FleetView& fleet_;
  const int most_nodes_;
  const std::vector<NodeIndex> allowed_;  // ascending by name
  std::map<NodeIndex, ResourceList> spare_;
  std::map<NodeIndex, topology::Ledger> ledgers_;
  std::map<NodeIndex, std::map<std::string, int>> groups_;
};

// What nodes score for members that ask for so many CPUs. Of a node where nobody has been placed
// since it was last scored, the score still holds: a gang costs one look at each node, and one more
// for each of its members.
class FillScores {
 public:
  explicit FillScores(const Trial& trial) : trial_(trial) {}

  int of(NodeIndex node, int cpus) {
    auto& scores = by_cpus_[cpus];
    const auto at = static_cast<std::size_t>(node);
    if (at >= scores.size()) scores.resize(at + 1);
    Scored& scored = scores[at];
    if (const std::size_t claims = trial_.claims_at(node); scored.claims != claims) {
      scored = {.claims = claims, .score = trial_.fill_score_at(node, std::int64_t{1000} * cpus)};
    }
    return scored.score;
  }

 private:
  struct Scored {
    std::optional<std::size_t> claims{};  // Trial::claims_at() then
    int score = 0;
  };

  const Trial& trial_;
  std::map<int, std::vector<Scored>> by_cpus_;  // by the node's index
};

// Algorithm 4 by its letter: that takes all of the group for what still fits, on each node.
int group_score(const Trial& trial, NodeIndex node, const std::string& group, int group_size) {
  GroupCounts counts{.still_fit = group_size};
  for (const auto& [other, members] : trial.groups_at(node)) {
    (other == group ? counts.members : counts.other_groups) += other == group ? members : 1;
  }
  return node_score(counts);
}

// Precondition: some node fits.
using Chooser = std::function<NodeIndex(const std::vector<NodeIndex>&, const GangMember&)>;

Chooser chooser_of(PlacementPolicy placement, const Gang& gang, const Trial& trial,
                   std::mt19937_64& random) {
  // The first of the best ones; each is scored once.
  const auto best = [](const std::vector<NodeIndex>& nodes, const auto& score) {
    std::vector<int> scores(nodes.size());
    std::transform(nodes.begin(), nodes.end(), scores.begin(), score);
    return nodes[static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                          scores.begin())];
  };
  switch (placement) {
    case PlacementPolicy::kLeastLoaded:
    case PlacementPolicy::kMostLoaded: {
      const int sign = placement == PlacementPolicy::kMostLoaded ? 1 : -1;
      return [=, &trial](const auto& nodes, const auto&) {
        return best(nodes, [&](NodeIndex node) { return sign * trial.load_at(node); });
      };
    }
    case PlacementPolicy::kTaskGroup:
    case PlacementPolicy::kTaskGroupRandom: {
      std::map<std::string, int> sizes;
      for (const auto& member : gang) ++sizes[member.task_group];
      const bool any = placement == PlacementPolicy::kTaskGroupRandom;
      return [=, &trial, &random](const auto& nodes, const auto& request) {
        const auto score = [&](NodeIndex node) {
          return group_score(trial, node, request.task_group, sizes.at(request.task_group));
        };
        const NodeIndex first = best(nodes, score);
        if (!any) return first;
        std::vector<NodeIndex> equal;
        std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(equal),
                     [&](NodeIndex node) { return score(node) == score(first); });
        return equal[random() % equal.size()];
      };
    }
    case PlacementPolicy::kFill:
      return [=, scores = FillScores(trial)](const auto& nodes, const auto& member) mutable {
        const int cpus = member.all_cpus();
        return best(nodes, [&](NodeIndex node) { return scores.of(node, cpus); });
      };
    case PlacementPolicy::kRandom:
      return [&random](const auto& nodes, const auto&) { return nodes[random() % nodes.size()]; };
    case PlacementPolicy::kHoles:
    case PlacementPolicy::kFirstFit:
      break;
  }
  return [](const auto& nodes, const auto&) { return nodes.front(); };
}

// WorkerOrderFn: group by group, a group's members in their order; the others in their own.
std::vector<std::size_t> order_of(const Gang& gang) {
  std::map<std::string_view, std::vector<std::size_t>> members;
  std::vector<std::string_view> groups;
  for (std::size_t i = 0; i < gang.size(); ++i) {
    auto& of_group = members[gang[i].task_group];
    if (of_group.empty()) groups.push_back(gang[i].task_group);
    of_group.push_back(i);
  }
  std::vector<std::size_t> order;
  for (const auto group : groups) {
    order.insert(order.end(), members[group].begin(), members[group].end());
  }
  return order;
}

GangOutcome place_by(PlacementPolicy placement, const FleetView& fleet, const Gang& gang,
                     const PlanLimits& limits, std::uint64_t seed) {
  if (placement == PlacementPolicy::kHoles) return plan_gang(fleet, gang, limits);
  if (const auto reason = senseless(fleet, gang)) return refuse_as(*reason);
  std::mt19937_64 random(seed);
  Trial trial(fleet, gang, limits);
  const Chooser choose = chooser_of(placement, gang, trial, random);
  GangPlan plan;
  plan.placements.resize(gang.size());
  plan.order = order_of(gang);
  for (const std::size_t member : plan.order) {
    std::vector<NodeIndex> nodes;
    for (const NodeIndex node : trial.allowed()) {
      if (!trial.fits(node, gang[member])) continue;
      nodes.push_back(node);
      if (placement == PlacementPolicy::kFirstFit) break;
    }
    // The words count the room of the fleet as it is.
    if (nodes.empty()) return refuse(Draft(fleet, gang, limits));
    plan.placements[member] = trial.put(choose(nodes, gang[member]), gang[member]);
  }
  return plan;
}

}  // namespace

std::string_view to_string(PlacementPolicy placement) {
  for (const Named& named : kNames) {
    if (named.placement == placement) return named.word;
  }
  return {};
}

std::optional<PlacementPolicy> placement_of(std::string_view word) {
  for (const Named& named : kNames) {
    if (named.word == word) return named.placement;
  }
  return std::nullopt;
}

GangOutcome place_gang(PlacementPolicy placement, const FleetView& fleet, const Gang& gang,
                       const PlanLimits& limits, std::uint64_t seed) {
  GangOutcome outcome = place_by(placement, fleet, gang, limits, seed);
  const auto* refusal = std::get_if<GangRefusal>(&outcome);
  if (refusal == nullptr || limits.nodes == kAnyNumber || senseless(fleet, gang)) return outcome;
  const std::vector<NodeIndex> roomiest = Draft(fleet, gang, limits).roomiest();
  PlanLimits among_those = limits;
  among_those.among = &roomiest;
  GangOutcome again = place_by(placement, fleet, gang, among_those, seed);
  return std::holds_alternative<GangPlan>(again) ? again : outcome;
}

}  // namespace pinion::cluster
