#include "cluster/extender/desk/desk.h"

#include <algorithm>

#include "cluster/core/fit_together.h"
#include "cluster/core/hole_text.h"

namespace pinion::cluster {
namespace {

constexpr std::uint8_t kPasses = 0;
constexpr const char* kPlanned = "pinion.dev/planned";  // what a pod is told with its binding

// All get this text.
void refuse_all(FilterAnswer& answer, std::string text, bool hopeless) {
  answer.texts.push_back({.text = std::move(text), .hopeless = hopeless});
  std::fill(answer.verdict.begin(), answer.verdict.end(),
            static_cast<std::uint8_t>(answer.texts.size()));
}

std::string needs_text(const std::vector<topology::Request>& requests) {
  std::string text = "needs ";
  for (std::size_t i = 0; i < requests.size(); ++i) {
    text += (i == 0 ? "" : " and beside it ") + hole_text(requests[i]);
  }
  return text;
}

// What most nodes were refused with; the first one of equals.
std::string most_said(const FilterAnswer& answer) {
  if (answer.verdict.empty()) return "the scheduler has offered no node";
  std::vector<std::size_t> said(answer.texts.size() + 1);
  for (const std::uint8_t verdict : answer.verdict) ++said[verdict];
  const auto most = std::max_element(said.begin() + 1, said.end());
  return answer.texts[static_cast<std::size_t>(most - said.begin()) - 1].text;
}

// kube-scheduler looks at the nominated node alone first, and else at all nodes until it has found
// 100 or more that it would take (minFeasibleNodesToFind of its schedule_one.go).
Sight sight_of(const Pod& pod, const std::vector<std::string_view>& nodes) {
  constexpr std::size_t fewest = 100;
  if (nodes.size() == 1 && nodes.front() == pod.nominated) return Sight::kNominated;
  return nodes.size() < fewest ? Sight::kAll : Sight::kSample;
}

}  // namespace

KnownPod* Desk::know(const Pod& pod, Demand demand) {
  if (KnownPod* known = roster_.find(pod.uid); known != nullptr) {
    // Its requests do not change while it waits; its gang's size may, and the gang itself. Of one
    // whose PodGroup is away it stays a member.
    if (known->node.empty() && demand.kind != Demand::Kind::kWaiting) {
      if (known->demand.gang != demand.gang && !known->demand.gang.empty()) {
        gangs_.gone(known->demand.gang, pod.uid);
      }
      known->demand = std::move(demand);
    }
    return known;
  }
  if (roster_.size() >= limits_.pods) return nullptr;
  return &roster_.add({.pod = ref_of(pod),
                       .demand = std::move(demand),
                       .priority = pod.priority,
                       .node = {},
                       .late_group = {}});
}

// Known by a question. Precondition: it is not turned away.
const KnownPod& Desk::asked(const Pod& pod, Demand demand, std::int64_t now_ms) {
  KnownPod& known = *know(pod, std::move(demand));
  if (known.asked_ms == 0 && !known.told) untold_.emplace_back(pod.uid, now_ms);
  known.asked_ms = now_ms;
  return known;
}

Demand Desk::demand_of(const Pod& pod) const {
  return cluster::demand_of(pod, defaults_, groups_);
}

// A member without cores. It is not counted when the scheduler asks about it, but when the API
// server tells of it, which tells of its end, too.
void Desk::note_other(const Pod& pod) {
  if (pod.group.empty()) return;
  if (groups_.other(group_key(pod), pod.uid)) regroup(group_key(pod));
}

void Desk::regroup(const std::string& key) {
  if (const auto size = groups_.size(key)) gangs_.resize(gang_of_group(key), *size);
  freed_ = true;
}

void Desk::group(const std::string& key, std::int64_t members) {
  groups_.set(key, members);
  regroup(key);
  for (PodRef& pod : waiting_.of_group(key)) effects_.wake.push_back(std::move(pod));
  const auto bound = groupless_.find(key);
  if (bound == groupless_.end()) return;
  for (const std::string& uid : bound->second) {
    KnownPod& known = *roster_.find(uid);  // all of them exist, see forget()
    known.late_group.clear();
    if (known.demand.requests.size() != 1) continue;
    known.demand.kind = Demand::Kind::kMember;
    known.demand.gang = gang_of_group(key);
    known.demand.size = *groups_.size(key);
    gangs_.found_bound(known.pod, known.demand, known.node, known.by_us);
  }
  groupless_.erase(bound);
}

// Why nothing is decided about the pod; an empty text: it is.
FilterAnswer::Text Desk::turned_away(const Pod& pod, const Demand& demand) const {
  if (demand.kind == Demand::Kind::kRefused) return {.text = demand.text, .hopeless = true};
  if (gone_.contains(pod.uid)) return {.text = "the pod is no more", .hopeless = true};
  const KnownPod* known = roster_.find(pod.uid);
  if (known != nullptr && known->bound) {
    return {.text = "the pod is bound already", .hopeless = true};
  }
  if (known == nullptr && roster_.size() >= limits_.pods) {
    return {.text = "Pinion's extender knows too many pods", .hopeless = false};
  }
  return {};
}

FilterAnswer Desk::filter(const Pod& pod, const std::vector<std::string_view>& nodes,
                          std::int64_t now_ms) {
  FilterAnswer answer;
  answer.verdict.assign(nodes.size(), kPasses);
  Demand demand = demand_of(pod);
  if (demand.kind == Demand::Kind::kNone) return answer;
  answer.ours = true;
  if (auto [why, hopeless] = turned_away(pod, demand); !why.empty()) {
    answer.why = why;
    refuse_all(answer, std::move(why), hopeless);
    return answer;
  }
  if (demand.kind == Demand::Kind::kWaiting) {
    answer.why = demand.text;
    refuse_all(answer, demand.text, true);
    waiting_.add(ref_of(pod), demand.text, group_key(pod), now_ms);
    asked(pod, std::move(demand), now_ms);
    return answer;
  }
  const KnownPod& known = asked(pod, std::move(demand), now_ms);
  std::vector<NodeIndex> indices;
  indices.reserve(nodes.size());
  for (const auto& name : nodes) indices.push_back(fleet_.find(name));
  if (known.demand.kind == Demand::Kind::kMember) {
    filter_member(pod, known.demand, indices, nodes, now_ms, answer);
  } else {
    filter_single(known.demand, indices, answer);
  }
  const bool refused =
      std::find(answer.verdict.begin(), answer.verdict.end(), kPasses) == answer.verdict.end();
  if (refused) {
    answer.why = most_said(answer);
    waiting_.add(ref_of(pod), answer.why, {}, now_ms);
  } else {
    waiting_.erase(pod.uid);
  }
  return answer;
}

void Desk::filter_single(const Demand& demand, const std::vector<NodeIndex>& nodes,
                         FilterAnswer& answer) const {
  const std::string needs = needs_text(demand.requests);
  answer.texts = {{.text = needs, .hopeless = false},
                  {.text = needs + ", more than the node has", .hopeless = true},
                  {.text = "no Pinion agent speaks for the node", .hopeless = true},
                  {.text = "the node's Pinion agent is silent", .hopeless = true}};
  enum : std::uint8_t { kFull = 1, kSmall, kNoAgent, kSilent };
  const Together together(fleet_, demand.requests);
  const auto why_not = [&](NodeIndex node) {
    if (fleet_.node(node).stale) return kSilent;
    const bool ever =
        std::all_of(demand.requests.begin(), demand.requests.end(),
                    [&](const auto& request) { return fleet_.fits_idle(node, request); });
    return ever ? kFull : kSmall;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] < 0) {
      answer.verdict[i] = kNoAgent;
    } else if (!together.fit(nodes[i])) {
      answer.verdict[i] = why_not(nodes[i]);
    }
  }
}

