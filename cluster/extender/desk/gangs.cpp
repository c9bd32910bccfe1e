#include "cluster/extender/desk/gangs.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "cluster/core/task_groups.h"

namespace pinion::cluster {
namespace {

std::string of(std::size_t some, int all) {
  return std::to_string(some) + " of " + std::to_string(all);
}

std::size_t count(const GangState& gang, Place::State state) {
  return static_cast<std::size_t>(
      std::count_if(gang.places.begin(), gang.places.end(),
                    [&](const Place& place) { return place.state == state; }));
}

bool planned(const GangState& gang) {
  return std::any_of(gang.places.begin(), gang.places.end(),
                     [](const Place& place) { return !place.fixed(); });
}

std::size_t fixed(const GangState& gang) {
  return static_cast<std::size_t>(std::count_if(gang.places.begin(), gang.places.end(),
                                                [](const Place& place) { return place.fixed(); }));
}

// Places to plan when a member asks.
std::size_t needed(const GangState& gang) {
  const auto size = static_cast<std::size_t>(gang.size);
  return gang.started ? 1 : size - std::min(size, fixed(gang));
}

}  // namespace

Place* Gangs::place_of(GangState& gang, const std::string& uid) {
  const auto found = std::find_if(gang.places.begin(), gang.places.end(),
                                  [&](const Place& place) { return place.member.uid == uid; });
  return found == gang.places.end() ? nullptr : &*found;
}

// Whether all places without a binding are still kept: a node may have gone, or its agent reported
// something that left no room.
bool Gangs::stands(const GangState& gang) const {
  return std::all_of(gang.places.begin(), gang.places.end(), [&](const Place& place) {
    if (place.fixed()) return true;
    const NodeIndex node = fleet_.find(place.node);
    return node >= 0 && !fleet_.node(node).stale && fleet_.knows(place.request.id);
  });
}

// `need` of the known members without a place, `first` before the others where it has an id.
Gang Gangs::missing(const GangState& gang, const topology::Request& first, std::size_t need) const {
  Gang members;
  if (need == 0) return members;
  if (!first.id.empty()) members.push_back(first);
  std::set<std::string> placed;
  for (const Place& place : gang.places) placed.insert(place.member.uid);
  for (const auto& [uid, member] : gang.members) {
    if (members.size() == need) break;
    if (member.request.id == first.id || placed.contains(uid)) continue;
    if (!fleet_.knows(member.request.id)) members.push_back(member.request);
  }
  return members;
}

// Members that are of no task group yet join one, those counted that are bound already.
void Gangs::share_out(const std::string& key, const GangState& gang, Gang& members) {
  if (gang.groups < 1) return;
  std::map<std::string, int> cpus;
  for (const Place& place : gang.places) cpus[place.request.task_group] += place.request.cpus;
  join_groups(job_of_gang(key), gang.groups, std::move(cpus), members);
}

// By position of the member: the node that its status names; -1: none.
std::vector<NodeIndex> Gangs::nominations(const GangState& gang, const Gang& members) const {
  std::map<std::string_view, NodeIndex> by_request;
  for (const auto& [uid, member] : gang.members) {
    if (!member.nominated.empty()) by_request[member.request.id] = fleet_.find(member.nominated);
  }
  std::vector<NodeIndex> nodes;
  for (const auto& member : members) {
    const auto found = by_request.find(member.id);
    nodes.push_back(found == by_request.end() ? -1 : found->second);
  }
  return nodes;
}

// Keeps places for all members: on `nodes` where they name one (the scheduler has evicted others to
// make room for each) if the rest then find theirs, else among those given. Says where.
std::optional<GangRefusal> Gangs::keep(const Gang& members, const std::vector<NodeIndex>& among,
                                       std::vector<NodeIndex>& nodes) {
  std::vector<std::size_t> free;
  std::vector<std::string_view> kept;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool there = nodes[i] >= 0 && !fleet_.node(nodes[i]).stale;
    const auto outcome = there ? fleet_.promise(nodes[i], members[i], kNoExpiry)
                               : failure(Errc::kNotFound, "it is not nominated");
    if (outcome && std::holds_alternative<topology::Decision>(*outcome)) {
      kept.push_back(members[i].id);
    } else {
      free.push_back(i);
    }
  }
  if (!members.empty() && free.empty()) return std::nullopt;
  for (;;) {
    Gang rest;
    for (const std::size_t i : free) rest.push_back(members[i]);
    const auto outcome = plan_gang(fleet_, rest, {.steps = limits_.plan_steps, .among = &among});
    const auto* plan = std::get_if<GangPlan>(&outcome);
    if (plan != nullptr && promise_gang(fleet_, rest, *plan, kNoExpiry)) {
      for (std::size_t i = 0; i < free.size(); ++i) nodes[free[i]] = plan->placements[i].node;
      return std::nullopt;
    }
    if (kept.empty()) {
      if (plan == nullptr) return std::get<GangRefusal>(outcome);
      // One owner: the fleet is as it was when it was planned.
      GangRefusal refusal;
      refusal.text = "the plan of its gang does not hold";
      return refusal;
    }
    for (const auto id : std::exchange(kept, {})) fleet_.release(id);
    free.resize(members.size());
    std::iota(free.begin(), free.end(), std::size_t{0});
  }
}

