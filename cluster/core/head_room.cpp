#include "cluster/core/head_room.h"

#include <algorithm>
#include <utility>

namespace pinion::cluster {
namespace {

// The fleet at the moment when the first few of the endings are over.
class Later {
 public:
  Later(const Fleet& fleet, const Gang& gang, const std::set<Ending>& endings,
        const std::vector<NodeIndex>* among)
      : fleet_(fleet), gang_(gang) {
    std::set<NodeIndex> allowed;
    if (among != nullptr) allowed.insert(among->begin(), among->end());
    const auto usable = [&](NodeIndex node) {
      return !fleet.node(node).stale && (among == nullptr || allowed.contains(node));
    };
    for (const Ending& ending : endings) {
      if (usable(ending.node)) endings_.push_back(&ending);
    }
    for (const auto& [name, node] : fleet.by_name()) {
      if (usable(node) && some_fits(node)) open_.push_back(node);
    }
  }

  [[nodiscard]] std::size_t endings() const { return endings_.size(); }
  [[nodiscard]] std::int64_t time_of(std::size_t ended) const {
    return ended == 0 ? 0 : endings_[ended - 1]->at_ms;
  }

  // The CPUs of all when so many have ended; nullopt: not all find some.
  [[nodiscard]] std::optional<std::map<NodeIndex, topology::CpuSet>> fit(std::size_t ended) const {
    std::map<NodeIndex, std::vector<const Ending*>> nodes;
    for (std::size_t i = 0; i < ended; ++i) nodes[endings_[i]->node].push_back(endings_[i]);
    for (const NodeIndex node : open_) nodes.try_emplace(node);
    std::map<NodeIndex, topology::CpuSet> cpus;
    Gang rest = gang_;
    for (const auto& [node, over] : nodes) {
      if (rest.empty()) break;
      topology::CpuSet taken = fill(node, over, rest);
      if (!taken.empty()) cpus.emplace(node, std::move(taken));
    }
    if (!rest.empty()) return std::nullopt;
    return cpus;
  }

 private:
  [[nodiscard]] bool some_fits(NodeIndex node) const {
    return std::any_of(gang_.begin(), gang_.end(),
                       [&](const auto& request) { return fleet_.may_fit(node, request); });
  }

  topology::CpuSet fill(NodeIndex index, const std::vector<const Ending*>& over, Gang& rest) const {
    const FleetNode& node = fleet_.node(index);
    topology::Ledger ledger = node.ledger;
    for (const Ending* ending : over) ledger.release(ending->id);
    topology::CpuSet cpus;
    std::optional<topology::Request> refused;
    std::erase_if(rest, [&](const topology::Request& request) {
      if (refused && same_shape(*refused, request)) return false;
      auto outcome = topology::allocate(node.topology(), ledger, request);
      auto* decision = std::get_if<topology::Decision>(&outcome);
      if (decision == nullptr) {
        refused = request;
        return false;
      }
      cpus |= decision->claim.cpus;
      ledger.commit(std::move(decision->claim));
      return true;
    });
    return cpus;
  }

  const Fleet& fleet_;
  const Gang& gang_;
  std::vector<const Ending*> endings_;  // on usable nodes
  std::vector<NodeIndex> open_;         // with room for a member now
};

}  // namespace

std::optional<HeadRoom> find_head_room(const Fleet& fleet, const std::string& job, const Gang& gang,
                                       const std::set<Ending>& endings,
                                       const std::vector<NodeIndex>* among) {
  const Later later(fleet, gang, endings, among);
  // Twice as many each time until they fit, then the middle of what is left.
  std::size_t none = 0;
  std::size_t most = 1;
  auto cpus = later.fit(std::min(most, later.endings()));
  while (!cpus && most < later.endings()) {
    none = most;
    most *= 2;
    cpus = later.fit(std::min(most, later.endings()));
  }
  if (!cpus) return std::nullopt;
  most = std::min(most, later.endings());
  while (most - none > 1) {
    const std::size_t middle = none + (most - none) / 2;
    auto fewer = later.fit(middle);
    (fewer ? most : none) = middle;
    if (fewer) cpus = std::move(fewer);
  }
  return HeadRoom{.job = job, .from_ms = later.time_of(most), .cpus = *std::move(cpus)};
}

}  // namespace pinion::cluster
