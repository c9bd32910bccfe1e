#include "extender/desk/desk.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "extender/hole_text.h"

namespace pinion::extender {
namespace {

constexpr std::int64_t kFirstPauseMs = 1000;
constexpr std::int64_t kLongestPauseMs = 60'000;
// What one tick looks at, so that it never holds up a question for long: refused pods, a gang as
// much as it has members.
constexpr int kLooksPerTick = 64;

constexpr std::uint8_t kPasses = 0;
constexpr const char* kPlanned = "pinion.dev/planned";  // what a pod is told with its binding
// The promise of a pod that the API server says is bound ends with the pod, or with its agent's
// report.
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

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

topology::Ledger without(topology::Ledger ledger, const std::vector<std::string>& uids) {
  for (const auto& uid : uids) {
    const std::string prefix = claim_id(uid, "");
    std::vector<std::string> ids;
    for (auto claim = ledger.claims().lower_bound(prefix);
         claim != ledger.claims().end() && claim->first.starts_with(prefix); ++claim) {
      ids.push_back(claim->first);
    }
    for (const auto& id : ids) ledger.release(id);
  }
  return ledger;
}

// kube-scheduler looks at the nominated node alone first, and else at all nodes until it has found
// 100 or more that it would take (minFeasibleNodesToFind of its schedule_one.go).
Sight sight_of(const Pod& pod, const std::vector<std::string_view>& nodes) {
  constexpr std::size_t fewest = 100;
  if (nodes.size() == 1 && nodes.front() == pod.nominated) return Sight::kNominated;
  return nodes.size() < fewest ? Sight::kAll : Sight::kSample;
}

// Whether the machine would give all of them their CPUs, one beside the other.
bool grants_all(const FleetNode& node, topology::Ledger ledger,
                const std::vector<topology::Request>& requests) {
  const auto outcomes = topology::plan(node.topology(), std::move(ledger), requests).outcomes;
  return std::all_of(outcomes.begin(), outcomes.end(), [](const topology::Outcome& outcome) {
    return std::holds_alternative<topology::Decision>(outcome);
  });
}

// One request as large as all of them: what it needs of one domain is there for each after the
// others, wherever those go. nullopt: they differ in more than their size.
std::optional<topology::Request> together(const std::vector<topology::Request>& requests) {
  topology::Request whole = requests.front();
  const auto kind = [](const topology::Request& one) {
    return std::tie(one.align, one.strength, one.smt, one.memory_policy);
  };
  for (std::size_t i = 1; i < requests.size(); ++i) {
    if (kind(requests[i]) != kind(whole) || requests[i].use_isolated != whole.use_isolated ||
        requests[i].cpus > topology::CpuSet::kCapacity || !requests[i].near_device.empty() ||
        whole.memory + requests[i].memory < whole.memory) {
      return std::nullopt;
    }
    whole.cpus += requests[i].cpus;
    whole.memory += requests[i].memory;
  }
  return whole;
}

}  // namespace

Desk::Known* Desk::know(const Pod& pod, Demand demand) {
  const auto found = pods_.find(pod.uid);
  if (found != pods_.end()) {
    // Its requests do not change while it waits; its gang's size may, and the gang itself. Of one
    // whose PodGroup is away it stays a member.
    Known& known = found->second;
    if (known.node.empty() && demand.kind != Demand::Kind::kWaiting) {
      if (known.demand.gang != demand.gang && !known.demand.gang.empty()) {
        gangs_.gone(known.demand.gang, pod.uid);
      }
      known.demand = std::move(demand);
    }
    return &known;
  }
  if (pods_.size() >= limits_.pods) return nullptr;
  return &pods_
              .emplace(pod.uid, Known{.pod = ref_of(pod),
                                      .demand = std::move(demand),
                                      .priority = pod.priority,
                                      .node = {},
                                      .late_group = {}})
              .first->second;
}

// Known by a question. Precondition: it is not turned away.
const Desk::Known& Desk::asked(const Pod& pod, Demand demand, std::int64_t now_ms) {
  Known& known = *know(pod, std::move(demand));
  if (known.asked_ms == 0 && !known.told) untold_.emplace_back(pod.uid, now_ms);
  known.asked_ms = now_ms;
  return known;
}

Demand Desk::demand_of(const Pod& pod) const {
  return extender::demand_of(pod, defaults_, groups_);
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
  for (const auto& [uid, waiting] : waiting_) {
    if (waiting.group == key) effects_.wake.push_back(waiting.pod);
  }
  const auto bound = groupless_.find(key);
  if (bound == groupless_.end()) return;
  for (const std::string& uid : bound->second) {
    Known& known = pods_.find(uid)->second;  // all of them exist, see forget()
    known.late_group.clear();
    if (known.demand.requests.size() != 1) continue;
    known.demand.kind = Demand::Kind::kMember;
    known.demand.gang = gang_of_group(key);
    known.demand.size = *groups_.size(key);
    gangs_.found_bound(known.pod, known.demand, known.node, known.by_us);
  }
  groupless_.erase(bound);
}

bool Desk::fits(NodeIndex node, const std::vector<topology::Request>& requests) const {
  if (requests.size() == 1) return fleet_.fits(node, requests.front());
  const FleetNode& there = fleet_.node(node);
  if (there.stale) return false;
  const auto surely = [&](const auto& request) { return fleet_.surely_fits(node, request); };
  const auto whole = together(requests);
  if (whole && surely(*whole) && std::all_of(requests.begin(), requests.end(), surely)) return true;
  return grants_all(there, there.ledger, requests);
}

// Why nothing is decided about the pod; an empty text: it is.
FilterAnswer::Text Desk::turned_away(const Pod& pod, const Demand& demand) const {
  if (demand.kind == Demand::Kind::kRefused) return {.text = demand.text, .hopeless = true};
  if (gone_.contains(pod.uid)) return {.text = "the pod is no more", .hopeless = true};
  const auto known = pods_.find(pod.uid);
  if (known != pods_.end() && known->second.bound) {
    return {.text = "the pod is bound already", .hopeless = true};
  }
  if (known == pods_.end() && pods_.size() >= limits_.pods) {
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
    wait(ref_of(pod), demand.text, now_ms);
    waiting_.at(pod.uid).group = group_key(pod);
    asked(pod, std::move(demand), now_ms);
    return answer;
  }
  const Known& known = asked(pod, std::move(demand), now_ms);
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
    wait(ref_of(pod), answer.why, now_ms);
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
  const auto& requests = demand.requests;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeIndex node = nodes[i];
    if (node < 0) {
      answer.verdict[i] = kNoAgent;
    } else if (fleet_.node(node).stale) {
      answer.verdict[i] = kSilent;
    } else if (!fleet_.may_fit(node, requests.front()) || !fits(node, requests)) {
      const bool ever = std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
        return fleet_.fits_idle(node, request);
      });
      answer.verdict[i] = ever ? kFull : kSmall;
    }
  }
}