std::optional<GangRefusal> Gangs::plan(const std::string& key, GangState& gang,
                                       const topology::Request& like, std::size_t need,
                                       std::vector<NodeIndex> among) {
  std::erase_if(among, [](NodeIndex node) { return node < 0; });
  Gang members = missing(gang, like, need);
  share_out(key, gang, members);
  std::vector<NodeIndex> nodes = nominations(gang, members);
  // Of the one who asks it is known whether the scheduler would still take it there.
  if (need > 0 && std::find(among.begin(), among.end(), nodes.front()) == among.end()) {
    nodes.front() = -1;
  }
  if (auto refusal = keep(members, among, nodes)) return refusal;
  std::map<std::string, const GangMember*> by_request;
  for (const auto& [uid, member] : gang.members) by_request[member.request.id] = &member;
  for (std::size_t i = 0; i < members.size(); ++i) {
    gang.places.push_back({.request = members[i],
                           .node = fleet_.node(nodes[i]).name,
                           .member = by_request.at(members[i].id)->pod});
  }
  ++counters_.planned;
  std::vector<const Place*> made;
  for (auto place = gang.places.end() - static_cast<std::ptrdiff_t>(members.size());
       place != gang.places.end(); ++place) {
    made.push_back(&*place);
  }
  tell(GangNews::Kind::kPlanned, key, made, {});
  return std::nullopt;
}

void Gangs::tell(GangNews::Kind kind, const std::string& key,
                 const std::vector<const Place*>& places, const std::string& why) {
  std::set<std::string_view> nodes;
  for (const Place* place : places) nodes.insert(place->node);
  news_.push_back(
      {.kind = kind, .gang = key, .why = why, .places = places.size(), .nodes = nodes.size()});
}

void Gangs::take_back(const std::string& key, GangState& gang, const std::string& why) {
  if (!planned(gang)) return;
  ++counters_.given_up;
  std::vector<const Place*> taken;
  for (const Place& place : gang.places) {
    if (!place.fixed()) taken.push_back(&place);
  }
  tell(GangNews::Kind::kGivenUp, key, taken, why);
  release_if(
      gang, [](const Place& place) { return !place.fixed(); }, why);
  gang.held_ms = 0;
}

void Gangs::release_if(GangState& gang, const std::function<bool(const Place&)>& which,
                       const std::string& why) {
  std::erase_if(gang.places, [&](const Place& place) {
    if (!which(place)) return false;
    fleet_.release(place.request.id);
    if (place.state == Place::State::kHeld) answered_.push_back({place.ticket, false, why});
    return true;
  });
}

void Gangs::describe(GangState& gang, const Demand& demand) {
  gang.size = demand.size;
  gang.groups = demand.groups;
}

bool Gangs::known(const PodRef& pod, const Demand& demand) {
  GangState& gang = gangs_[demand.gang];
  if (gang.size == 0) describe(gang, demand);
  const bool before = gang.complete();
  gang.members.try_emplace(
      pod.uid, GangMember{.pod = pod, .request = demand.requests.front(), .nominated = {}});
  return !before && gang.complete();
}