void Desk::filter_member(const Pod& pod, const Demand& demand, const std::vector<NodeIndex>& nodes,
                         const std::vector<std::string_view>& names, std::int64_t now_ms,
                         FilterAnswer& answer) {
  if (gangs_.known(ref_of(pod), demand)) wake_gang(demand.gang, pod.uid);
  // Else the question may be older.
  if (!pod.nominated.empty()) gangs_.nominated(demand.gang, pod.uid, pod.nominated);
  const auto offer = gangs_.offer(ref_of(pod), demand, nodes, sight_of(pod, names), now_ms);
  if (offer.node.empty()) {
    refuse_all(answer, offer.text, offer.never);
    const NodeIndex node = offer.never ? -1 : preemption_.reserve(pod, demand, nodes, now_ms);
    if (node >= 0) {
      effects_.nominations.push_back({.pod = ref_of(pod),
                                      .node = fleet_.node(node).name,
                                      .why = "others of its gang have to be given room"});
    }
    return;
  }
  refuse_all(answer, "the plan of its gang has another node for it", true);
  const auto planned = std::find(names.begin(), names.end(), offer.node);
  if (planned == names.end()) {
    if (offer.nominate) {
      effects_.nominations.push_back({.pod = ref_of(pod),
                                      .node = offer.node,
                                      .why = "the scheduler did not offer the planned node"});
    }
    return;
  }
  answer.verdict[static_cast<std::size_t>(planned - names.begin())] = kPasses;
}