void Desk::filter_member(const Pod& pod, const Demand& demand, const std::vector<NodeIndex>& nodes,
                         const std::vector<std::string_view>& names, std::int64_t now_ms,
                         FilterAnswer& answer) {
  const auto offer = gangs_.offer(ref_of(pod), demand, nodes, sight_of(pod, names), now_ms);
  if (offer.node.empty()) {
    refuse_all(answer, offer.text, offer.never);
    return;
  }
  refuse_all(answer, "the plan of its gang has another node for it", true);
  const auto planned = std::find(names.begin(), names.end(), offer.node);
  if (planned == names.end()) {
    if (offer.nominate) {
      effects_.nominations.push_back({.pod = ref_of(pod), .node = offer.node});
    }
    return;
  }
  answer.verdict[static_cast<std::size_t>(planned - names.begin())] = kPasses;
}

std::vector<int> Desk::scores(const std::string& uid,
                              const std::vector<std::string_view>& nodes) const {
  std::vector<int> scores(nodes.size(), 0);
  const auto known = pods_.find(uid);
  if (known == pods_.end() || known->second.demand.requests.empty()) return scores;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeIndex node = fleet_.find(nodes[i]);
    if (node >= 0) scores[i] = fleet_.hole_score(node, known->second.demand.requests.front());
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

void Desk::release(const Known& known) {
  for (const auto& request : known.demand.requests) fleet_.release(request.id);
  freed_ = true;
}

BindAnswer Desk::bind(const std::string& uid, const std::string& node, Ticket ticket,
                      std::int64_t now_ms) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return {};
  Known& known = found->second;
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
    wait(known.pod, why, now_ms);
    return {.kind = BindAnswer::Kind::kRefuse, .text = std::move(why)};
  }
  moved(known, node);
  return {.kind = BindAnswer::Kind::kGo, .text = {}};
}