void Gangs::nominated(const std::string& gang, const std::string& uid, const std::string& node) {
  gangs_.at(gang).members.at(uid).nominated = node;
}

void Gangs::found_bound(const PodRef& pod, const Demand& demand, const std::string& node,
                        bool by_us) {
  known(pod, demand);
  GangState& gang = gangs_[demand.gang];
  gang.started = gang.started || by_us;
  if (Place* place = place_of(gang, pod.uid); place != nullptr && place->fixed()) {
    place->state = Place::State::kBound;
    return;
  }
  // Somebody else has bound it, or a binding that we gave up has landed after all.
  take_back(demand.gang, gang, "a member of its gang was bound meanwhile");
  gang.places.push_back({.state = Place::State::kBound,
                         .request = demand.requests.front(),
                         .node = node,
                         .member = pod});
}

bool Gangs::among(const std::vector<NodeIndex>& nodes, const Place& place) const {
  return std::find(nodes.begin(), nodes.end(), fleet_.find(place.node)) != nodes.end();
}

// The place that the member has; nullptr: none.
Place* Gangs::asked_again(GangState& gang, const PodRef& pod) {
  Place* place = place_of(gang, pod.uid);
  if (place != nullptr && place->state == Place::State::kHeld) {
    // The scheduler has given that call up, and asks anew.
    answered_.push_back({place->ticket, false, "asked again meanwhile"});
    place->state = Place::State::kTaken;
    place->ticket = 0;
  }
  return place;
}

// A plan for the member and the others of `need` that are missing.
Gangs::Offer Gangs::offer_new(const PodRef& pod, const Demand& demand,
                              const std::vector<NodeIndex>& nodes, std::size_t need) {
  GangState& gang = gangs_[demand.gang];
  if (const auto refusal = plan(demand.gang, gang, demand.requests.front(), need, nodes)) {
    ++counters_.refused;
    return {.node = {}, .text = refusal->text, .never = refusal->reason == GangReason::kNever};
  }
  Place* place = place_of(gang, pod.uid);
  place->offered = true;
  return {.node = place->node, .text = {}};
}

// The scheduler does not take the member where it was planned: its node was cordoned, or lacks
// something that the scheduler alone counts, be it because others of the gang are there. Those for
// whom it does take their places keep them, if the others then find some; else nobody does.
Gangs::Offer Gangs::offer_elsewhere(const PodRef& pod, const Demand& demand,
                                    const std::vector<NodeIndex>& nodes) {
  const std::string why = "the scheduler does not take a member of its gang where it was planned";
  GangState& gang = gangs_[demand.gang];
  release_if(
      gang,
      [&](const Place& place) {
        return !place.fixed() && (!place.offered || place.member.uid == pod.uid);
      },
      why);
  const auto size = static_cast<std::size_t>(gang.size);
  const std::size_t rest = gang.started ? 1 : size - std::min(size, gang.places.size());
  auto offer = offer_new(pod, demand, nodes, rest);
  if (offer.node.empty()) take_back(demand.gang, gang, why);
  return offer;
}

Gangs::Offer Gangs::offer(const PodRef& pod, const Demand& demand,
                          const std::vector<NodeIndex>& nodes, Sight sight, std::int64_t now_ms) {
  const std::string& key = demand.gang;
  GangState& gang = gangs_[key];
  gang.asked_ms = now_ms;
  if (gang.size != demand.size || gang.groups != demand.groups) {
    take_back(key, gang, "the size of its gang has changed");
    describe(gang, demand);
  }
  if (!stands(gang)) take_back(key, gang, "a node of its gang's plan is not there any more");
  if (!gang.complete()) {
    return {.node = {},
            .text = of(gang.members.size(), gang.size) + " pods of its gang exist",
            .never = true};
  }
  if (Place* place = asked_again(gang, pod)) {
    place->offered = place->fixed() || among(nodes, *place);
    // Another node than the nominated one is asked about next, in the same cycle.
    if (place->offered || sight == Sight::kNominated) return {.node = place->node, .text = {}};
    if (sight == Sight::kSample && place->nominated_ms == 0) {
      place->nominated_ms = now_ms;
      return {.node = place->node, .text = {}, .nominate = true};
    }
    if (sight == Sight::kSample && now_ms - place->nominated_ms < kNominationMs) {
      return {.node = place->node, .text = {}};
    }
    return offer_elsewhere(pod, demand, nodes);
  }
  if (!gang.started) {
    const auto room = static_cast<std::size_t>(gang.size);
    if (gang.places.size() >= room) {
      return {.node = {},
              .text = "its gang has all of its " + std::to_string(gang.size) + " that start first",
              .never = true};
    }
    take_back(key, gang, "its gang is planned anew");
  }
  return offer_new(pod, demand, nodes, needed(gang));
}

