#include "cluster/extender/scheduling/pod_scheduler.h"

#include <algorithm>
#include <optional>

#include "cluster/core/hole_text.h"
#include "cluster/core/node_score.h"
#include "cluster/core/pod_fit.h"
#include "cluster/extender/scheduling/pod_scheduler_parts.h"
#include "policy/annotations.h"

namespace pinion::cluster {
namespace {

constexpr std::uint8_t kPasses = 0;

bool contains(const std::vector<NodeIndex>& nodes, NodeIndex node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

std::vector<NodeIndex> known_of(std::vector<NodeIndex> nodes) {
  std::erase_if(nodes, [](NodeIndex node) { return node < 0; });
  return nodes;
}

BindAnswer refusal(std::string text) {
  return {.kind = BindAnswer::Kind::kRefuse, .text = std::move(text)};
}

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
AskedNodes asked_nodes(const Pod& pod, const std::vector<std::string_view>& nodes) {
  constexpr std::size_t fewest = 100;
  if (nodes.size() == 1 && nodes.front() == pod.nominated) return AskedNodes::kNominated;
  return nodes.size() < fewest ? AskedNodes::kAll : AskedNodes::kSample;
}

}  // namespace

// Why nothing is decided about the pod; an empty text: it is.
FilterAnswer::Text PodScheduler::turned_away(const Pod& pod, const Demand& demand) const {
  if (demand.kind == Demand::Kind::kRefused) return {.text = demand.text, .hopeless = true};
  if (gone_.contains(pod.uid)) return {.text = kGone, .hopeless = true};
  const KnownPod* known = cache_.find(pod.uid);
  if (known != nullptr && known->bound) return {.text = kBound, .hopeless = true};
  if (known == nullptr && cache_.size() >= limits_.pods) {
    return {.text = "Pinion's extender knows too many pods", .hopeless = false};
  }
  return {};
}

FilterAnswer PodScheduler::filter(const Pod& pod, const std::vector<std::string_view>& nodes,
                                  std::int64_t now_ms) {
  FilterAnswer answer;
  answer.verdict.assign(nodes.size(), kPasses);
  Demand demand = demand_of(pod);
  if (demand.kind == Demand::Kind::kNone) {
    const bool apart = !limits_.scheduler.colocation.services_beside;
    if (demand.service && apart) keep_from_jobs(nodes, answer);
    return answer;
  }
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
  gates_.erase(pod.uid);  // or the scheduler would not ask
  const bool was_known = cache_.find(pod.uid) != nullptr;
  KnownPod& known = asked(pod, std::move(demand), now_ms);
  std::vector<NodeIndex> indices;
  indices.reserve(nodes.size());
  for (const auto& name : nodes) indices.push_back(fleet().find(name));
  if (known.demand.kind == Demand::Kind::kMember) {
    if (!was_known) wake_gang(known.demand.gang, pod.uid);
    filter_member(pod, known, indices, asked_nodes(pod, nodes), now_ms, answer);
  } else {
    filter_single(known, indices, asked_nodes(pod, nodes), now_ms, answer);
  }
  heed();
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

// The scheduler chooses among all nodes that have room. Where none has, more urgent pods get what
// others merely have reserved, and room may be held for this one.
void PodScheduler::filter_single(const KnownPod& known, const std::vector<NodeIndex>& nodes,
                                 AskedNodes which, std::int64_t now_ms, FilterAnswer& answer) {
  const std::string& uid = known.pod.uid;
  if (book().member(uid)->fixed()) {
    // The answer to its binding was lost, or is under way: it is there, or will be.
    refuse_all(answer, "its binding to another node is under way", true);
    const NodeIndex there = fleet().find(book().member(uid)->node);
    const auto position = std::find(nodes.begin(), nodes.end(), there);
    if (there >= 0 && position != nodes.end()) {
      answer.verdict[static_cast<std::size_t>(position - nodes.begin())] = kPasses;
    }
    return;
  }
  scheduler_.withdraw(job_of(known), "asked again", now_ms);
  scheduler_.see_as(uid, now_ms, [&] { judge_nodes(known, nodes, answer); });
  const bool passes =
      std::find(answer.verdict.begin(), answer.verdict.end(), kPasses) != answer.verdict.end();
  const std::vector<NodeIndex> among = known_of(nodes);
  if (passes || among.empty() || which == AskedNodes::kNominated) return;
  if (!scheduler_.place_member(uid, &among, now_ms).placed) return;
  const NodeIndex node = fleet().find(book().member(uid)->node);
  const auto position = std::find(nodes.begin(), nodes.end(), node);
  answer.verdict[static_cast<std::size_t>(position - nodes.begin())] = kPasses;
}

// A service without CPUs of its own, where services have other nodes than HPC jobs: all the rest is
// the scheduler's business.
void PodScheduler::keep_from_jobs(const std::vector<std::string_view>& nodes,
                                  FilterAnswer& answer) const {
  answer.texts = {{.text = std::string(to_string(Unwelcome::kJobs)), .hopeless = true}};
  const MemberTerms terms{.service = true};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeIndex node = fleet().find(nodes[i]);
    if (node < 0 || fleet().unwelcome(node, terms) == Unwelcome::kNo) continue;
    answer.verdict[i] = 1;
    answer.ours = true;
  }
  const bool refused =
      std::find(answer.verdict.begin(), answer.verdict.end(), kPasses) == answer.verdict.end();
  if (refused && !nodes.empty()) answer.why = most_said(answer);
}

void PodScheduler::judge_nodes(const KnownPod& known, const std::vector<NodeIndex>& nodes,
                               FilterAnswer& answer) const {
  const Demand& demand = known.demand;
  const MemberTerms& terms = book().member(known.pod.uid)->terms;
  const std::string needs = needs_text(demand.requests);
  answer.texts = {
      {.text = needs + "; too few CPUs are free", .hopeless = false},
      {.text = needs + "; the CPUs are free, the memory is not", .hopeless = false},
      {.text = needs + ", more than the node has", .hopeless = true},
      {.text = "no Pinion agent speaks for the node", .hopeless = true},
      {.text = "the node's Pinion agent is silent or has lost its runtime", .hopeless = true}};
  enum : std::uint8_t {
    kFull = 1,
    kNoMemory,
    kSmall,
    kNoAgent,
    kSilent,
    kColocation,
    kLimit = kColocation + 3
  };
  for (const Unwelcome why : {Unwelcome::kOtherJob, Unwelcome::kJobs, Unwelcome::kServices}) {
    answer.texts.push_back({.text = std::string(to_string(why)), .hopeless = true});
  }
  answer.texts.push_back({.text = kNodeLimit, .hopeless = true});
  const auto only = scheduler_.kept_to(known.pod.uid);
  const PodFit fits(fleet(), demand.requests);
  const bool binds = std::any_of(demand.requests.begin(), demand.requests.end(), binds_memory);
  auto cpus_alone = binds ? demand.requests : std::vector<topology::Request>();
  for (auto& request : cpus_alone) request.memory = 0;
  std::optional<PodFit> has_cpus;
  if (binds) has_cpus.emplace(fleet(), cpus_alone);
  IdleFit idle(fleet(), demand.requests);
  // On all nodes of one verdict, as those are to have one text.
  std::vector<MostThere> there(3, MostThere(demand.requests));
  const MachineKind* looked_at = nullptr;
  const auto why_not = [&](NodeIndex index) -> std::uint8_t {
    const NodeDigest& digest = fleet().digest(index);
    if (!digest.usable) return kSilent;
    const FleetNode& node = fleet().node(index);
    if (!idle.fit(index)) {
      if (looked_at != node.kind.get()) there[kSmall - 1].look(node.kind->idle);
      looked_at = node.kind.get();
      return kSmall;
    }
    const auto why = has_cpus && has_cpus->fit(index) ? kNoMemory : kFull;
    there[why - 1U].look(digest, node.holes);
    return why;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] < 0) {
      answer.verdict[i] = kNoAgent;
    } else if (const Unwelcome why = fleet().unwelcome(nodes[i], terms); why != Unwelcome::kNo) {
      answer.verdict[i] = static_cast<std::uint8_t>(kColocation + static_cast<int>(why) - 1);
    } else if (only && !only->contains(nodes[i])) {
      answer.verdict[i] = kLimit;
    } else if (!fits.fit(nodes[i])) {
      answer.verdict[i] = why_not(nodes[i]);
    }
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    const std::string most = there[i].text();
    if (!most.empty()) answer.texts[i].text += ": " + most;
  }
}

