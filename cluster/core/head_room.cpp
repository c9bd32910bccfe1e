#include "cluster/core/head_room.h"

#include <algorithm>
#include <span>
#include <utility>

#include "cluster/core/hole_text.h"
#include "cluster/core/scheduler_parts.h"

namespace pinion::cluster {
namespace {

// Whether some domain has as many free CPUs as the request needs when these are taken, whatever
// else it wants: never false where allocate() grants it, and much cheaper than a refusal with its
// reasons.
bool may_take(const topology::Topology& machine, const topology::CpuSet& taken,
              const topology::Request& request) {
  const auto has_room = [&](const topology::CpuSet& domain) {
    return domain.count() - domain.count_common(taken) >= request.cpus;
  };
  const auto any_has = [&](const auto& domains) {
    return std::any_of(domains.begin(), domains.end(),
                       [&](const auto& domain) { return has_room(domain.cpus); });
  };
  switch (widest_align(request)) {
    case topology::Align::kL3:
      return any_has(machine.l3s);
    case topology::Align::kNuma:
      return any_has(machine.nodes);
    case topology::Align::kSocket:
      return any_has(machine.packages);
    case topology::Align::kNone:
      break;
  }
  return has_room(machine.online);
}

bool may_take_all(const topology::Topology& machine, const topology::CpuSet& taken,
                  const GangMember& member) {
  const auto may = [&](const topology::Request& request) {
    return may_take(machine, taken, request);
  };
  const int free = machine.online.count() - machine.online.count_common(taken);
  return member.all_cpus() <= free && may(member) &&
         std::all_of(member.beside.begin(), member.beside.end(), may);
}

// The CPUs of all its containers, one after another, or none; committed to the ledger.
topology::CpuSet take(const topology::Topology& machine, topology::Ledger& ledger,
                      const GangMember& member) {
  topology::CpuSet cpus;
  std::vector<const std::string*> committed;
  const auto taken = [&](const topology::Request& request) {
    auto outcome = topology::allocate(machine, ledger, request);
    auto* decision = std::get_if<topology::Decision>(&outcome);
    if (decision == nullptr) return false;
    cpus |= decision->claim.cpus;
    ledger.commit(std::move(decision->claim));
    committed.push_back(&request.id);
    return true;
  };
  if (taken(member) && std::all_of(member.beside.begin(), member.beside.end(), taken)) return cpus;
  for (const std::string* id : committed) ledger.release(*id);
  return {};
}

// The fleet at the moment when the first few of the endings are over. Many have to end before a
// node takes anybody; until then it is not looked at more closely.
class Later {
 public:
  Later(const Fleet& fleet, const Gang& gang, const std::set<Ending>& endings,
        const PlanLimits& limits)
      : fleet_(fleet),
        gang_(gang),
        most_nodes_(limits.nodes),
        job_nodes_(fleet.nodes_of_job(gang.front().job)),
        among_all_(limits.among == nullptr),
        next_(endings.begin()),
        end_(endings.end()),
        sites_(static_cast<std::size_t>(fleet.size())) {
    if (limits.among != nullptr) among_.insert(limits.among->begin(), limits.among->end());
    for (const GangMember& member : gang) {
      if (kinds_.empty() || !same_shape(*kinds_.back(), member)) kinds_.push_back(&member);
    }
    for (const auto& [name, node] : fleet.by_name()) {
      if (usable(node) && some_fits(node)) open(node, 0);
    }
  }

  // Has as many endings at hand, or all that there are; returns how many. Few are needed of many.
  std::size_t reach(std::size_t wanted) {
    for (; next_ != end_ && endings_.size() < wanted; ++next_) {
      if (usable(next_->node)) take_in(*next_);
    }
    return endings_.size();
  }
  [[nodiscard]] std::int64_t time_of(std::size_t ended) const {
    return ended == 0 ? 0 : endings_[ended - 1]->at_ms;
  }

