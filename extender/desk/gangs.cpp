#include "extender/desk/gangs.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace pinion::extender {
namespace {

// Places without a binding have their end from keep_ms, not from the fleet.
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

// Whether a place that was planned for one may be the other's.
bool alike(const topology::Request& planned, const topology::Request& request) {
  return same_shape(planned, request) &&
         (request.task_group.empty() || planned.task_group == request.task_group);
}

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

// All that must start together have: who comes now is placed by itself.
bool started(const GangState& gang) {
  return gang.open && fixed(gang) >= static_cast<std::size_t>(gang.size);
}

}  // namespace

Place* Gangs::place_of(GangState& gang, const std::string& uid) {
  const auto found = std::find_if(gang.places.begin(), gang.places.end(), [&](const Place& place) {
    return place.state != Place::State::kFree && place.member.uid == uid;
  });
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

// What is to be planned: the known members without a place, and as many more like `like` as the
// gang says it has; one, where it has started.
Gang Gangs::missing(const std::string& key, const GangState& gang,
                    const topology::Request& like) const {
  const auto size = static_cast<std::size_t>(gang.size);
  const std::size_t need = started(gang) ? 1 : size - std::min(size, fixed(gang));
  Gang members;
  if (need == 0) return members;
  if (!like.id.empty()) members.push_back(like);
  std::set<std::string> placed;
  for (const Place& place : gang.places) placed.insert(place.member.uid);
  for (const auto& [uid, member] : gang.members) {
    if (members.size() == need) break;
    if (member.request.id == like.id || placed.contains(uid)) continue;
    if (!fleet_.knows(member.request.id)) members.push_back(member.request);
  }
  for (int i = 0; members.size() < need; ++i) {
    topology::Request unseen = like.id.empty() ? gang.members.begin()->second.request : like;
    unseen.id = key + "#" + std::to_string(i);
    if (gang.groups > 0) unseen.task_group.clear();  // one of its own
    unseen.preferred = {};
    if (!fleet_.knows(unseen.id)) members.push_back(std::move(unseen));
  }
  return members;
}

// Members that are of no task group yet join the one that requests fewest CPUs so far
// (task_groups.h), those counted that are bound already.
void Gangs::share_out(const std::string& job, const GangState& gang, Gang& members) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(gang.groups));
  for (int i = 0; i < gang.groups; ++i) names.push_back(job + "-" + std::to_string(i));
  std::map<std::string, int> cpus;
  for (const Place& place : gang.places) cpus[place.request.task_group] += place.request.cpus;
  for (const auto& member : members) cpus[member.task_group] += member.cpus;
  for (auto& member : members) {
    if (!member.task_group.empty() || names.empty()) continue;
    member.task_group = *std::min_element(
        names.begin(), names.end(),
        [&](const std::string& a, const std::string& b) { return cpus[a] < cpus[b]; });
    cpus[member.task_group] += member.cpus;
  }
}

std::optional<GangRefusal> Gangs::plan(const std::string& key, GangState& gang,
                                       const topology::Request& like,
                                       std::vector<NodeIndex> among) {
  std::erase_if(among, [](NodeIndex node) { return node < 0; });
  Gang members = missing(key, gang, like);
  share_out(like.job, gang, members);
  const auto outcome = plan_gang(fleet_, members, {.steps = limits_.plan_steps, .among = &among});
  if (const auto* refusal = std::get_if<GangRefusal>(&outcome)) return *refusal;
  const auto& plan = std::get<GangPlan>(outcome);
  if (!promise_gang(fleet_, members, plan, kNoEnd)) {
    // One owner: the fleet is as it was when it was planned.
    GangRefusal refusal;
    refusal.text = "the plan of its gang does not hold";
    return refusal;
  }
  std::map<std::string, const GangMember*> by_request;
  for (const auto& [uid, member] : gang.members) by_request[member.request.id] = &member;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto known = by_request.find(members[i].id);
    gang.places.push_back(
        {.state = known == by_request.end() ? Place::State::kFree : Place::State::kTaken,
         .request = members[i],
         .node = fleet_.node(plan.placements[i].node).name,
         .member = known == by_request.end() ? PodRef() : known->second->pod});
  }
  ++counters_.planned;
  return std::nullopt;
}

// The member that has come gets a place that was kept for one like it.
bool Gangs::take(GangState& gang, Place& place, const PodRef& pod, topology::Request request) {
  fleet_.release(place.request.id);
  request.task_group = place.request.task_group;
  const auto outcome = fleet_.promise(fleet_.find(place.node), request, kNoEnd);
  if (!outcome || !std::holds_alternative<topology::Decision>(*outcome)) {
    take_back(gang, "the plan of its gang does not hold");
    return false;
  }
  place.request = std::move(request);
  place.member = pod;
  place.state = Place::State::kTaken;
  return true;
}