// Whether all of its bind calls may be held beside those that are or will be.
bool Gangs::may_hold(const GangState& gang) const {
  auto held = static_cast<std::size_t>(gang.size);
  for (const auto& [key, other] : gangs_) {
    if (other.held_ms != 0) held += static_cast<std::size_t>(other.size);
  }
  return held <= limits_.held;
}

// All that were held go, and the one that came last.
BindAnswer Gangs::let_go(const std::string& key, GangState& gang, Ticket own) {
  std::vector<const Place*> gone;
  for (Place& place : gang.places) {
    if (place.state != Place::State::kHeld) continue;
    if (place.ticket != own) answered_.push_back({place.ticket, true, {}});
    place.state = Place::State::kBinding;
    place.ticket = 0;
    gone.push_back(&place);
  }
  gang.held_ms = 0;
  if (!gang.started) {
    ++counters_.whole;
    tell(GangNews::Kind::kLetGo, key, gone, {});
  }
  gang.started = true;
  return {.kind = BindAnswer::Kind::kGo, .text = {}};
}

BindAnswer Gangs::bind(const std::string& key, const std::string& uid, const std::string& node,
                       Ticket ticket, std::int64_t now_ms) {
  const auto refuse = [](std::string text) {
    return BindAnswer{.kind = BindAnswer::Kind::kRefuse, .text = std::move(text)};
  };
  GangState& gang = gangs_[key];
  gang.asked_ms = now_ms;
  if (!stands(gang)) take_back(key, gang, "a node of its gang's plan is not there any more");
  Place* place = place_of(gang, uid);
  if (place == nullptr) return refuse("its gang has no places any more, it is planned anew");
  if (place->node != node) return refuse("its gang's plan has another node for it");
  if (place->fixed()) return refuse("its binding is under way");
  if (place->state == Place::State::kHeld) {
    answered_.push_back({place->ticket, false, "asked again meanwhile"});
  }
  if (!gang.started && gang.held_ms == 0) {
    if (!may_hold(gang)) return refuse("too many gangs are about to start, it has to try again");
    gang.held_ms = now_ms;
  }
  place->state = Place::State::kHeld;
  place->ticket = ticket;
  const std::size_t here = count(gang, Place::State::kHeld) + fixed(gang);
  if (!gang.started && here < static_cast<std::size_t>(gang.size)) {
    return {.kind = BindAnswer::Kind::kHold, .text = {}};
  }
  return let_go(key, gang, ticket);
}

void Gangs::bound(const std::string& key, const std::string& uid, bool done, std::int64_t now_ms) {
  const auto gang = gangs_.find(key);
  if (gang == gangs_.end()) return;
  Place* place = place_of(gang->second, uid);
  if (place == nullptr || place->state != Place::State::kBinding) return;
  gang->second.asked_ms = now_ms;
  place->state = done ? Place::State::kBound : Place::State::kTaken;
  if (done) fleet_.extend(place->request.id, now_ms + limits_.confirm_ms);
}

void Gangs::resize(const std::string& key, int size) {
  const auto found = gangs_.find(key);
  if (found == gangs_.end() || found->second.size == size) return;
  take_back(key, found->second, "the size of its gang has changed");
  found->second.size = size;
}