  // The CPUs of all when so many have ended; nullopt: not all find some. Precondition: reach().
  [[nodiscard]] std::optional<std::map<NodeIndex, topology::CpuSet>> fit(std::size_t ended) {
    Nodes nodes;
    for (const NodeIndex node : open_) {
      const Site& site = sites_[static_cast<std::size_t>(node)];
      if (site.open_from <= ended) nodes.emplace_back(node, over_there(site, ended));
    }
    if (most_nodes_ != kAnyNumber) keep_roomiest(nodes);
    std::map<NodeIndex, topology::CpuSet> cpus;
    Members rest = members();
    for (const auto& [node, over] : nodes) {
      if (rest.empty()) break;
      topology::CpuSet taken = fill(node, over, rest);
      if (!taken.empty()) cpus.emplace(node, std::move(taken));
    }
    if (!rest.empty()) return std::nullopt;
    return cpus;
  }

 private:
  // A node, with those who have ended there.
  using Nodes = std::vector<std::pair<NodeIndex, std::span<const std::size_t>>>;
  using Members = std::vector<const GangMember*>;
  struct Site {
    std::vector<std::size_t> over;                                    // of endings_
    topology::CpuSet taken;                                           // when they are over
    std::size_t open_from = std::numeric_limits<std::size_t>::max();  // it may take a member then
  };

  [[nodiscard]] Members members() const {
    Members members;
    for (const GangMember& member : gang_) members.push_back(&member);
    return members;
  }

  void open(NodeIndex node, std::size_t ended) {
    sites_[static_cast<std::size_t>(node)].open_from = ended;
    open_.insert(node);
  }

  void take_in(const Ending& ending) {
    Site& site = sites_[static_cast<std::size_t>(ending.node)];
    const FleetNode& node = fleet_.node(ending.node);
    if (site.over.empty()) site.taken = node.ledger.exclusive();
    site.over.push_back(endings_.size());
    endings_.push_back(&ending);
    if (open_.contains(ending.node)) return;
    const topology::Claim* claim = node.ledger.find(ending.id);
    if (claim != nullptr) site.taken -= claim->cpus;
    const bool any = std::any_of(kinds_.begin(), kinds_.end(), [&](const GangMember* member) {
      return may_take_all(node.topology(), site.taken, *member);
    });
    if (any) open(ending.node, endings_.size());
  }

  [[nodiscard]] static std::span<const std::size_t> over_there(const Site& site,
                                                               std::size_t ended) {
    const auto end = std::lower_bound(site.over.begin(), site.over.end(), ended);
    return {site.over.begin(), end};
  }

  // The CPUs that the gang would take there by itself when those are over, the first ones there.
  int room_at(NodeIndex node, std::span<const std::size_t> over) {
    const auto [known, fresh] = rooms_.try_emplace({node, over.size()});
    if (fresh) {
      Members rest = members();
      known->second = fill(node, over, rest).count();
    }
    return known->second;
  }

  // As many as the job may use: those where it is, and those that take most.
  void keep_roomiest(Nodes& nodes) {
    std::vector<std::pair<int, NodeIndex>> rooms;
    for (const auto& [node, over] : nodes) {
      if (!job_nodes_.contains(node)) rooms.emplace_back(-room_at(node, over), node);
    }
    std::sort(rooms.begin(), rooms.end());
    const auto more = std::max<std::ptrdiff_t>(0, most_nodes_ - std::ssize(job_nodes_));
    std::set<NodeIndex> dropped;
    for (auto at = std::min(more, std::ssize(rooms)); at < std::ssize(rooms); ++at) {
      dropped.insert(rooms[static_cast<std::size_t>(at)].second);
    }
    std::erase_if(nodes, [&](const auto& node) { return dropped.contains(node.first); });
  }