std::vector<int> Desk::scores(const std::string& uid,
                              const std::vector<std::string_view>& nodes) const {
  std::vector<int> scores(nodes.size(), 0);
  const KnownPod* known = roster_.find(uid);
  if (known == nullptr || known->demand.requests.empty()) return scores;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeIndex node = fleet_.find(nodes[i]);
    if (node >= 0) scores[i] = fleet_.hole_score(node, known->demand.requests.front());
  }
  return scores;
}

// All of its containers that have no cores yet, or none.
bool Desk::promise(const std::string& node, const Demand& demand, std::int64_t expires_ms) {
  std::vector<std::string_view> done;
  for (const auto& request : demand.requests) {
    if (fleet_.knows(request.id)) continue;
    const auto outcome = fleet_.promise(fleet_.find(node), request, expires_ms);
    if (outcome && std::holds_alternative<topology::Decision>(*outcome)) {
      done.push_back(request.id);
      continue;
    }
    for (const auto id : done) fleet_.release(id);
    return false;
  }
  return true;
}

void Desk::release(const KnownPod& known) {
  for (const auto& request : known.demand.requests) fleet_.release(request.id);
  freed_ = true;
}

BindAnswer Desk::bind(const std::string& uid, const std::string& node, Ticket ticket,
                      std::int64_t now_ms) {
  KnownPod* found = roster_.find(uid);
  if (found == nullptr) return {};
  KnownPod& known = *found;
  if (known.demand.kind == Demand::Kind::kMember) {
    return gangs_.bind(known.demand.gang, uid, node, ticket, now_ms);
  }
  if (known.demand.kind == Demand::Kind::kWaiting) {
    return {.kind = BindAnswer::Kind::kRefuse, .text = known.demand.text};
  }
  if (!known.node.empty()) {
    return {.kind = BindAnswer::Kind::kRefuse, .text = "its binding is under way"};
  }
  if (!promise(node, known.demand, now_ms + limits_.confirm_ms)) {
    std::string why = needs_text(known.demand.requests) + ", taken meanwhile";
    waiting_.add(known.pod, why, {}, now_ms);
    return {.kind = BindAnswer::Kind::kRefuse, .text = std::move(why)};
  }
  roster_.move(known, node);
  return {.kind = BindAnswer::Kind::kGo, .text = {}};
}

std::map<std::string, std::string> Desk::told_with_binding(const std::string& uid) const {
  std::map<std::string, std::string> told;
  const KnownPod* found = roster_.find(uid);
  if (found == nullptr) return told;
  const KnownPod& known = *found;
  const Place* place = gangs_.place_of(known.demand.gang, uid);
  const NodeIndex node = fleet_.find(place != nullptr ? place->node : known.node);
  if (node < 0) return told;
  std::string planned;
  const auto tell = [&](const std::string& id, const std::string& on) {
    const topology::Claim* claim = fleet_.node(node).ledger.find(on);
    if (claim == nullptr) return;
    const std::string container = id.substr(claim_id(uid, "").size());
    planned += (planned.empty() ? "" : " ") + container + "=" + claim->cpus.to_string();
  };
  const auto& requests = known.demand.requests;
  for (const auto& request : requests) tell(request.id, request.id);
  for (const auto& init : known.demand.inits) {
    const std::string& host = requests[known.demand.host].id;
    if (init != host) tell(init, host);
  }
  if (!planned.empty()) told[kPlanned] = planned;
  const bool grouped = place != nullptr && !place->request.task_group.empty();
  if (grouped) told["pinion.dev/task-group"] = place->request.task_group;
  return told;
}

void Desk::bound(const std::string& uid, bool done, std::int64_t now_ms) {
  KnownPod* found = roster_.find(uid);
  if (found == nullptr) return;
  KnownPod& known = *found;
  if (known.demand.kind == Demand::Kind::kMember) {
    gangs_.bound(known.demand.gang, uid, done, now_ms);
    const Place* place = gangs_.place_of(known.demand.gang, uid);
    if (done && place != nullptr) roster_.move(known, place->node);
    return;
  }
  if (done) return;
  release(known);
  roster_.move(known, {});
}