std::map<std::string, std::string> Desk::told_with_binding(const std::string& uid) const {
  std::map<std::string, std::string> told;
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return told;
  const Known& known = found->second;
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
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  Known& known = found->second;
  if (known.demand.kind == Demand::Kind::kMember) {
    gangs_.bound(known.demand.gang, uid, done, now_ms);
    const Place* place = gangs_.place_of(known.demand.gang, uid);
    if (done && place != nullptr) moved(known, place->node);
    return;
  }
  if (done) return;
  release(known);
  moved(known, {});
}

std::vector<Eviction> Desk::preempt(const Pod& pod, std::vector<Eviction> proposals) {
  const Demand demand = demand_of(pod);
  if (demand.kind == Demand::Kind::kNone) return proposals;
  if (demand.requests.empty()) return {};  // no room would help it
  const auto freed = without_ended(pod, proposals);
  if (!freed.empty() && fits_with(demand, freed)) proposals.clear();
  std::erase_if(proposals, [&](const Eviction& eviction) {
    const NodeIndex index = fleet_.find(eviction.node);
    if (index < 0 || fleet_.node(index).stale) return true;
    const FleetNode& node = fleet_.node(index);
    return !grants_all(node, without(node.ledger, eviction.victims), demand.requests);
  });
  // Nobody is to go for a gang that would lack room all the same.
  if (!proposals.empty() && demand.kind == Demand::Kind::kMember &&
      !fits_with(demand, without_lower(pod.priority))) {
    proposals.clear();
  }
  if (proposals.empty() && !freed.empty()) early_.insert(pod.uid);
  return proposals;
}

// On one of these nodes, or of a member the whole gang on all nodes.
bool Desk::fits_with(const Demand& demand,
                     const std::map<NodeIndex, topology::Ledger>& ledgers) const {
  if (demand.kind == Demand::Kind::kMember) {
    return gangs_.would_fit_with(demand, ledgers);
  }
  return std::any_of(ledgers.begin(), ledgers.end(), [&](const auto& entry) {
    return grants_all(fleet_.node(entry.first), entry.second, demand.requests);
  });
}

// The nodes in question that have containers of deleted pods, as they will be when their agents
// have told that those are gone: else more pods would be evicted in the moment between.
std::map<NodeIndex, topology::Ledger> Desk::without_ended(
    const Pod& pod, const std::vector<Eviction>& proposals) const {
  std::set<NodeIndex> nodes{fleet_.find(pod.nominated)};
  for (const Eviction& eviction : proposals) nodes.insert(fleet_.find(eviction.node));
  std::map<NodeIndex, topology::Ledger> ledgers;
  for (const NodeIndex index : nodes) {
    if (index < 0 || fleet_.node(index).stale) continue;
    const topology::Ledger& ledger = fleet_.node(index).ledger;
    std::vector<std::string> ended;
    for (const auto& [id, claim] : ledger.claims()) {
      const std::string_view uid = pod_of_claim(id);
      if (gone_.contains(uid)) ended.emplace_back(uid);
    }
    if (!ended.empty()) ledgers.emplace(index, without(ledger, ended));
  }
  return ledgers;
}