void Gangs::take_back(GangState& gang, const std::string& why) {
  if (!planned(gang)) return;
  ++counters_.given_up;
  for (const Place& place : gang.places) {
    if (place.fixed()) continue;
    fleet_.release(place.request.id);
    if (place.state == Place::State::kHeld) answered_.push_back({place.ticket, false, why});
  }
  std::erase_if(gang.places, [](const Place& place) { return !place.fixed(); });
  gang.held_ms = 0;
}

void Gangs::describe(GangState& gang, const Demand& demand) {
  gang.size = demand.size;
  gang.groups = demand.groups;
  gang.open = demand.open;
}

void Gangs::known(const PodRef& pod, const Demand& demand) {
  GangState& gang = gangs_[demand.gang];
  if (gang.size == 0) describe(gang, demand);
  gang.members.try_emplace(pod.uid, GangMember{.pod = pod, .request = demand.requests.front()});
}

void Gangs::found_bound(const PodRef& pod, const Demand& demand, const std::string& node) {
  known(pod, demand);
  GangState& gang = gangs_[demand.gang];
  if (Place* place = place_of(gang, pod.uid); place != nullptr && place->fixed()) {
    place->state = Place::State::kBound;
    return;
  }
  // Somebody else has bound it, or a binding that we gave up has landed after all.
  take_back(gang, "a member of its gang was bound meanwhile");
  gang.places.push_back({.state = Place::State::kBound,
                         .request = demand.requests.front(),
                         .node = node,
                         .member = pod});
}

Gangs::Offer Gangs::offer(const PodRef& pod, const Demand& demand,
                          const std::vector<NodeIndex>& nodes, std::int64_t now_ms) {
  known(pod, demand);
  GangState& gang = gangs_[demand.gang];
  gang.asked_ms = now_ms;
  if (gang.size != demand.size || gang.groups != demand.groups) {
    take_back(gang, "the size of its gang has changed");
    describe(gang, demand);
  }
  if (!stands(gang)) take_back(gang, "a node of its gang's plan is not there any more");
  Place* place = place_of(gang, pod.uid);
  if (place != nullptr) {
    if (place->state == Place::State::kHeld) {
      // The scheduler has given that call up, and asks anew.
      answered_.push_back({place->ticket, false, "asked again meanwhile"});
      place->state = Place::State::kTaken;
      place->ticket = 0;
    }
    return {.node = place->node, .text = {}};
  }
  const auto& request = demand.requests.front();
  const auto kept = std::find_if(gang.places.begin(), gang.places.end(), [&](const Place& free) {
    return free.state == Place::State::kFree && alike(free.request, request);
  });
  if (kept != gang.places.end() && take(gang, *kept, pod, request)) {
    return {.node = kept->node, .text = {}};
  }
  if (!started(gang)) {
    const auto room = static_cast<std::size_t>(gang.size);
    if (fixed(gang) >= room ||
        (gang.places.size() >= room && count(gang, Place::State::kFree) == 0)) {
      return {.node = {},
              .text = "its gang has all of its " + std::to_string(gang.size) + " members" +
                      (gang.open ? " that start first" : "")};
    }
    take_back(gang, "a member of its gang is not like the others");
  }
  if (const auto refusal = plan(demand.gang, gang, request, nodes)) {
    ++counters_.refused;
    return {.node = {}, .text = refusal->text, .never = refusal->reason == GangReason::kNever};
  }
  return {.node = place_of(gang, pod.uid)->node, .text = {}};
}

// All that were held go, and the one that came last.
BindAnswer Gangs::let_go(GangState& gang, Ticket own) {
  for (Place& place : gang.places) {
    if (place.state != Place::State::kHeld) continue;
    if (place.ticket != own) answered_.push_back({place.ticket, true, {}});
    place.state = Place::State::kBinding;
    place.ticket = 0;
  }
  gang.held_ms = 0;
  ++counters_.whole;
  return {.kind = BindAnswer::Kind::kGo, .text = {}};
}