std::vector<Eviction> Desk::preempt(const Pod& pod, std::vector<Eviction> proposals,
                                    std::int64_t now_ms) {
  Demand demand = demand_of(pod);
  if (demand.kind == Demand::Kind::kNone) return proposals;
  if (demand.requests.empty() || !turned_away(pod, demand).text.empty()) return {};
  const KnownPod& known = asked(pod, std::move(demand), now_ms);
  return preemption_.judge(pod, known.demand, std::move(proposals), now_ms);
}

bool Desk::seen(const Pod& pod) {
  if (pod.over) {
    gone(pod.uid);
    return true;
  }
  Demand demand = demand_of(pod);
  if (demand.kind == Demand::Kind::kNone) note_other(pod);
  const bool late_group = demand.kind == Demand::Kind::kWaiting && !pod.node.empty();
  if (late_group) demand = cluster::demand_of(pod, defaults_);
  if (demand.requests.empty() && demand.kind != Demand::Kind::kWaiting) return true;
  KnownPod* known = know(pod, std::move(demand));
  if (known == nullptr) return true;
  known->told = true;
  if (late_group && known->demand.kind == Demand::Kind::kSingle) {
    known->late_group = group_key(pod);
    groupless_[known->late_group].insert(pod.uid);
  }
  const bool member = known->demand.kind == Demand::Kind::kMember;
  if (pod.node.empty()) {
    if (member) {
      if (gangs_.known(ref_of(pod), known->demand)) wake_gang(known->demand.gang, {});
      gangs_.nominated(known->demand.gang, pod.uid, pod.nominated);
    }
    if (!pod.nominated.empty()) preemption_.nominated(pod.uid, pod.nominated);
    return true;
  }
  waiting_.erase(pod.uid);
  preemption_.forget(pod.uid);
  known->bound = true;
  known->by_us = pod.annotations.contains(kPlanned);
  if (member) gangs_.found_bound(ref_of(pod), known->demand, pod.node, known->by_us);
  roster_.move(*known, pod.node);
  for (const auto& request : known->demand.requests) fleet_.extend(request.id, kNoExpiry);
  return fleet_.find(pod.node) < 0 || promise(pod.node, known->demand, kNoExpiry);
}

// What is there and the report does not name is promised before anybody else is given its room. Of
// who is not told of, only when the node comes: such a pod may have ended.
void Desk::settle(const std::string& node, bool fresh, std::int64_t now_ms) {
  const auto there = roster_.residents().find(node);
  if (there == roster_.residents().end()) return;
  for (const std::string& uid : there->second) {
    const KnownPod& known = *roster_.find(uid);
    if (!known.told && !fresh) continue;
    promise(node, known.demand, known.told ? kNoExpiry : now_ms + limits_.confirm_ms);
  }
}

// An init container runs on CPUs that are promised to its pod for those that come after it: the
// promise stays and speaks for both.
void Desk::drop_lent(NodeReport& report) const {
  const NodeIndex node = fleet_.find(report.name);
  if (node < 0) return;
  std::erase_if(report.claims, [&](const topology::Claim& claim) {
    const KnownPod* pod = roster_.find(pod_of_claim(claim.id));
    if (pod == nullptr) return false;
    const Demand& demand = pod->demand;
    const auto& inits = demand.inits;
    if (std::find(inits.begin(), inits.end(), claim.id) == inits.end()) return false;
    const std::string& host = demand.requests[demand.host].id;
    if (host == claim.id || !fleet_.promised(host)) return false;
    const topology::Claim* promised = fleet_.node(node).ledger.find(host);
    return promised != nullptr && claim.cpus.is_subset_of(promised->cpus);
  });
}

void Desk::gone(const std::string& uid) {
  gone_.add(uid);
  const KnownPod* known = roster_.find(uid);
  const std::string node = known == nullptr ? "" : known->node;
  forget(uid);
  preemption_.deleted(uid, node);
}

// Bound, and its agent names it, or may do so at any moment.
bool Desk::may_run(const KnownPod& known) const {
  const Place* place = gangs_.place_of(known.demand.gang, known.pod.uid);
  const bool bound = place != nullptr ? place->fixed() : !known.node.empty();
  return bound && fleet_.knows(known.demand.requests.front().id);
}

// A pod that came and went while the watch was away is never told of: it is known by the question
// about it alone, and by its agent while it runs.
void Desk::forget_untold(std::int64_t now_ms) {
  for (; !untold_.empty() && now_ms - untold_.front().second >= limits_.confirm_ms;
       untold_.pop_front()) {
    const std::string& uid = untold_.front().first;
    const KnownPod* known = roster_.find(uid);
    if (known == nullptr || known->told) continue;
    if (now_ms - known->asked_ms < limits_.confirm_ms || may_run(*known)) {
      untold_.emplace_back(uid, now_ms);
    } else {
      forget(uid);
    }
  }
}

