#include "cluster/extender/scheduling/pod_scheduler.h"

#include <algorithm>
#include <optional>

#include "cluster/core/hole_text.h"
#include "cluster/core/pod_fit.h"

namespace pinion::cluster {
namespace {

constexpr std::uint8_t kPasses = 0;
constexpr const char* kPlanned = "pinion.dev/planned";  // what a pod is told with its binding
constexpr std::string_view kLone = "pod:";  // no gang's id begins so: no namespace has a colon

JobId job_of(const std::string& uid, const Demand& demand) {
  return demand.kind == Demand::Kind::kMember ? demand.gang : std::string(kLone) + uid;
}

JobId job_of(const KnownPod& known) {
  return job_of(known.pod.uid, known.demand);
}

bool is_gang(const JobId& job) {
  return !job.starts_with(kLone);
}

JobSpec spec_of(const KnownPod& known) {
  const Demand& demand = known.demand;
  JobSpec spec;
  spec.owner = {.name_space = known.pod.name_space, .kind = "Pod", .name = known.pod.name};
  spec.priority = known.priority;
  spec.placement = demand.placement;
  if (demand.kind == Demand::Kind::kMember) {
    spec.owner.kind.clear();
    spec.owner.name = job_of_gang(demand.gang);
    spec.size = demand.size;
    spec.task_groups = demand.groups;
  }
  return spec;
}

std::string of(int some, int all) {
  return std::to_string(some) + " of " + std::to_string(all);
}

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
Sight sight_of(const Pod& pod, const std::vector<std::string_view>& nodes) {
  constexpr std::size_t fewest = 100;
  if (nodes.size() == 1 && nodes.front() == pod.nominated) return Sight::kNominated;
  return nodes.size() < fewest ? Sight::kAll : Sight::kSample;
}

}  // namespace

KnownPod* PodScheduler::know(const Pod& pod, Demand demand, std::int64_t now_ms) {
  KnownPod* known = cache_.find(pod.uid);
  if (known == nullptr) {
    if (cache_.size() >= limits_.pods) return nullptr;
    KnownPod fresh;
    fresh.pod = ref_of(pod);
    fresh.demand = std::move(demand);
    fresh.terms = nodes_.terms(pod.nodes, pod.requests);
    fresh.priority = pod.priority;
    known = &cache_.add(std::move(fresh));
    join(*known, now_ms);
    return known;
  }
  // Its requests do not change while it waits; its gang's size may, and the gang itself. Of one
  // whose PodGroup is away it stays a member.
  if (!known->node.empty() || demand.kind == Demand::Kind::kWaiting) return known;
  if (job_of(*known) != job_of(pod.uid, demand)) leave(*known, now_ms);
  known->demand = std::move(demand);
  if (book().member(pod.uid) != nullptr) return known;
  join(*known, now_ms);
  if (is_gang(job_of(*known))) wake_gang(job_of(*known), {});
  return known;
}

// Known by a question. Precondition: it is not turned away.
KnownPod& PodScheduler::asked(const Pod& pod, Demand demand, std::int64_t now_ms) {
  KnownPod& known = *know(pod, std::move(demand), now_ms);
  if (known.asked_ms == 0 && !known.told) untold_.emplace_back(pod.uid, now_ms);
  known.asked_ms = now_ms;
  return known;
}

// The pod becomes a member of its job, where it is known what it asks for.
void PodScheduler::join(KnownPod& known, std::int64_t now_ms) {
  const Demand& demand = known.demand;
  if (demand.requests.empty() || demand.kind == Demand::Kind::kWaiting) return;
  const JobId job = job_of(known);
  if (book().find(job) == nullptr) scheduler_.submit(job, spec_of(known), now_ms);
  scheduler_.join(job, known.pod.uid, demand.requests, now_ms, known.terms);
}

void PodScheduler::leave(const KnownPod& known, std::int64_t now_ms) {
  const std::string& uid = known.pod.uid;
  const Job* job = book().job_of(uid);
  if (job == nullptr) return;
  const JobId id = job->id;
  held_.refuse(id, uid, "the pod is no more");
  scheduler_.leave(uid, now_ms);
  if (job->members.empty()) {
    scheduler_.end(id, now_ms);
    sizes_.erase(id);
  }
  heed();
}

Demand PodScheduler::demand_of(const Pod& pod) const {
  Demand demand = cluster::demand_of(pod, defaults_, groups_);
  if (const auto told = sizes_.find(demand.gang); told != sizes_.end()) {
    demand.size = told->second;
    demand.groups = std::min(demand.groups, demand.size);
  }
  return demand;
}

// A member without cores. It is not counted when the scheduler asks about it, but when the API
// server tells of it, which tells of its end, too.
void PodScheduler::note_other(const Pod& pod, std::int64_t now_ms) {
  if (pod.group.empty()) return;
  if (groups_.other(group_key(pod), pod.uid)) regroup(group_key(pod), now_ms);
}

void PodScheduler::regroup(const std::string& key, std::int64_t now_ms) {
  freed_ = true;
  const JobId gang = gang_of_group(key);
  const auto size = groups_.size(key);
  if (size && book().find(gang) != nullptr) set_size(gang, *size, now_ms);
}

// Precondition: the book has the gang.
void PodScheduler::set_size(const JobId& gang, int size, std::int64_t now_ms) {
  JobSpec spec = book().find(gang)->spec;
  spec.size = size;
  spec.task_groups = std::min(spec.task_groups, size);
  scheduler_.submit(gang, std::move(spec), now_ms);
  heed();
}

void PodScheduler::resize(const JobId& gang, int members, std::int64_t now_ms) {
  const Job* job = book().find(gang);
  if (job == nullptr || members < 1 || members > kMaxGang) return;
  sizes_[gang] = members;
  if (job->spec.size == members) return;
  for (const auto& [uid, member] : job->members) {
    Demand& demand = cache_.find(uid)->demand;
    demand.size = members;
    demand.groups = std::min(demand.groups, members);
  }
  set_size(gang, members, now_ms);
  wake_gang(gang, {});
}

void PodScheduler::group(const std::string& key, std::int64_t members, std::int64_t now_ms) {
  groups_.set(key, members);
  regroup(key, now_ms);
  for (PodRef& pod : waiting_.of_group(key)) effects_.wake.push_back(std::move(pod));
  const auto bound = groupless_.find(key);
  if (bound == groupless_.end()) return;
  const auto uids = std::move(bound->second);
  groupless_.erase(bound);
  for (const std::string& uid : uids) {
    KnownPod& known = *cache_.find(uid);  // all of them exist, see forget()
    known.late_group.clear();
    leave(known, now_ms);
    known.demand.kind = Demand::Kind::kMember;
    known.demand.gang = gang_of_group(key);
    known.demand.size = *groups_.size(key);
    for (auto& request : known.demand.requests) request.job = known.demand.gang;
    join(known, now_ms);
    scheduler_.runs(uid, known.node, now_ms, known.by_us);
    heed();
  }
}

// Why nothing is decided about the pod; an empty text: it is.
FilterAnswer::Text PodScheduler::turned_away(const Pod& pod, const Demand& demand) const {
  if (demand.kind == Demand::Kind::kRefused) return {.text = demand.text, .hopeless = true};
  if (gone_.contains(pod.uid)) return {.text = "the pod is no more", .hopeless = true};
  const KnownPod* known = cache_.find(pod.uid);
  if (known != nullptr && known->bound) {
    return {.text = "the pod is bound already", .hopeless = true};
  }
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
  gates_.erase(pod.uid);  // or the scheduler would not ask
  const bool was_known = cache_.find(pod.uid) != nullptr;
  KnownPod& known = asked(pod, std::move(demand), now_ms);
  std::vector<NodeIndex> indices;
  indices.reserve(nodes.size());
  for (const auto& name : nodes) indices.push_back(fleet().find(name));
  if (known.demand.kind == Demand::Kind::kMember) {
    if (!was_known) wake_gang(known.demand.gang, pod.uid);
    filter_member(pod, known, indices, sight_of(pod, nodes), now_ms, answer);
  } else {
    filter_single(known, indices, sight_of(pod, nodes), now_ms, answer);
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
                                 Sight sight, std::int64_t now_ms, FilterAnswer& answer) {
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
  scheduler_.see_as(uid, now_ms, [&] { judge_nodes(known.demand, nodes, answer); });
  const bool passes =
      std::find(answer.verdict.begin(), answer.verdict.end(), kPasses) != answer.verdict.end();
  const std::vector<NodeIndex> among = known_of(nodes);
  if (passes || among.empty() || sight == Sight::kNominated) return;
  if (!scheduler_.place_member(uid, &among, now_ms).placed) return;
  const NodeIndex node = fleet().find(book().member(uid)->node);
  const auto position = std::find(nodes.begin(), nodes.end(), node);
  answer.verdict[static_cast<std::size_t>(position - nodes.begin())] = kPasses;
}

void PodScheduler::judge_nodes(const Demand& demand, const std::vector<NodeIndex>& nodes,
                               FilterAnswer& answer) const {
  const std::string needs = needs_text(demand.requests);
  answer.texts = {{.text = needs + "; too few CPUs are free", .hopeless = false},
                  {.text = needs + "; the CPUs are free, the memory is not", .hopeless = false},
                  {.text = needs + ", more than the node has", .hopeless = true},
                  {.text = "no Pinion agent speaks for the node", .hopeless = true},
                  {.text = "the node's Pinion agent is silent", .hopeless = true}};
  enum : std::uint8_t { kFull = 1, kNoMemory, kSmall, kNoAgent, kSilent };
  const PodFit fits(fleet(), demand.requests);
  const bool binds = std::any_of(demand.requests.begin(), demand.requests.end(), binds_memory);
  auto cpus_alone = binds ? demand.requests : std::vector<topology::Request>();
  for (auto& request : cpus_alone) request.memory = 0;
  std::optional<PodFit> has_cpus;
  if (binds) has_cpus.emplace(fleet(), cpus_alone);
  IdleFit idle(fleet(), demand.requests);
  const auto why_not = [&](NodeIndex node) {
    if (fleet().node(node).stale) return kSilent;
    if (!idle.fit(node)) return kSmall;
    return has_cpus && has_cpus->fit(node) ? kNoMemory : kFull;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] < 0) {
      answer.verdict[i] = kNoAgent;
    } else if (!fits.fit(nodes[i])) {
      answer.verdict[i] = why_not(nodes[i]);
    }
  }
}