void PodScheduler::filter_member(const Pod& pod, KnownPod& known,
                                 const std::vector<NodeIndex>& nodes, AskedNodes which,
                                 std::int64_t now_ms, FilterAnswer& answer) {
  const Demand& demand = known.demand;
  if (!pod.nominated.empty()) known.nominated = pod.nominated;  // else the question may be older
  // Whether the scheduler would still take it there is known of the one who asks.
  const NodeIndex nominated = known.nominated.empty() ? -1 : fleet().find(known.nominated);
  scheduler_.prefer(pod.uid, contains(nodes, nominated) ? known.nominated : std::string());
  if (demand.native) note_cycle(known, which, now_ms);
  const Offer offer = this->offer(pod, known, nodes, which, now_ms);
  if (offer.node.empty()) {
    refuse_all(answer, offer.text, offer.never);
    if (offer.never || demand.native) return;  // the scheduler evicts nobody for such a gang
    NodeIndex node = -1;
    scheduler_.see_as(pod.uid, now_ms,
                      [&] { node = preemption_.reserve(pod, demand, nodes, now_ms); });
    if (node >= 0) {
      effects_.nominations.push_back({.pod = ref_of(pod),
                                      .node = fleet().node(node).name,
                                      .why = "others of its gang have to be given room"});
    }
    return;
  }
  refuse_all(answer, "the plan of its gang has another node for it", true);
  const auto planned = std::find(nodes.begin(), nodes.end(), fleet().find(offer.node));
  if (planned != nodes.end()) {
    answer.verdict[static_cast<std::size_t>(planned - nodes.begin())] = kPasses;
  } else if (offer.nominate) {
    effects_.nominations.push_back({.pod = ref_of(pod),
                                    .node = offer.node,
                                    .why = "the scheduler did not offer the planned node"});
    if (demand.native) nominate_rest(known);
  }
}