void Desk::forget(const std::string& uid) {
  waiting_.erase(uid);
  preemption_.forget(uid);
  groups_.gone(uid);
  const KnownPod* known = roster_.find(uid);
  if (known == nullptr) return;
  if (known->demand.kind == Demand::Kind::kMember) gangs_.gone(known->demand.gang, uid);
  if (const auto late = groupless_.find(known->late_group); late != groupless_.end()) {
    late->second.erase(uid);
    if (late->second.empty()) groupless_.erase(late);
  }
  release(*known);
  roster_.erase(uid);
}

Result<std::vector<LostPromise>> Desk::report(NodeReport report, std::int64_t now_ms) {
  freed_ = true;
  const std::string node = report.name;
  const bool fresh = fleet_.find(node) < 0;
  drop_lent(report);
  for (topology::Claim& claim : report.claims) {
    // Agents know jobs by name; here they are told apart by their owners.
    const KnownPod* pod = roster_.find(pod_of_claim(claim.id));
    claim.job = pod == nullptr || pod->demand.requests.empty() ? std::string()
                                                               : pod->demand.requests.front().job;
  }
  auto lost = fleet_.report(std::move(report), now_ms);
  if (lost) {
    preemption_.reported(node);
    settle(node, fresh, now_ms);
  }
  wake_early(true, now_ms);
  return lost;
}

bool Desk::heard(std::string_view node, std::int64_t now_ms) {
  const NodeIndex index = fleet_.find(node);
  if (index < 0) return false;
  freed_ = freed_ || fleet_.node(index).stale;
  fleet_.heard(index, now_ms);
  return true;
}

void Desk::measured(std::string_view node, MissRates rates) {
  const NodeIndex index = fleet_.find(node);
  if (index >= 0) fleet_.measured(index, std::move(rates));
}

void Desk::lost(std::string_view node) {
  fleet_.remove(node);
  preemption_.reported(std::string(node));
}

bool Desk::fits_somewhere(const Demand& demand) const {
  if (demand.kind == Demand::Kind::kMember) return gangs_.would_fit(demand.gang);
  if (demand.requests.size() == 1) return fleet_.best_node(demand.requests.front()) >= 0;
  const Together together(fleet_, demand.requests);
  for (NodeIndex node = 0; node < fleet_.size(); ++node) {
    if (together.fit(node)) return true;
  }
  return false;
}

// Of the refused, those that would fit now. All members of a gang have one answer.
void Desk::wake(std::int64_t now_ms) {
  std::map<std::string, bool> answers;  // by gang
  freed_ = waiting_.look(
      now_ms,
      [&](const std::string& uid) -> WaitingPods::Look {
        const Demand& demand = roster_.find(uid)->demand;  // all of them are known
        if (demand.gang.empty()) return {.fits = fits_somewhere(demand)};
        const auto [answer, fresh] = answers.try_emplace(demand.gang, false);
        if (!fresh) return {.fits = answer->second};
        answer->second = fits_somewhere(demand);
        return {.fits = answer->second, .cost = std::max(1, demand.size)};
      },
      effects_.wake);
}

void Desk::wake_early(bool reported, std::int64_t now_ms) {
  for (const std::string& uid : preemption_.take_early(reported, now_ms)) {
    effects_.wake.push_back(roster_.find(uid)->pod);  // all of them are known
  }
}

// All of it exist now: those that were refused meanwhile are to be asked about, but `uid`.
void Desk::wake_gang(const std::string& gang, const std::string& uid) {
  for (const auto& [other, member] : gangs_.all().at(gang).members) {
    if (other != uid && waiting_.all().contains(other)) effects_.wake.push_back(member.pod);
  }
}

void Desk::tick(std::int64_t now_ms) {
  gangs_.tick(now_ms);
  if (std::exchange(given_up_, gangs_.counters().given_up) != gangs_.counters().given_up) {
    freed_ = true;
  }
  if (!fleet_.expire(now_ms).empty()) freed_ = true;
  forget_untold(now_ms);
  wake_early(false, now_ms);
  if (freed_ && !waiting_.all().empty()) wake(now_ms);
}

Effects Desk::take_effects() {
  effects_.answered = gangs_.take_answered();
  effects_.news = gangs_.take_news();
  return std::exchange(effects_, {});
}

}  // namespace pinion::cluster
