#include "cluster/core/never_fits.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "cluster/core/gang_refusal.h"

namespace pinion::cluster {
namespace {

// Members that are alike.
struct Kind {
  const GangMember* like = nullptr;
  int members = 0;
  std::map<const MachineKind*, int> rooms{};  // of such members, by machine
};

// No less than the members of this kind that it takes; of several containers each is looked at by
// itself.
int room_when_idle(const MachineKind& machine, const GangMember& member, int wanted) {
  int room = wanted;
  for (const topology::Request& request : member.requests()) {
    topology::Holes holes = machine.idle;
    if (request.use_isolated && holes.isolated) continue;
    room = std::min(room, topology::reserve_in(holes, request, room));
  }
  return member.beside.empty() ? room : std::min(room, machine.idle.free / member.all_cpus());
}

int room_at(const Fleet& fleet, NodeIndex index, Kind& kind) {
  const MemberTerms& terms = kind.like->terms;
  const FleetNode& node = fleet.node(index);
  if (!fleet.may_ever_use(index, terms)) return 0;
  const int most = times(node.capacity, terms.requests, terms.apart ? 1 : kind.members);
  if (most == 0) return 0;
  const auto [known, fresh] = kind.rooms.try_emplace(node.kind.get());
  if (fresh) known->second = room_when_idle(*node.kind, *kind.like, kind.members);
  return std::min(known->second, most);
}

// Whether all of one kind find room on so many nodes: never false where they do.
bool may_fit(const Fleet& fleet, Kind& kind, int most_nodes) {
  std::vector<int> rooms;
  int room = 0;
  for (const auto& [name, index] : fleet.by_name()) {
    rooms.push_back(room_at(fleet, index, kind));
    room += rooms.back();
    if (room >= kind.members && static_cast<int>(rooms.size()) <= most_nodes) return true;
  }
  if (room < kind.members) return false;
  std::sort(rooms.begin(), rooms.end(), std::greater<>());
  const auto most = std::min(rooms.size(), static_cast<std::size_t>(most_nodes));
  return std::accumulate(rooms.begin(), rooms.begin() + static_cast<std::ptrdiff_t>(most), 0) >=
         kind.members;
}

// Whether each kind finds room on nodes where no other kind is.
bool may_fit_side_by_side(const Fleet& fleet, std::vector<Kind>& kinds, int most_nodes) {
  int nodes = 0;
  auto node = fleet.by_name().begin();
  return std::all_of(kinds.begin(), kinds.end(), [&](Kind& kind) {
    int room = 0;
    for (; room < kind.members && node != fleet.by_name().end(); ++node) {
      const int more = room_at(fleet, node->second, kind);
      nodes += more > 0 ? 1 : 0;
      room += more;
    }
    return room >= kind.members && nodes <= most_nodes;
  });
}

// Whether it was counted, or of so few members that the search has found what there is.
bool is_proof(const GangRefusal& refusal, const Gang& gang) {
  constexpr std::size_t few = 8;
  switch (refusal.reason) {
    case GangReason::kNever:
    case GangReason::kTooFew:
    case GangReason::kNodeLimit:
      return true;
    case GangReason::kFragmented:
      return gang.size() <= few;
    case GangReason::kEmpty:
    case GangReason::kTwice:
    case GangReason::kNoHole:
      break;
  }
  return false;
}

}  // namespace

std::optional<GangRefusal> never_fits(IdleFleet& idle, const Gang& gang, int most_nodes,
                                      PlacementPolicy placement, std::uint64_t seed) {
  const Fleet& fleet = idle.fleet();
  if (fleet.by_name().empty() || fleet.awaits() || gang.empty()) return std::nullopt;
  std::vector<Kind> kinds;
  for (const auto& members : by_shape(gang)) {
    kinds.push_back({.like = &gang[members.front()], .members = static_cast<int>(members.size())});
  }
  const bool fits = kinds.size() == 1 ? may_fit(fleet, kinds.front(), most_nodes)
                                      : may_fit_side_by_side(fleet, kinds, most_nodes);
  if (fits) return std::nullopt;
  auto outcome = place_gang(placement, idle.view(), gang, {.nodes = most_nodes}, seed);
  auto* refusal = std::get_if<GangRefusal>(&outcome);
  if (refusal == nullptr || !is_proof(*refusal, gang)) return std::nullopt;
  refusal->reason = GangReason::kNever;
  refusal->text = text_of(*refusal);
  return std::move(*refusal);
}

}  // namespace pinion::cluster