  [[nodiscard]] bool usable(NodeIndex node) const {
    return !fleet_.node(node).stale && (among_all_ || among_.contains(node));
  }
  [[nodiscard]] bool some_fits(NodeIndex node) const {
    return std::any_of(gang_.begin(), gang_.end(), [&](const auto& member) {
      return fleet_.takes_idle(node, member.terms) && fleet_.may_fit(node, member) &&
             std::all_of(member.beside.begin(), member.beside.end(),
                         [&](const auto& request) { return fleet_.may_fit(node, request); });
    });
  }

  // Whether those are gone whom somebody may have had to keep away from. Others than members of
  // jobs do not say when they end.
  [[nodiscard]] bool is_deserted(const FleetNode& node, const topology::Ledger& ledger) const {
    return !node.occupants.jobs.empty() && node.occupants.services == 0 &&
           std::all_of(ledger.claims().begin(), ledger.claims().end(),
                       [](const auto& claim) { return claim.first == kHeadClaim; });
  }

  topology::CpuSet fill(NodeIndex index, std::span<const std::size_t> over, Members& rest) const {
    const FleetNode& node = fleet_.node(index);
    topology::Ledger ledger = node.ledger;
    for (const std::size_t ending : over) ledger.release(endings_[ending]->id);
    topology::CpuSet cpus;
    const GangMember* refused = nullptr;
    ResourceList spare = node.room;  // when members give theirs back is not counted
    const bool deserted = is_deserted(node, ledger);
    std::erase_if(rest, [&](const GangMember* member) {
      const GangMember& request = *member;
      if (refused != nullptr && same_shape(*refused, request)) return false;
      const bool may_use = deserted ? fleet_.may_ever_use(index, request.terms)
                                    : fleet_.may_use(index, request.terms);
      const bool may_go = may_use && has(spare, request.terms.requests) &&
                          !fleet_.too_near(index, request.terms, request.job) &&
                          !(request.terms.apart && !cpus.empty()) &&
                          may_take_all(node.topology(), ledger.exclusive(), request);
      const topology::CpuSet taken =
          may_go ? take(node.topology(), ledger, request) : topology::CpuSet();
      if (taken.empty()) {
        refused = member;
        return false;
      }
      spare -= request.terms.requests;
      cpus |= taken;
      return true;
    });
    return cpus;
  }

  const Fleet& fleet_;
  const Gang& gang_;
  const int most_nodes_;
  const std::set<NodeIndex> job_nodes_;
  const bool among_all_;
  std::set<NodeIndex> among_;  // else
  std::set<Ending>::const_iterator next_;
  const std::set<Ending>::const_iterator end_;
  std::vector<const GangMember*> kinds_;                    // of members, no two alike in a row
  std::vector<const Ending*> endings_;                      // on usable nodes
  std::vector<Site> sites_;                                 // by node
  std::set<NodeIndex> open_;                                // that may take a member at some time
  std::map<std::pair<NodeIndex, std::size_t>, int> rooms_;  // by node and how many have ended there
};

}  // namespace

std::optional<HeadRoom> find_head_room(const Fleet& fleet, const std::string& job, const Gang& gang,
                                       const std::set<Ending>& endings, const PlanLimits& limits) {
  Later later(fleet, gang, endings, limits);
  // Twice as many each time until they fit, then the middle of what is left.
  std::size_t none = 0;
  std::size_t asked = 1;
  std::size_t most = later.reach(asked);
  auto cpus = later.fit(most);
  while (!cpus && most == asked) {
    none = most;
    asked *= 2;
    most = later.reach(asked);
    cpus = later.fit(most);
  }
  if (!cpus) return std::nullopt;
  while (most - none > 1) {
    const std::size_t middle = none + (most - none) / 2;
    auto fewer = later.fit(middle);
    (fewer ? most : none) = middle;
    if (fewer) cpus = std::move(fewer);
  }
  return HeadRoom{.job = job, .from_ms = later.time_of(most), .cpus = *std::move(cpus)};
}

}  // namespace pinion::cluster