// The nodes that have pods of a lower priority, as they would be without them.
std::map<NodeIndex, topology::Ledger> Desk::without_lower(std::int32_t priority) const {
  std::map<NodeIndex, topology::Ledger> ledgers;
  for (const auto& [name, uids] : residents_) {
    const NodeIndex node = fleet_.find(name);
    if (node < 0) continue;
    std::vector<std::string> lower;
    for (const auto& uid : uids) {
      if (pods_.find(uid)->second.priority < priority) lower.push_back(uid);
    }
    if (!lower.empty()) ledgers.emplace(node, without(fleet_.node(node).ledger, lower));
  }
  return ledgers;
}

bool Desk::seen(const Pod& pod) {
  if (pod.over) {
    gone(pod.uid);
    return true;
  }
  Demand demand = demand_of(pod);
  if (demand.kind == Demand::Kind::kNone) note_other(pod);
  const bool late_group = demand.kind == Demand::Kind::kWaiting && !pod.node.empty();
  if (late_group) demand = extender::demand_of(pod, defaults_);
  if (demand.requests.empty() && demand.kind != Demand::Kind::kWaiting) return true;
  Known* known = know(pod, std::move(demand));
  if (known == nullptr) return true;
  known->told = true;
  if (late_group && known->demand.kind == Demand::Kind::kSingle) {
    known->late_group = group_key(pod);
    groupless_[known->late_group].insert(pod.uid);
  }
  const bool member = known->demand.kind == Demand::Kind::kMember;
  if (pod.node.empty()) {
    if (member) gangs_.known(ref_of(pod), known->demand);
    return true;
  }
  waiting_.erase(pod.uid);
  known->bound = true;
  known->by_us = pod.annotations.contains(kPlanned);
  if (member) gangs_.found_bound(ref_of(pod), known->demand, pod.node, known->by_us);
  moved(*known, pod.node);
  for (const auto& request : known->demand.requests) fleet_.extend(request.id, kNoEnd);
  return fleet_.find(pod.node) < 0 || promise(pod.node, known->demand, kNoEnd);
}

void Desk::moved(Known& known, const std::string& node) {
  if (known.node == node) return;
  if (const auto there = residents_.find(known.node); there != residents_.end()) {
    placed_ -= there->second.erase(known.pod.uid);
    if (there->second.empty()) residents_.erase(there);
  }
  if (!node.empty() && residents_[node].insert(known.pod.uid).second) ++placed_;
  known.node = node;
}

// What is there and the report does not name is promised before anybody else is given its room. Of
// who is not told of, only when the node comes: such a pod may have ended.
void Desk::settle(const std::string& node, bool fresh, std::int64_t now_ms) {
  const auto there = residents_.find(node);
  if (there == residents_.end()) return;
  for (const std::string& uid : there->second) {
    const Known& known = pods_.find(uid)->second;  // all of them exist, see moved()
    if (!known.told && !fresh) continue;
    promise(node, known.demand, known.told ? kNoEnd : now_ms + limits_.confirm_ms);
  }
}