// What the cycle before has left is given back before another one begins: the gang was not to
// start. Not when some are being bound: then it was.
void PodScheduler::note_cycle(const KnownPod& known, AskedNodes which, std::int64_t now_ms) {
  const Job& job = *book().find(known.demand.gang);
  if (job.started) return cycles_.end(job.id);
  if (cycles_.asked(job.id, known.pod.uid, which == AskedNodes::kNominated, now_ms)) return;
  if (job.fixed() == 0) scheduler_.withdraw(job.id, "the scheduler has given up its cycle", now_ms);
  heed();
}

// The cycle ends with the member that was not offered its node. In the next one it and those that
// come after it are looked at where they are planned.
void PodScheduler::nominate_rest(const KnownPod& known) {
  for (const auto& [uid, member] : book().find(known.demand.gang)->members) {
    const KnownPod& other = *cache_.find(uid);
    if (member.state != Member::State::kReserved || uid == known.pod.uid) continue;
    if (cycles_.has_asked(known.demand.gang, uid) || other.nominated == member.node) continue;
    effects_.nominations.push_back({.pod = other.pod,
                                    .node = member.node,
                                    .why = "the scheduler may not offer the planned node"});
  }
}

// Where the member may go, of the nodes that the scheduler would take it to.
PodScheduler::Offer PodScheduler::offer(const Pod& pod, KnownPod& known,
                                        const std::vector<NodeIndex>& nodes, AskedNodes which,
                                        std::int64_t now_ms) {
  const std::string& uid = known.pod.uid;
  const JobId gang = known.demand.gang;
  const Job& job = *book().find(gang);
  heed_spec(known, now_ms);
  if (!job.complete()) return {.node = {}, .text = why_incomplete(job), .never = true};
  const bool had = book().member(uid)->state != Member::State::kWaiting;
  const std::vector<NodeIndex> among = known_of(nodes);
  const PlaceAnswer answer = scheduler_.place_member(uid, &among, now_ms);
  heed();
  if (!answer.placed) {
    ++gang_counters_.refused;
    return {.node = {}, .text = answer.why, .never = answer.never};
  }
  const Member& member = *book().member(uid);
  // A call of it that is held the scheduler has given up.
  if (had) held_.refuse(gang, uid, "asked again meanwhile");
  const std::string node = member.node;
  if (!had || member.fixed() || contains(among, fleet().find(node))) {
    known.offered = node;
    return {.node = node, .text = {}};
  }
  // Another node than the nominated one is asked about next, in the same cycle.
  if (which == AskedNodes::kNominated) return {.node = node, .text = {}};
  // It is nominated there, and the scheduler goes on looking: it does not take it.
  const bool not_taken = pod.nominated == node;
  if (which == AskedNodes::kSample && known.missed != node && !not_taken) {
    known.missed = node;
    known.missed_ms = now_ms;
    return {.node = node, .text = {}, .nominate = true};
  }
  if (which == AskedNodes::kSample && now_ms - known.missed_ms < kNominationMs && !not_taken) {
    return {.node = node, .text = {}};
  }
  return offer_elsewhere(known, among, now_ms);
}

