// The fleet against the plainest way to answer the same questions, under random events.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cluster/core/hole_text.h"
#include "cluster/core/pod_fit.h"
#include "tests/property/extender_gen.h"

namespace pinion::cluster {
namespace {

using topology::Align;
using topology::Decision;
using topology::Request;
using topology::Smt;

bool granted(const FleetNode& node, const Request& request) {
  const auto outcome = topology::allocate(node.topology(), node.ledger, request);
  return std::holds_alternative<Decision>(outcome);
}

// The node that grants it and has the smallest hole of this kind with enough CPUs.
NodeIndex tightest(const Fleet& fleet, const Request& request, Smt smt) {
  NodeIndex best = -1;
  int tightest = 0;
  for (const auto& [name, node] : fleet.by_name()) {
    const topology::Holes& holes = fleet.node(node).holes;
    if (smt == Smt::kFullCore && holes.step > 0 && request.cpus % holes.step != 0) continue;
    if (fleet.node(node).stale || !granted(fleet.node(node), request)) continue;
    for (const topology::Hole& hole : holes.of(request.align)) {
      const int size = hole.of(smt);
      if (size < request.cpus || (best >= 0 && size >= tightest)) continue;
      best = node;
      tightest = size;
    }
  }
  return best;
}

// All nodes, one by one, for each alignment that the request may climb to; where whole cores are
// only preferred, holes of whole cores before those of any CPUs.
NodeIndex scanned(const Fleet& fleet, Request request) {
  const bool climbs = request.strength == topology::Strength::kPreferred;
  request.strength = topology::Strength::kRequired;
  for (const Align align : topology::kAligns) {
    if (align < request.align || (align > request.align && !climbs)) continue;
    request.align = align;
    const bool prefers = request.smt == Smt::kPreferFull;
    NodeIndex best = prefers ? tightest(fleet, request, Smt::kFullCore) : -1;
    if (best < 0) best = tightest(fleet, request, request.smt);
    if (best >= 0) return best;
  }
  return -1;
}

RC_GTEST_PROP(Fleet, TheIndexFindsWhatAScanFinds, ()) {
  Fleet fleet;
  random_fleet(fleet);
  for (int i = 0; i < 5; ++i) {
    Request request = random_gang("job").front();
    request.id = "pod-" + std::to_string(i);
    request.use_isolated = false;
    const NodeIndex best = fleet.best_node(request);
    RC_ASSERT(best == scanned(fleet, request));
    RC_CLASSIFY(best >= 0, "found");
    for (const auto& [name, node] : fleet.by_name()) {
      const bool fits = !fleet.node(node).stale && granted(fleet.node(node), request);
      RC_ASSERT(fleet.fits(node, request) == fits);
      const int score = fleet.hole_score(node, request);
      RC_ASSERT(score >= 0 && score <= 10);
    }
    if (best >= 0) RC_ASSERT(bool(fleet.promise(best, request, 100)));
  }
}

// The containers of a pod: mostly of one kind, at times of any.
RC_GTEST_PROP(Fleet, ContainersFitTogetherAsTheyArePlanned, ()) {
  Fleet fleet;
  random_fleet(fleet);
  const topology::Topology any = topology::random_machine();
  std::vector<Request> requests(1 + static_cast<std::size_t>(pick_below(3)));
  const Request first = topology::random_request(any, "");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request other = topology::random_request(any, "");
    requests[i] = one_in(4) ? other : first;
    requests[i].id = std::to_string(i);
    requests[i].cpus = other.cpus;
    requests[i].memory = other.memory;
  }
  const PodFit together(fleet, requests);
  IdleFit idle(fleet, requests);
  for (const auto& [name, index] : fleet.by_name()) {
    const FleetNode& node = fleet.node(index);
    const bool fits = together.fit(index);
    RC_ASSERT(fits == (!node.stale && grants_all(node, node.ledger, requests)));
    RC_CLASSIFY(fits && requests.size() > 1, "together");
    RC_ASSERT(idle.fit(index) == grants_all(node, node.kind->idle_ledger(), requests));
    MostThere by_holes(requests);
    by_holes.look(node.holes);
    MostThere by_digest(requests);
    by_digest.look(fleet.digest(index), node.holes);
    RC_ASSERT(by_digest.cpus() == by_holes.cpus());
    RC_ASSERT(by_digest.text() == by_holes.text());
  }
}

// Agents that decide for themselves, hear of pods late or not at all, restart and lose containers.
class World {
 public:
  World() {
    random_fleet(fleet_);
    for (const auto& [name, node] : fleet_.by_name()) agents_[name] = fleet_.node(node).ledger;
  }