void PodScheduler::filter_member(const Pod& pod, KnownPod& known,
                                 const std::vector<NodeIndex>& nodes, Sight sight,
                                 std::int64_t now_ms, FilterAnswer& answer) {
  const Demand& demand = known.demand;
  if (!pod.nominated.empty()) known.nominated = pod.nominated;  // else the question may be older
  // Whether the scheduler would still take it there is known of the one who asks.
  const NodeIndex nominated = known.nominated.empty() ? -1 : fleet().find(known.nominated);
  scheduler_.prefer(pod.uid, contains(nodes, nominated) ? known.nominated : std::string());
  const Offer offer = this->offer(pod, known, nodes, sight, now_ms);
  if (offer.node.empty()) {
    refuse_all(answer, offer.text, offer.never);
    if (offer.never) return;
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
  }
}

// Where the member may go, of the nodes that the scheduler would take it to.
PodScheduler::Offer PodScheduler::offer(const Pod& pod, KnownPod& known,
                                        const std::vector<NodeIndex>& nodes, Sight sight,
                                        std::int64_t now_ms) {
  const std::string& uid = known.pod.uid;
  const JobId gang = known.demand.gang;
  const Job& job = *book().find(gang);
  if (JobSpec spec = spec_of(known); job.spec != spec) {
    scheduler_.submit(gang, std::move(spec), now_ms);
    heed();
  }
  if (!job.complete()) {
    return {
        .node = {},
        .text = of(static_cast<int>(job.members.size()), job.spec.size) + " pods of its gang exist",
        .never = true};
  }
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
  if (sight == Sight::kNominated) return {.node = node, .text = {}};
  // It is nominated there, and the scheduler goes on looking: it does not take it.
  const bool not_taken = pod.nominated == node;
  if (sight == Sight::kSample && known.missed != node && !not_taken) {
    known.missed = node;
    known.missed_ms = now_ms;
    return {.node = node, .text = {}, .nominate = true};
  }
  if (sight == Sight::kSample && now_ms - known.missed_ms < kNominationMs && !not_taken) {
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

std::vector<int> PodScheduler::scores(const std::string& uid,
                                      const std::vector<std::string_view>& nodes) const {
  std::vector<int> scores(nodes.size(), 0);
  const KnownPod* known = cache_.find(uid);
  if (known == nullptr || known->demand.requests.empty()) return scores;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeIndex node = fleet().find(nodes[i]);
    if (node >= 0) scores[i] = fleet().hole_score(node, known->demand.requests.front());
  }
  return scores;
}

BindAnswer PodScheduler::bind(const std::string& uid, const std::string& node, Ticket ticket,
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
                    ? bind_member(*known, node, ticket, now_ms)
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

BindAnswer PodScheduler::bind_member(KnownPod& known, const std::string& node, Ticket ticket,
                                     std::int64_t now_ms) {
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
  held_.hold(job.id, job.spec.size, uid, ticket, now_ms);
  const bool whole = let_go_if_whole(job.id, ticket, now_ms);
  return {.kind = whole ? BindAnswer::Kind::kGo : BindAnswer::Kind::kHold, .text = {}};
}

// When all have come that start together, they go; `own` is answered by the caller.
bool PodScheduler::let_go_if_whole(const JobId& gang, Ticket own, std::int64_t now_ms) {
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
  const auto tell = [&](const std::string& id, const std::string& on) {
    const topology::Claim* claim = fleet().node(node).ledger.find(on);
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
  if (known.demand.kind == Demand::Kind::kMember) {
    const std::string& group = member->requests.front().task_group;
    if (!group.empty()) told["pinion.dev/task-group"] = group;
  }
  return told;
}

void PodScheduler::bound(const std::string& uid, bool done, std::int64_t now_ms) {
  KnownPod* known = cache_.find(uid);
  if (known == nullptr || known->bound) return;
  scheduler_.started(uid, done, now_ms);
  if (!done) {
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

bool PodScheduler::seen(const Pod& pod, std::int64_t now_ms) {
  const bool room = take_in(pod, now_ms);
  // The core counts what its members request.
  if (pod.node.empty() || book().member(pod.uid) != nullptr) {
    nodes_.vacated(pod.uid, now_ms);
  } else {
    nodes_.occupied(pod.uid, pod.node, pod.requests, now_ms);
  }
  return room;
}

bool PodScheduler::take_in(const Pod& pod, std::int64_t now_ms) {
  if (pod.over) {
    gone(pod.uid, now_ms);
    return true;
  }
  Demand demand = demand_of(pod);
  if (demand.kind == Demand::Kind::kNone) note_other(pod, now_ms);
  const bool late_group = demand.kind == Demand::Kind::kWaiting && !pod.node.empty();
  if (late_group) demand = cluster::demand_of(pod, defaults_);
  const bool asks = !demand.requests.empty() || demand.kind == Demand::Kind::kWaiting;
  const bool was_known = cache_.find(pod.uid) != nullptr;
  KnownPod* known = asks ? know(pod, std::move(demand), now_ms) : nullptr;
  note_gates(pod, known);
  if (known == nullptr) return true;
  known->told = true;
  if (late_group && known->demand.kind == Demand::Kind::kSingle) {
    known->late_group = group_key(pod);
    groupless_[known->late_group].insert(pod.uid);
  }
  const bool member = known->demand.kind == Demand::Kind::kMember;
  if (pod.node.empty()) {
    known->nominated = pod.nominated;
    if (member) {
      scheduler_.prefer(pod.uid, pod.nominated);
      if (!was_known) wake_gang(known->demand.gang, {});
    }
    if (!pod.nominated.empty()) preemption_.nominated(pod.uid, pod.nominated);
    if (gates_.on(pod.uid)) plan_if_ready(*known, now_ms);
    return true;
  }
  waiting_.erase(pod.uid);
  preemption_.forget(pod.uid);
  known->bound = true;
  known->by_us = pod.annotations.contains(kPlanned);
  cache_.set_node(*known, pod.node);
  if (book().member(pod.uid) == nullptr) return true;  // what it asks for is not known
  const JobId job = job_of(*known);
  held_.refuse(job, pod.uid, "the pod is bound already");
  const bool room = scheduler_.runs(pod.uid, pod.node, now_ms, known->by_us);
  if (held_.count(job) > 0) let_go_if_whole(job, 0, now_ms);
  heed();
  return room || fleet().find(pod.node) < 0;
}

// Of a pod that is no member of a gang the scheduler asks, and tells its user what is wrong with
// it.
void PodScheduler::note_gates(const Pod& pod, const KnownPod* known) {
  if (!pod.gang_gate || !pod.node.empty()) return gates_.erase(pod.uid);
  const Member* member = book().member(pod.uid);
  const bool of_gang = member != nullptr && known->demand.kind == Demand::Kind::kMember;
  gates_.seen(pod, of_gang ? known->demand.gang : JobId());
  if (!of_gang) {
    gates_.open(pod.uid, {});
  } else if (member->state == Member::State::kReserved) {
    gates_.open(pod.uid, member->node);
  }
}

// A member that waits at its gate is there, or no other gate keeps it any more.
void PodScheduler::plan_if_ready(const KnownPod& known, std::int64_t now_ms) {
  const Gates::Gang* gates = gates_.find(known.demand.gang);
  if (gates == nullptr || !gates->others.empty()) return;
  if (!book().find(known.demand.gang)->complete()) return;
  plan_ = true;
  plan_gated(now_ms);
}

// What is there and the report does not name is reserved before anybody else is given its room. Of
// who is not told of, only when the node comes: such a pod may have ended.
void PodScheduler::still_there(const std::string& node, bool fresh, std::int64_t now_ms) {
  const auto there = cache_.residents().find(node);
  if (there == cache_.residents().end()) return;
  for (const std::string& uid : there->second) {
    const KnownPod& known = *cache_.find(uid);
    if ((!known.told && !fresh) || book().member(uid) == nullptr) continue;
    scheduler_.still_runs(uid, known.told ? kNoExpiry : now_ms + limits_.scheduler.confirm_ms);
  }
}

// An init container runs on CPUs that are promised to its pod for those that come after it: the
// promise stays and speaks for both.
void PodScheduler::drop_lent(NodeReport& report) const {
  const NodeIndex node = fleet().find(report.name);
  if (node < 0) return;
  std::erase_if(report.claims, [&](const topology::Claim& claim) {
    const KnownPod* pod = cache_.find(pod_of_claim(claim.id));
    if (pod == nullptr) return false;
    const Demand& demand = pod->demand;
    const auto& inits = demand.inits;
    if (std::find(inits.begin(), inits.end(), claim.id) == inits.end()) return false;
    const std::string& host = demand.requests[demand.host].id;
    if (host == claim.id || !fleet().promised(host)) return false;
    const topology::Claim* promised = fleet().node(node).ledger.find(host);
    return promised != nullptr && claim.cpus.is_subset_of(promised->cpus);
  });
}

void PodScheduler::gone(const std::string& uid, std::int64_t now_ms) {
  gone_.add(uid);
  nodes_.vacated(uid, now_ms);
  const KnownPod* known = cache_.find(uid);
  const std::string node = known == nullptr ? "" : known->node;
  forget(uid, now_ms);
  preemption_.deleted(uid, node);
}

// Bound, and its agent names it, or may do so at any moment.
bool PodScheduler::may_run(const KnownPod& known) const {
  const Member* member = book().member(known.pod.uid);
  return member != nullptr && member->fixed() && fleet().knows(member->requests.front().id);
}

// A pod that came and went while the watch was away is never told of: it is known by the question
// about it alone, and by its agent while it runs.
void PodScheduler::forget_untold(std::int64_t now_ms) {
  const std::int64_t confirm_ms = limits_.scheduler.confirm_ms;
  for (; !untold_.empty() && now_ms - untold_.front().second >= confirm_ms; untold_.pop_front()) {
    const std::string& uid = untold_.front().first;
    const KnownPod* known = cache_.find(uid);
    if (known == nullptr || known->told) continue;
    if (now_ms - known->asked_ms < confirm_ms || may_run(*known)) {
      untold_.emplace_back(uid, now_ms);
    } else {
      forget(uid, now_ms);
    }
  }
}

void PodScheduler::forget(const std::string& uid, std::int64_t now_ms) {
  waiting_.erase(uid);
  preemption_.forget(uid);
  groups_.gone(uid);
  gates_.erase(uid);
  const KnownPod* known = cache_.find(uid);
  if (known == nullptr) return;
  if (const auto late = groupless_.find(known->late_group); late != groupless_.end()) {
    late->second.erase(uid);
    if (late->second.empty()) groupless_.erase(late);
  }
  leave(*known, now_ms);
  cache_.erase(uid);
}

Result<std::vector<LostPromise>> PodScheduler::report(NodeReport report, std::int64_t now_ms) {
  const std::string node = report.name;
  const bool fresh = fleet().find(node) < 0;
  drop_lent(report);
  auto lost = scheduler_.report(std::move(report), now_ms);
  if (lost) {
    if (fresh) nodes_.known(node, now_ms);
    preemption_.reported(node);
    still_there(node, fresh, now_ms);
  }
  heed();
  wake_early(true, now_ms);
  return lost;
}

bool PodScheduler::heard(std::string_view node, std::int64_t now_ms) {
  return scheduler_.heard(node, now_ms);
}

void PodScheduler::measured(std::string_view node, MissRates rates) {
  scheduler_.measured(node, std::move(rates));
}

void PodScheduler::lost(std::string_view node, std::int64_t now_ms) {
  scheduler_.lost(node, now_ms);
  nodes_.gone(std::string(node), now_ms);
  preemption_.reported(std::string(node));
  heed();
}

int PodScheduler::age(std::int64_t now_ms, std::int64_t silent_ms) {
  const int silent = scheduler_.age(now_ms, silent_ms);
  heed();
  return silent;
}

// Gangs that are bound in part.
void PodScheduler::complete_gangs(std::int64_t now_ms) {
  std::vector<JobId> partly;
  for (const auto& [id, job] : book().jobs()) {
    if (job.fixed() > 0 && job.complete() && !next_members(job).empty()) partly.push_back(id);
  }
  for (const JobId& id : partly) scheduler_.place(id, nullptr, now_ms);
  heed();
  acts_ = plan_ = true;
}

void PodScheduler::refuse_held(const std::string& why, std::int64_t now_ms) {
  for (const JobId& gang : held_.gangs()) scheduler_.withdraw(gang, why, now_ms);
  heed();
}

// The gangs that nothing but their gates keeps, in the queue's order; as many at a time as the
// scheduler may have bindings under way.
void PodScheduler::plan_gated(std::int64_t now_ms) {
  if (!acts_) return;
  if (std::exchange(plan_, false)) {
    const std::uint64_t before = scheduler_.counters().refused;
    plan_ = scheduler_.run_some(gates_.ready(), now_ms, [&] {
      heed();
      return gates_.opening() < limits_.held;
    });
    heed();
    gang_counters_.refused += scheduler_.counters().refused - before;
    ask_for_evictions(now_ms);
  }
  gates_.due(now_ms, effects_.openings);
}

// kube-scheduler evicts only for pods that it asks about: a gang that could start if less urgent
// pods were gone is let through without a plan.
void PodScheduler::ask_for_evictions(std::int64_t now_ms) {
  for (const JobId& id : gates_.ready()) {
    Gates::Gang& gates = *gates_.find(id);
    const Job& job = *book().find(id);
    if (gates.asked || !job.refused || !job.complete() || !gates.ask.over(now_ms)) continue;
    const KnownPod& known = *cache_.find(*gates.ours.begin());
    if (!cache_.any_below(known.priority)) continue;
    gates.ask.begin(now_ms);
    Pod pod;
    pod.uid = known.pod.uid;
    pod.priority = known.priority;
    if (!preemption_.could_start(pod, known.demand, now_ms)) continue;
    gates.asked = true;
    follow_plan(id);
  }
}

// The gates of those are taken off that have their places now. Others of the gang that have none,
// be it that the extender has ended when some were off, were refused before, and are asked about
// again.
void PodScheduler::follow_plan(const JobId& gang) {
  const Gates::Gang* gates = gates_.find(gang);
  const Job* job = book().find(gang);
  if (gates == nullptr || job == nullptr) return;
  for (const auto& [uid, member] : job->members) {
    const bool reserved = member.state == Member::State::kReserved;
    if (!gates_.on(uid)) {
      const KnownPod& known = *cache_.find(uid);
      const bool refused = known.asked_ms == 0 || waiting_.all().contains(uid);
      if (reserved && refused) effects_.wake.push_back(known.pod);
      continue;
    }
    if (reserved || gates->asked) {
      gates_.open(uid, member.node);
    } else {
      gates_.keep(uid);
    }
  }
}

std::string PodScheduler::why_gated(const Job& job) const {
  const Gates::Gang* gates = gates_.find(job.id);
  if (gates == nullptr) return {};
  if (!job.complete()) {
    return of(static_cast<int>(job.members.size()), job.spec.size) + " pods of its gang exist";
  }
  if (!gates->others.empty()) {
    return of(static_cast<int>(gates->others.size()), static_cast<int>(job.members.size())) +
           " pods of its gang wait at other scheduling gates";
  }
  return job.why;
}

// Nobody asks about those that wait at their gates, so their user is told here: each reason once.
void PodScheduler::explain(std::int64_t now_ms) {
  if (!acts_ || now_ms - looked_ms_ < 1000) return;
  looked_ms_ = now_ms;
  for (auto& [id, gates] : gates_.gangs()) {
    const Job& job = *book().find(id);
    if (!job.complete() && now_ms - job.touched_ms < kComplainMs) continue;
    std::string why = why_gated(job);
    if (why.empty() || why == gates.told || !gates.tell.over(now_ms)) continue;
    gates.tell.begin(now_ms);
    effects_.explanations.push_back({.pod = cache_.find(*gates.ours.begin())->pod, .why = why});
    gates.told = std::move(why);
  }
}

// Of the refused, those that would fit now. All members of a gang have one answer.
void PodScheduler::wake(std::int64_t now_ms) {
  std::map<JobId, bool> answers;
  freed_ = waiting_.look(
      now_ms,
      [&](const std::string& uid) -> WaitingPods::Look {
        const Job* job = book().job_of(uid);
        if (job == nullptr) return {};
        const auto [answer, fresh] = answers.try_emplace(job->id, false);
        if (!fresh) return {.fits = answer->second};
        answer->second = scheduler_.would_place(job->id, now_ms);
        return {.fits = answer->second, .cost = std::max(1, job->spec.size)};
      },
      effects_.wake);
}

void PodScheduler::wake_early(bool reported, std::int64_t now_ms) {
  for (const std::string& uid : preemption_.take_early(reported, now_ms)) {
    effects_.wake.push_back(cache_.find(uid)->pod);  // all of them are known
  }
}

// When all of it exist, those that were refused meanwhile are to be asked about, but `uid`.
void PodScheduler::wake_gang(const JobId& gang, const std::string& uid) {
  const Job& job = *book().find(gang);
  if (!job.complete() || job.started) return;
  for (const auto& [other, member] : job.members) {
    if (other != uid && waiting_.all().contains(other)) {
      effects_.wake.push_back(cache_.find(other)->pod);
    }
  }
}

void PodScheduler::tick(std::int64_t now_ms) {
  scheduler_.tick(now_ms);
  for (const JobId& gang : held_.overdue(now_ms, limits_.hold_ms)) {
    const Job& job = *book().find(gang);
    scheduler_.withdraw(gang,
                        of(held_.count(gang) + job.fixed(), job.spec.size) +
                            " members of its gang came within " +
                            std::to_string(limits_.hold_ms / 1000) + " s",
                        now_ms);
  }
  forget_untold(now_ms);
  heed();
  wake_early(false, now_ms);
  if (scheduler_.take_changed()) freed_ = plan_ = true;
  plan_gated(now_ms);
  explain(now_ms);
  if (freed_ && !waiting_.all().empty()) wake(now_ms);
}

// What the core has done meanwhile: held calls of a plan that is withdrawn are refused.
void PodScheduler::heed() {
  for (const JobNews& news : scheduler_.take_news()) {
    if (news.kind == JobNews::Kind::kHopeless) {
      const Job* job = book().find(news.job);
      if (job == nullptr || job->members.empty()) continue;
      const KnownPod& first = *cache_.find(job->members.begin()->first);
      effects_.hopeless.push_back({.pod = first.pod, .why = news.why});
      continue;
    }
    if (news.kind == JobNews::Kind::kWithdrawn) unbind(news.job);
    if (!is_gang(news.job)) continue;
    if (news.kind == JobNews::Kind::kWithdrawn) held_.refuse(news.job, news.why);
    follow_plan(news.job);
    tell(news);
  }
}

// Who was being bound there is not there any more.
void PodScheduler::unbind(const JobId& id) {
  const Job* job = book().find(id);
  if (job == nullptr) return;
  for (const auto& [uid, member] : job->members) {
    if (!member.fixed()) cache_.set_node(*cache_.find(uid), {});
  }
}

void PodScheduler::tell(const JobNews& news) {
  GangNews gang{
      .gang = news.job, .why = news.why, .places = static_cast<std::size_t>(news.members)};
  switch (news.kind) {
    case JobNews::Kind::kReserved:
      gang.kind = GangNews::Kind::kPlanned;
      ++gang_counters_.planned;
      break;
    case JobNews::Kind::kStarted:
      gang.kind = GangNews::Kind::kLetGo;
      ++gang_counters_.whole;
      break;
    case JobNews::Kind::kWithdrawn:
      gang.kind = GangNews::Kind::kGivenUp;
      ++gang_counters_.given_up;
      break;
    case JobNews::Kind::kHopeless:
      return;
  }
  std::set<std::string_view> nodes;
  if (const Job* job = book().find(news.job); job != nullptr) {
    for (const auto& [uid, member] : job->members) {
      if (!member.node.empty()) nodes.insert(member.node);
    }
  }
  gang.nodes = nodes.size();
  effects_.news.push_back(std::move(gang));
}

std::vector<const Job*> PodScheduler::gangs() const {
  std::vector<const Job*> gangs;
  for (const auto& [id, job] : book().jobs()) {
    if (is_gang(id)) gangs.push_back(&job);
  }
  return gangs;
}

Effects PodScheduler::take_effects() {
  effects_.answered = held_.take_answered();
  return std::exchange(effects_, {});
}

}  // namespace pinion::cluster