// The scheduler does not take the member where it was planned: its node was cordoned, or lacks
// something that the scheduler alone counts, be it because others of the gang are there. Those for
// whom it does take their places keep them, if the others then find some; else nobody does.
PodScheduler::Offer PodScheduler::offer_elsewhere(KnownPod& known,
                                                  const std::vector<NodeIndex>& nodes,
                                                  std::int64_t now_ms) {
  const std::string& uid = known.pod.uid;
  const Job& job = *book().job_of(uid);
  std::vector<MemberId> moved{uid};
  for (const auto& [other, member] : job.members) {
    if (job.started || member.state != Member::State::kReserved || other == uid) continue;
    if (cache_.find(other)->offered != member.node) moved.push_back(other);
  }
  const PlaceAnswer answer = scheduler_.place_anew(
      moved, &nodes, "the scheduler does not take a member of its gang where it was planned",
      now_ms);
  heed();
  if (!answer.placed) {
    follow_plan(job.id);  // nobody has a place any more, also where nobody else had one
    ++gang_counters_.refused;
    return {.node = {}, .text = answer.why, .never = answer.never};
  }
  known.offered = book().member(uid)->node;
  return {.node = known.offered, .text = {}};
}

std::vector<int> PodScheduler::scores(const Pod& pod,
                                      const std::vector<std::string_view>& nodes) const {
  std::vector<int> scores(nodes.size(), 0);
  const KnownPod* known = cache_.find(pod.uid);
  Demand shared;
  shared.service = is_service(pod);
  shared.classed = states_class(pod);
  const Demand& demand = known == nullptr ? shared : known->demand;
  if (demand.requests.empty() && !demand.service) return scores;
  NodeAsk ask{.milli_cpus = pod.requests.milli_cpus};
  const SchedulerSettings& settings = limits_.scheduler;
  // Of a pod that states no class nothing but a setting for services changes the score.
  if (demand.classed || (demand.service && settings.service_placement)) {
    ask.placement = placement_of(demand, settings).value_or(settings.placement_for(demand.service));
    ask.service = demand.service;
  }
  if (!demand.requests.empty()) {
    ask.request = &demand.requests.front();
    if (!demand.job.empty()) ask.own = fleet().nodes_of_job(ask.request->job);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeIndex node = fleet().find(nodes[i]);
    if (node >= 0) scores[i] = ask_score(fleet(), node, ask);
  }
  return scores;
}

BindAnswer PodScheduler::bind(const std::string& uid, const std::string& node, CallId call_id,
                              std::int64_t now_ms) {
  KnownPod* known = cache_.find(uid);
  if (known == nullptr) return {};
  if (known->demand.kind == Demand::Kind::kWaiting) return refusal(known->demand.text);
  const Member& member = *book().member(uid);
  // Nobody has told how its last binding ended: to make it again does no harm, on the same node.
  const bool lost = member.state == Member::State::kRunning && !known->bound && member.node == node;
  if (lost && scheduler_.still_runs(uid, now_ms + limits_.scheduler.confirm_ms)) {
    return {.kind = BindAnswer::Kind::kGo, .text = {}};
  }
  if (member.fixed()) return refusal("its binding is under way");
  auto answer = known->demand.kind == Demand::Kind::kMember
                    ? bind_member(*known, node, call_id, now_ms)
                    : bind_single(*known, node, now_ms);
  heed();
  return answer;
}

BindAnswer PodScheduler::bind_single(KnownPod& known, const std::string& node,
                                     std::int64_t now_ms) {
  const std::string& uid = known.pod.uid;
  if (book().member(uid)->node != node) {
    scheduler_.withdraw(job_of(known), "bound elsewhere", now_ms);
    if (!scheduler_.place_at(uid, node, now_ms).placed) {
      std::string why = needs_text(known.demand.requests) + ", taken meanwhile";
      waiting_.add(known.pod, why, {}, now_ms);
      return refusal(std::move(why));
    }
  }
  start(known, now_ms);
  return {.kind = BindAnswer::Kind::kGo, .text = {}};
}

// The scheduler binds only when enough of the gang have a node, so nothing is waited for. Where
// the plan has changed since it asked, it decides.
BindAnswer PodScheduler::bind_native(KnownPod& known, const std::string& node,
                                     std::int64_t now_ms) {
  const std::string& uid = known.pod.uid;
  const std::string planned = book().member(uid)->node;
  bool placed = planned == node;
  if (planned.empty()) {
    placed = scheduler_.place_at(uid, node, now_ms).placed;
  } else if (!placed) {
    const std::vector<NodeIndex> there = known_of({fleet().find(node)});
    scheduler_.prefer(uid, node);  // and no more the node that it is nominated to
    placed = scheduler_.place_anew({uid}, &there, "a member was bound elsewhere", now_ms).placed &&
             book().member(uid)->node == node;
  }
  if (!placed) {
    std::string why = needs_text(known.demand.requests) + ", taken meanwhile";
    waiting_.add(known.pod, why, {}, now_ms);
    return refusal(std::move(why));
  }
  start(known, now_ms);
  return {.kind = BindAnswer::Kind::kGo, .text = {}};
}