void Gangs::gone(const std::string& key, const std::string& uid) {
  const auto found = gangs_.find(key);
  if (found == gangs_.end()) return;
  GangState& gang = found->second;
  if (place_of(gang, uid) != nullptr) {
    // Another one will come in its place: what is not bound yet is planned anew with it.
    take_back(key, gang, "a member of its gang is gone");
    // What the agent has confirmed, its next report takes away.
    std::erase_if(gang.places, [&](const Place& each) {
      if (each.member.uid != uid) return false;
      fleet_.release(each.request.id);
      return true;
    });
  }
  gang.members.erase(uid);
  if (!gang.members.empty()) return;
  take_back(key, gang, "its gang is gone");
  gangs_.erase(found);
}

void Gangs::complete(std::int64_t now_ms) {
  std::vector<NodeIndex> nodes;
  for (const auto& [name, node] : fleet_.by_name()) nodes.push_back(node);
  for (auto& entry : gangs_) {
    GangState& gang = entry.second;
    const auto size = static_cast<std::size_t>(gang.size);
    const std::size_t bound = fixed(gang);
    if (bound == 0 || bound >= size || planned(gang) || !gang.complete()) continue;
    std::vector<const GangMember*> waiting;
    for (const auto& [uid, member] : gang.members) {
      if (place_of(gang, uid) == nullptr) waiting.push_back(&member);
    }
    // Else the others have ended, and nobody has come in their place.
    if (waiting.empty()) continue;
    gang.asked_ms = now_ms;
    const std::size_t need = gang.started ? std::min(waiting.size(), size - bound) : size - bound;
    if (plan(entry.first, gang, waiting.front()->request, need, nodes)) ++counters_.refused;
  }
}

void Gangs::tick(std::int64_t now_ms) {
  for (auto& [key, gang] : gangs_) {
    if (gang.held_ms != 0 && now_ms - gang.held_ms >= limits_.hold_ms) {
      take_back(key, gang,
                of(count(gang, Place::State::kHeld) + fixed(gang), gang.size) +
                    " members of its gang came within " + std::to_string(limits_.hold_ms / 1000) +
                    " s");
    } else if (now_ms - gang.asked_ms >= limits_.keep_ms) {
      take_back(key, gang, "nobody has asked for its gang");
    }
  }
}

bool Gangs::would_fit(const std::string& key) const {
  const auto found = gangs_.find(key);
  if (found == gangs_.end() || !found->second.complete()) return false;
  if (planned(found->second)) return true;
  Gang members = missing(found->second, {}, needed(found->second));
  share_out(key, found->second, members);
  return !members.empty() &&
         std::holds_alternative<GangPlan>(plan_gang(fleet_, members, {.steps = 0}));
}

// Node by node, as many as each takes: for members that are alike as exact as a plan.
bool Gangs::would_fit_with(const Demand& demand,
                           const std::map<NodeIndex, topology::Ledger>& ledgers) const {
  const auto found = gangs_.find(demand.gang);
  if (found == gangs_.end() || !found->second.complete()) return false;
  Gang rest = missing(found->second, demand.requests.front(), needed(found->second));
  for (NodeIndex node = 0; node < fleet_.size() && !rest.empty(); ++node) {
    const FleetNode& there = fleet_.node(node);
    if (there.name.empty() || there.stale) continue;
    const auto freed = ledgers.find(node);
    if (freed == ledgers.end() && !fleet_.may_fit(node, rest.front())) continue;
    topology::Ledger ledger = freed == ledgers.end() ? there.ledger : freed->second;
    std::erase_if(rest, [&](const topology::Request& request) {
      auto outcome = topology::allocate(there.topology(), ledger, request);
      auto* decision = std::get_if<topology::Decision>(&outcome);
      if (decision != nullptr) ledger.commit(std::move(decision->claim));
      return decision != nullptr;
    });
  }
  return rest.empty();
}

const Place* Gangs::place_of(const std::string& key, const std::string& uid) const {
  const auto found = gangs_.find(key);
  if (found == gangs_.end()) return nullptr;
  const auto& places = found->second.places;
  const auto place = std::find_if(places.begin(), places.end(),
                                  [&](const Place& each) { return each.member.uid == uid; });
  return place == places.end() ? nullptr : &*place;
}

void Gangs::refuse_held(const std::string& why) {
  for (auto& [key, gang] : gangs_) {
    if (gang.held_ms != 0) take_back(key, gang, why);
  }
}

}  // namespace pinion::cluster