BindAnswer Gangs::bind(const std::string& key, const std::string& uid, const std::string& node,
                       Ticket ticket, std::int64_t now_ms) {
  const auto refuse = [](std::string text) {
    return BindAnswer{.kind = BindAnswer::Kind::kRefuse, .text = std::move(text)};
  };
  GangState& gang = gangs_[key];
  gang.asked_ms = now_ms;
  if (!stands(gang)) take_back(gang, "a node of its gang's plan is not there any more");
  Place* place = place_of(gang, uid);
  if (place == nullptr) return refuse("its gang has no places any more, it is planned anew");
  if (place->node != node) return refuse("its gang's plan has another node for it");
  if (place->fixed()) return refuse("its binding is under way");
  if (place->state == Place::State::kHeld) {
    answered_.push_back({place->ticket, false, "asked again meanwhile"});
  }
  place->state = Place::State::kHeld;
  place->ticket = ticket;
  if (gang.held_ms == 0) gang.held_ms = now_ms;
  const std::size_t here = count(gang, Place::State::kHeld) + fixed(gang);
  if (here < static_cast<std::size_t>(gang.size)) {
    return {.kind = BindAnswer::Kind::kHold, .text = {}};
  }
  return let_go(gang, ticket);
}

void Gangs::bound(const std::string& key, const std::string& uid, bool done, std::int64_t now_ms) {
  const auto gang = gangs_.find(key);
  if (gang == gangs_.end()) return;
  Place* place = place_of(gang->second, uid);
  if (place == nullptr || place->state != Place::State::kBinding) return;
  gang->second.asked_ms = now_ms;
  place->state = done ? Place::State::kBound : Place::State::kTaken;
  if (done) {
    fleet_.extend(place->request.id, now_ms + limits_.confirm_ms);
  } else if (gang->second.places.size() < static_cast<std::size_t>(gang->second.size)) {
    take_back(gang->second, "a member of its gang is gone");
  }
}

void Gangs::resize(const std::string& key, int size) {
  const auto found = gangs_.find(key);
  if (found == gangs_.end() || found->second.size == size) return;
  take_back(found->second, "the size of its gang has changed");
  found->second.size = size;
}

void Gangs::gone(const std::string& key, const std::string& uid) {
  const auto found = gangs_.find(key);
  if (found == gangs_.end()) return;
  GangState& gang = found->second;
  if (place_of(gang, uid) != nullptr) {
    // Another one will come in its place: what is not bound yet is planned anew with it.
    take_back(gang, "a member of its gang is gone");
    // What the agent has confirmed, its next report takes away.
    std::erase_if(gang.places, [&](const Place& each) {
      if (each.member.uid != uid) return false;
      fleet_.release(each.request.id);
      return true;
    });
  }
  gang.members.erase(uid);
  if (!gang.members.empty()) return;
  take_back(gang, "its gang is gone");
  gangs_.erase(found);
}

void Gangs::complete(std::int64_t now_ms) {
  std::vector<NodeIndex> nodes;
  for (const auto& [name, node] : fleet_.by_name()) nodes.push_back(node);
  for (auto& entry : gangs_) {
    GangState& gang = entry.second;
    const std::size_t bound = fixed(gang);
    if (bound == 0 || bound >= static_cast<std::size_t>(gang.size) || planned(gang)) continue;
    const auto waits =
        std::find_if(gang.members.begin(), gang.members.end(),
                     [&](const auto& member) { return place_of(gang, member.first) == nullptr; });
    // Else the others have ended, and nobody has come in their place.
    if (waits == gang.members.end()) continue;
    gang.asked_ms = now_ms;
    if (plan(entry.first, gang, waits->second.request, nodes)) ++counters_.refused;
  }
}

void Gangs::tick(std::int64_t now_ms) {
  for (auto& [key, gang] : gangs_) {
    if (gang.held_ms != 0 && now_ms - gang.held_ms >= limits_.hold_ms) {
      take_back(gang, of(count(gang, Place::State::kHeld) + fixed(gang), gang.size) +
                          " members of its gang came within " +
                          std::to_string(limits_.hold_ms / 1000) + " s");
    } else if (now_ms - gang.asked_ms >= limits_.keep_ms) {
      take_back(gang, "nobody has asked for its gang");
    }
  }
}

bool Gangs::would_fit(const std::string& key) const {
  const auto found = gangs_.find(key);
  if (found == gangs_.end() || found->second.members.empty()) return false;
  if (planned(found->second)) return true;
  Gang members = missing(key, found->second, {});
  if (!members.empty()) share_out(members.front().job, found->second, members);
  return !members.empty() &&
         std::holds_alternative<GangPlan>(plan_gang(fleet_, members, {.steps = 0}));
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
    if (gang.held_ms != 0) take_back(gang, why);
  }
}

}  // namespace pinion::extender