BindAnswer PodScheduler::bind_member(KnownPod& known, const std::string& node, CallId call_id,
                                     std::int64_t now_ms) {
  if (known.demand.native) return bind_native(known, node, now_ms);
  const std::string& uid = known.pod.uid;
  const Job& job = *book().job_of(uid);
  const std::string& planned = job.members.at(uid).node;
  if (planned.empty()) return refusal("its gang has no places any more, it is planned anew");
  if (planned != node) return refusal("its gang's plan has another node for it");
  if (job.started) {
    start(known, now_ms);
    return {.kind = BindAnswer::Kind::kGo, .text = {}};
  }
  if (!held_.may_hold(job.id, job.spec.size)) {
    return refusal("too many gangs are about to start, it has to try again");
  }
  held_.hold(job.id, job.spec.size, uid, call_id, now_ms);
  const bool whole = let_go_if_whole(job.id, call_id, now_ms);
  return {.kind = whole ? BindAnswer::Kind::kGo : BindAnswer::Kind::kHold, .text = {}};
}

// When all have come that start together, they go; `own` is answered by the caller.
bool PodScheduler::let_go_if_whole(const JobId& gang, CallId own, std::int64_t now_ms) {
  const Job& job = *book().find(gang);
  if (held_.count(gang) + job.fixed() < job.spec.size) return false;
  for (const std::string& uid : held_.let_go(gang, own)) start(*cache_.find(uid), now_ms);
  return true;
}

void PodScheduler::start(KnownPod& known, std::int64_t now_ms) {
  scheduler_.start(known.pod.uid, now_ms);
  cache_.set_node(known, book().member(known.pod.uid)->node);
}

std::map<std::string, std::string> PodScheduler::told_with_binding(const std::string& uid) const {
  std::map<std::string, std::string> told;
  const Member* member = book().member(uid);
  const NodeIndex node = member == nullptr ? -1 : fleet().find(member->node);
  if (node < 0) return told;
  const KnownPod& known = *cache_.find(uid);
  std::string planned;
  const auto tell = [&](std::string_view id, const topology::Request& on) {
    const topology::Claim* claim = fleet().node(node).ledger.find(on.id);
    if (claim == nullptr && !on.planned) return;
    planned.append(planned.empty() ? "" : " ").append(id.substr(claim_id(uid, "").size()));
    planned += "=" + (on.planned ? on.preferred : claim->cpus).to_string();
  };
  for (const auto& request : member->requests) tell(request.id, request);
  const topology::Request& host = member->requests[known.demand.host];
  for (const auto& guest : known.demand.guests) {
    if (guest != host.id) tell(guest, host);
  }
  if (!planned.empty()) told[annotation::kPlanned] = planned;
  if (known.demand.kind == Demand::Kind::kMember) {
    const std::string& group = member->requests.front().task_group;
    if (!group.empty()) told[annotation::kTaskGroup] = group;
  }
  return told;
}

void PodScheduler::bound(const std::string& uid, bool done, std::int64_t now_ms) {
  KnownPod* known = cache_.find(uid);
  if (known == nullptr || known->bound) return;
  scheduler_.started(uid, done, now_ms);
  // Of one that was made again, the first one may have been done.
  if (!done && !book().member(uid)->fixed()) {
    cache_.set_node(*known, {});
    // The scheduler begins anew with it.
    if (!is_gang(job_of(*known))) scheduler_.withdraw(job_of(*known), "not bound", now_ms);
  }
  heed();
}

std::vector<Eviction> PodScheduler::preempt(const Pod& pod, std::vector<Eviction> proposals,
                                            std::int64_t now_ms) {
  Demand demand = demand_of(pod);
  if (demand.kind == Demand::Kind::kNone) return proposals;
  if (demand.requests.empty() || !turned_away(pod, demand).text.empty()) return {};
  const KnownPod& known = asked(pod, std::move(demand), now_ms);
  std::vector<Eviction> kept;
  scheduler_.see_as(pod.uid, now_ms, [&] {
    kept = preemption_.judge(pod, known.demand, std::move(proposals), now_ms);
  });
  return kept;
}

}  // namespace pinion::cluster