// An init container runs on CPUs that are promised to its pod for those that come after it: the
// promise stays and speaks for both.
void Desk::drop_lent(NodeReport& report) const {
  const NodeIndex node = fleet_.find(report.name);
  if (node < 0) return;
  std::erase_if(report.claims, [&](const topology::Claim& claim) {
    const auto pod = pods_.find(pod_of_claim(claim.id));
    if (pod == pods_.end()) return false;
    const Demand& demand = pod->second.demand;
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
  forget(uid);
}

// Bound, and its agent names it, or may do so at any moment.
bool Desk::may_run(const Known& known) const {
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
    const auto found = pods_.find(uid);
    if (found == pods_.end() || found->second.told) continue;
    if (now_ms - found->second.asked_ms < limits_.confirm_ms || may_run(found->second)) {
      untold_.emplace_back(uid, now_ms);
    } else {
      forget(uid);
    }
  }
}

void Desk::forget(const std::string& uid) {
  waiting_.erase(uid);
  groups_.gone(uid);
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  if (found->second.demand.kind == Demand::Kind::kMember) {
    gangs_.gone(found->second.demand.gang, uid);
  }
  moved(found->second, {});
  if (const auto late = groupless_.find(found->second.late_group); late != groupless_.end()) {
    late->second.erase(uid);
    if (late->second.empty()) groupless_.erase(late);
  }
  release(found->second);
  pods_.erase(found);
}

Result<std::vector<LostPromise>> Desk::report(NodeReport report, std::int64_t now_ms) {
  freed_ = true;
  const std::string node = report.name;
  const bool fresh = fleet_.find(node) < 0;
  drop_lent(report);
  auto lost = fleet_.report(std::move(report), now_ms);
  if (lost) settle(node, fresh, now_ms);
  for (const std::string& uid : std::exchange(early_, {})) {
    const auto waiting = waiting_.find(uid);
    if (waiting != waiting_.end()) effects_.wake.push_back(waiting->second.pod);
  }
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
}

void Desk::wait(const PodRef& pod, const std::string& why, std::int64_t now_ms) {
  const auto entry = waiting_
                         .try_emplace(pod.uid, Waiting{.pod = pod,
                                                       .why = {},
                                                       .group = {},
                                                       .since_ms = now_ms,
                                                       .pause_ms = kFirstPauseMs})
                         .first;
  entry->second.why = why;
  entry->second.group.clear();
  entry->second.again_ms = std::max(entry->second.again_ms, now_ms);
}

bool Desk::fits_somewhere(const Demand& demand) const {
  if (demand.kind == Demand::Kind::kMember) return gangs_.would_fit(demand.gang);
  if (demand.requests.size() == 1) return fleet_.best_node(demand.requests.front()) >= 0;
  for (NodeIndex node = 0; node < fleet_.size(); ++node) {
    if (!fleet_.node(node).name.empty() && fits(node, demand.requests)) return true;
  }
  return false;
}

// Of the refused, those that would fit now are touched; each again only after a pause that doubles,
// for the scheduler may have reasons of its own to refuse them.
void Desk::wake(std::int64_t now_ms) {
  std::map<std::string, bool> answers;  // by gang, or by uid
  freed_ = false;
  auto entry = waiting_.upper_bound(looked_at_);
  for (int looks = 0; looks < kLooksPerTick; ++looks, ++entry) {
    if (entry == waiting_.end()) {
      looked_at_.clear();
      return;
    }
    looked_at_ = entry->first;
    if (!entry->second.group.empty()) continue;  // group() wakes it
    if (entry->second.again_ms > now_ms) {
      freed_ = true;  // it is to be looked at later
      continue;
    }
    const Demand& demand = pods_.find(entry->first)->second.demand;  // all of them are known
    // All members of a gang have one answer; a pod by itself has no gang's name.
    const auto [answer, fresh] =
        answers.try_emplace(demand.gang.empty() ? entry->first : demand.gang, false);
    if (fresh) {
      answer->second = fits_somewhere(demand);
      looks += std::max(0, demand.size - 1);
    }
    if (!answer->second) continue;
    Waiting& waiting = entry->second;
    effects_.wake.push_back(waiting.pod);
    waiting.again_ms = now_ms + waiting.pause_ms;
    waiting.pause_ms = std::min(2 * waiting.pause_ms, kLongestPauseMs);
  }
  freed_ = true;  // the rest, the next time
}

void Desk::tick(std::int64_t now_ms) {
  gangs_.tick(now_ms);
  if (std::exchange(given_up_, gangs_.counters().given_up) != gangs_.counters().given_up) {
    freed_ = true;
  }
  if (!fleet_.expire(now_ms).empty()) freed_ = true;
  forget_untold(now_ms);
  if (freed_ && !waiting_.empty()) wake(now_ms);
}

Effects Desk::take_effects() {
  effects_.answered = gangs_.take_answered();
  effects_.news = gangs_.take_news();
  return std::exchange(effects_, {});
}

}  // namespace pinion::extender