  void step() {
    switch (pick_below(5)) {
      case 0:
      case 1:
        promise();
        break;
      case 2:
        start_pod();
        break;
      case 3:
        end_container();
        break;
      default:
        report(any_node());
    }
    check();
  }

  void settle() {
    now_ += 1000;
    fleet_.expire(now_);
    for (const auto& [name, ledger] : agents_) report(name);
    RC_ASSERT(fleet_.promises() == 0U);
    for (const auto& [name, ledger] : agents_) {
      RC_ASSERT(fleet_.node(fleet_.find(name)).ledger == ledger);
    }
  }

 private:
  std::string any_node() const {
    auto node = agents_.begin();
    std::advance(node, pick_below(static_cast<int>(agents_.size())));
    return node->first;
  }

  void promise() {
    Request request = random_gang("job").front();
    request.id = "pod-" + std::to_string(pods_.size());
    const NodeIndex node = fleet_.best_node(request);
    if (node < 0) return;
    const auto outcome = fleet_.promise(node, request, now_ + 100);
    RC_ASSERT(bool(outcome));
    RC_ASSERT(std::holds_alternative<Decision>(*outcome));
    pods_.push_back({request, fleet_.node(node).name});
  }

  void start_pod() {
    if (pods_.empty()) return;
    const auto& [request, node] =
        pods_[static_cast<std::size_t>(pick_below(static_cast<int>(pods_.size())))];
    topology::Ledger& ledger = agents_[node];
    if (ledger.find(request.id) != nullptr) return;
    const auto outcome =
        topology::allocate(fleet_.node(fleet_.find(node)).topology(), ledger, request);
    if (const auto* decision = std::get_if<Decision>(&outcome)) ledger.commit(decision->claim);
  }

  void end_container() {
    topology::Ledger& ledger = agents_[any_node()];
    if (!ledger.claims().empty()) ledger.release(std::string(ledger.claims().begin()->first));
  }

  void report(const std::string& name) {
    NodeReport report;
    report.name = name;
    report.generation = ++generation_;
    for (const auto& [id, claim] : agents_[name].claims()) report.claims.push_back(claim);
    RC_ASSERT(bool(fleet_.report(std::move(report), now_)));
  }

  // What is derived is as if it were derived now, and the index knows it.
  void check() const {
    for (const auto& [name, node] : fleet_.by_name()) {
      const FleetNode& it = fleet_.node(node);
      RC_ASSERT(it.holes == topology::holes_of(it.topology(), it.ledger));
    }
    Request request = random_gang("probe").front();
    request.use_isolated = false;
    request.id = "probe";
    RC_ASSERT(fleet_.best_node(request) == scanned(fleet_, request));
  }

  Fleet fleet_;
  std::map<std::string, topology::Ledger> agents_;
  std::vector<std::pair<Request, std::string>> pods_;
  std::int64_t now_ = 0;
  std::uint64_t generation_ = 0;
};

RC_GTEST_PROP(Fleet, ComesToAgreeWithItsAgents, ()) {
  World world;
  const int steps = pick_below(40);
  for (int i = 0; i < steps; ++i) world.step();
  world.settle();
}

}  // namespace
}  // namespace pinion::cluster
