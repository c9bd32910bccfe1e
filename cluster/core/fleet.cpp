#include "cluster/core/fleet.h"

#include <algorithm>
#include <utility>

namespace pinion::cluster {
namespace {

using topology::Align;
using topology::Claim;
using topology::CpuSet;
using topology::Ledger;
using topology::Outcome;
using topology::Refusal;
using topology::Request;
using topology::Topology;

constexpr int kManyRefusals = 200;

// Machines that differ nearly always differ here.
std::size_t fingerprint(const Topology& topology) {
  std::size_t hash = topology.pus.size();
  const auto mix = [&](auto value) {
    hash = (hash ^ static_cast<std::size_t>(value)) * std::size_t{1099511628211U};
  };
  for (const topology::Pu& pu : topology.pus) {
    mix(pu.cpu);
    mix(pu.core);
    mix(pu.l3);
    mix(pu.node);
  }
  for (const topology::Node& node : topology.nodes) mix(node.memory);
  return hash;
}

// What is wrong with the claim, beside those in the ledger already; empty: nothing.
std::string fault_of(const Claim& claim, const Ledger& ledger, const Topology& topology) {
  if (claim.cpus.empty()) return "has no CPUs";
  if (ledger.find(claim.id) != nullptr) return "is reported twice";
  if (claim.cpus.intersects(ledger.reserved())) return "has reserved CPUs";
  if (claim.cpus.intersects(ledger.exclusive())) return "has CPUs that another container has";
  const auto nodes = static_cast<topology::Index>(topology.nodes.size());
  const bool known = std::all_of(claim.memory.begin(), claim.memory.end(), [&](const auto& share) {
    return share.node >= 0 && share.node < nodes;
  });
  return known ? "" : "has memory of a NUMA node that the machine has not";
}

Result<Ledger> ledger_of(const MachineKind& kind, const NodeReport& report) {
  Ledger ledger = kind.idle_ledger();
  ledger.set_shared_memory(report.shared_memory);
  for (const Claim& claim : report.claims) {
    const std::string fault = fault_of(claim, ledger, *kind.topology);
    if (!fault.empty()) {
      return failure(Errc::kInvalid,
                     "node " + report.name + ": container " + claim.id + " " + fault);
    }
    ledger.commit(claim);
  }
  return ledger;
}

// The same request for one alignment and no other.
Request only(Request request, Align align) {
  request.align = align;
  request.strength = topology::Strength::kRequired;
  return request;
}

// The claim that a planned request has where it was planned, as far as that is free.
Claim left_of(const Request& request, const Ledger& ledger) {
  Claim left;
  left.id = request.id;
  left.cpus = request.preferred - ledger.exclusive();
  left.job = request.job;
  left.task_group = request.task_group;
  left.profile = request.profile;
  return left;
}

// Exactly where it was planned, or not at all.
bool commit_planned(const Topology& topology, Ledger& ledger, const Request& request) {
  if (request.preferred.intersects(ledger.exclusive())) return false;
  const Outcome outcome = topology::allocate(topology, ledger, request);
  const auto* decision = std::get_if<topology::Decision>(&outcome);
  if (decision == nullptr || decision->claim.cpus != request.preferred) return false;
  ledger.commit(decision->claim);
  return true;
}

// Whether its plan is one that such a machine can keep when nobody else is there.
bool may_be_planned(const MachineKind& kind, const Request& request) {
  Ledger idle = kind.idle_ledger();
  return commit_planned(*kind.topology, idle, request);
}

bool grants(const Topology& topology, const Ledger& ledger, const Request& request) {
  const Outcome outcome = topology::allocate(topology, ledger, request);
  return std::holds_alternative<topology::Decision>(outcome);
}

}  // namespace

Result<std::vector<LostPromise>> Fleet::report(NodeReport report, std::int64_t now_ms) {
  if (report.name.empty()) return failure(Errc::kInvalid, "a report without a node's name");
  NodeIndex node = find(report.name);
  if (node < 0 && report.topology == nullptr) {
    return failure(Errc::kInvalid, "node " + report.name + ": first report without a machine");
  }
  if (node >= 0 && at(node).instance == report.instance &&
      report.generation < at(node).generation) {
    return std::vector<LostPromise>();
  }
  const auto kind = report.topology == nullptr
                        ? at(node).kind
                        : kind_of(report.topology, report.reserved, report.strict_reservation);
  auto ledger = ledger_of(*kind, report);
  if (!ledger) return failure(std::move(ledger.error()));
  if (node < 0) node = add(report.name, kind);
  confirm(report, node);
  at(node).kind = kind;
  std::vector<LostPromise> lost = refit(node, *ledger);
  at(node).instance = std::move(report.instance);
  at(node).generation = report.generation;
  at(node).rates = std::move(report.rates);
  set_ledger(node, std::move(*ledger));
  heard(node, now_ms);
  return lost;
}

// The ids of the report run on this node now: they are promises no more, wherever they were.
void Fleet::confirm(const NodeReport& report, NodeIndex node) {
  forget_running(node);
  for (const Claim& claim : report.claims) {
    const auto promise = promises_.find(claim.id);
    if (promise != promises_.end() && promise->second.node != node) {
      release(claim.id);
    } else if (promise != promises_.end()) {
      erase_promise(claim.id);
    }
    running_.insert_or_assign(claim.id, node);
  }
}

// A pod that moved may be known from its new node by now: that stays.
void Fleet::forget_running(NodeIndex node) {
  for (const auto& [id, claim] : at(node).ledger.claims()) {
    const auto known = running_.find(id);
    if (known != running_.end() && known->second == node) running_.erase(known);
  }
}

void Fleet::erase_promise(std::string_view id) {
  const auto promise = promises_.find(id);
  at(promise->second.node).promises.erase(promise->second.order);
  set_expiry(promise->first, promise->second, kNoExpiry);
  promises_.erase(promise);
}

// It has all that it asks for, and no more.
bool Fleet::is_whole(const Ledger& ledger, const Promise& promise) {
  const Request& request = promise.request;
  const Claim* claim = ledger.find(request.id);
  if (claim == nullptr || promise.lost) return false;
  return !request.planned || claim->cpus == request.preferred;
}

// What the pinned promise has in the ledger: its own place as far as that is free, and another one
// where that is not all of it.
Outcome Fleet::place(const Topology& topology, Ledger& ledger, Promise& promise) {
  const Claim left = left_of(promise.request, ledger);
  // What shared containers request since it was planned is not kept from it.
  const topology::Bytes shared_memory = ledger.shared_memory();
  ledger.set_shared_memory(0);
  Outcome outcome = topology::allocate(topology, ledger, promise.request);
  const auto* decision = std::get_if<topology::Decision>(&outcome);
  promise.lost = decision == nullptr;
  Claim claim = decision == nullptr ? left : decision->claim;
  claim.cpus |= left.cpus;
  if (!claim.cpus.empty()) ledger.commit(std::move(claim));
  ledger.set_shared_memory(shared_memory);
  return outcome;
}

// Fits the promises of the node into what is left: the pinned ones first, each where it is to be.
std::vector<LostPromise> Fleet::refit(NodeIndex node, Ledger& ledger) {
  FleetNode& it = at(node);
  // What shared containers request since then, its pod's own among them, is not kept from who was
  // promised already.
  const topology::Bytes shared_memory = ledger.shared_memory();
  ledger.set_shared_memory(0);
  std::vector<Promise*> displaced;
  std::vector<Promise*> others;
  for (const auto& [order, id] : it.promises) {
    Promise& promise = promises_.find(id)->second;
    if (promise.request.planned && commit_planned(it.topology(), ledger, promise.request)) {
      promise.lost = false;
    } else if (promise.request.planned && may_be_planned(*it.kind, promise.request)) {
      displaced.push_back(&promise);
    } else {
      forget_plan(promise.request);  // its agent keeps other CPUs back since
      others.push_back(&promise);
    }
  }
  it.displaced = !displaced.empty();
  for (const Promise* promise : displaced) {
    Claim left = left_of(promise->request, ledger);
    if (!left.cpus.empty()) ledger.commit(std::move(left));
  }
  std::vector<LostPromise> lost;
  const auto lose = [&](const Promise& promise, Outcome& outcome) {
    lost.push_back({.id = promise.request.id,
                    .node = it.name,
                    .refusal = std::move(std::get<topology::Refusal>(outcome))});
  };
  for (Promise* promise : displaced) {
    ledger.release(promise->request.id);
    const bool before = promise->lost;
    Outcome outcome = place(it.topology(), ledger, *promise);
    if (promise->lost && !before) lose(*promise, outcome);
  }
  for (const Promise* promise : others) {
    Request request = promise->request;
    const Claim* claim = it.ledger.find(request.id);
    if (claim != nullptr) request.preferred = claim->cpus;
    Outcome outcome = topology::allocate(it.topology(), ledger, request);
    if (auto* decision = std::get_if<topology::Decision>(&outcome)) {
      ledger.commit(std::move(decision->claim));
    } else {
      lose(*promise, outcome);
      erase_promise(request.id);
    }
  }
  ledger.set_shared_memory(shared_memory);
  return lost;
}

void Fleet::bring_back(NodeIndex node) {
  FleetNode& it = at(node);
  if (!std::exchange(it.displaced, false)) return;
  for (const auto& [order, id] : it.promises) {
    Promise& promise = promises_.find(id)->second;
    if (!promise.request.planned || is_whole(it.ledger, promise)) continue;
    if (it.ledger.find(id) != nullptr) {
      count_job(promise.request.job, node, -1);
      it.ledger.release(id);
    }
    place(it.topology(), it.ledger, promise);
    if (it.ledger.find(id) != nullptr) count_job(promise.request.job, node, 1);
    it.displaced = it.displaced || !is_whole(it.ledger, promise);
  }
  refresh(node);
}

void Fleet::heard(NodeIndex node, std::int64_t now_ms) {
  at(node).heard_ms = now_ms;
  heard_.set(node, now_ms);
  set_stale(node, false);
}

void Fleet::unlinked(NodeIndex node) {
  heard_.erase(node);
  set_stale(node, true);
}

void Fleet::measured(NodeIndex node, MissRates rates) {
  FleetNode& it = at(node);
  it.rates = std::move(rates);
  it.pressure_level =
      pressure_level(it.topology(), memory_pressure(it.topology(), it.ledger, it.rates));
}

void Fleet::set_terms(NodeIndex node, const NodeTerms& terms, const ResourceList& taken,
                      Occupants occupants) {
  FleetNode& it = at(node);
  it.open = terms.open;
  it.capacity = terms.capacity;
  it.room = terms.capacity;
  it.room -= terms.others;
  it.spare = it.room;
  it.spare -= taken;
  it.occupants = std::move(occupants);
  it.occupants.services += terms.services;
}

void Fleet::exists(const std::string& name, bool open, std::int64_t now_ms) {
  if (find(name) >= 0) return;
  if (unheard_.insert_or_assign(name, open).second) awaited_.set(name, now_ms);
}

void Fleet::forget_unheard(const std::string& name) {
  unheard_.erase(name);
  awaited_.erase(name);
}

int Fleet::unheard(const MemberTerms& terms) const {
  if (terms.nodes != nullptr) return static_cast<int>(terms.nodes->unheard().size());
  return static_cast<int>(std::count_if(unheard_.begin(), unheard_.end(),
                                        [](const auto& entry) { return entry.second; }));
}

void Fleet::remove(const std::string& name) {
  forget_unheard(name);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return;
  const NodeIndex node = found->second;
  forget_running(node);
  for (const auto& [order, id] : std::map(at(node).promises)) erase_promise(id);
  heard_.erase(node);
  for (const auto& [id, claim] : at(node).ledger.claims()) count_job(claim.job, node, -1);
  index_.remove(node, found->first, at(node).holes);
  lookup_.erase(found->first);
  by_name_.erase(found);
  at(node) = FleetNode();
  digests_[static_cast<std::size_t>(node)] = NodeDigest();
  unused_.push_back(node);
}

int Fleet::age(std::int64_t now_ms, std::int64_t silent_ms) {
  if (silent_ms == kNeverDue) return 0;
  const auto silent = heard_.take(now_ms - silent_ms);
  for (const NodeIndex node : silent) set_stale(node, true);
  awaited_.take(now_ms - silent_ms);
  return static_cast<int>(silent.size());
}

std::optional<std::int64_t> Fleet::next_ms(std::int64_t silent_ms) const {
  auto silent = earlier(heard_.first_ms(), awaited_.first_ms());
  if (silent) silent = after(*silent, silent_ms);
  if (silent == kNeverDue) silent.reset();
  return earlier(expiring_.first_ms(), silent);
}

Result<Outcome> Fleet::promise(NodeIndex node, const Request& request, std::int64_t expires_ms) {
  auto outcome = promise_unseen(node, request, expires_ms);
  if (outcome) refresh(node);
  return outcome;
}

bool Fleet::promise_all(const std::vector<std::pair<NodeIndex, topology::Request>>& those,
                        std::int64_t expires_ms) {
  std::set<NodeIndex> nodes;
  std::vector<std::string> done;
  bool all = true;
  for (const auto& [node, request] : those) {
    const auto outcome = promise_unseen(node, request, expires_ms);
    all = outcome && std::holds_alternative<topology::Decision>(*outcome);
    if (outcome) {
      nodes.insert(node);
      done.push_back(request.id);
    }
    if (!all) break;
  }
  for (const NodeIndex node : nodes) refresh(node);
  if (all) return true;
  for (const std::string& id : done) release(id);
  return false;
}

// What is derived of the node's ledger stays as it was.
Result<Outcome> Fleet::promise_unseen(NodeIndex node, const Request& request,
                                      std::int64_t expires_ms) {
  if (node < 0 || node >= size() || at(node).name.empty()) {
    return failure(Errc::kNotFound, "no such node to promise " + request.id + " on");
  }
  if (knows(request.id)) {
    return failure(Errc::kExhausted, request.id + " has its CPUs already");
  }
  FleetNode& it = at(node);
  Promise promise{.node = node, .request = request};
  if (request.planned && !may_be_planned(*it.kind, request)) forget_plan(promise.request);
  Outcome outcome = Refusal();
  if (promise.request.planned) {
    outcome = place(it.topology(), it.ledger, promise);
    it.displaced = it.displaced || !is_whole(it.ledger, promise);
  } else {
    outcome = topology::allocate(it.topology(), it.ledger, promise.request);
    const auto* decision = std::get_if<topology::Decision>(&outcome);
    if (decision == nullptr) return outcome;
    it.ledger.commit(decision->claim);
  }
  if (it.ledger.find(request.id) != nullptr) count_job(request.job, node, 1);
  promise.order = promises_made_++;
  it.promises.emplace(promise.order, request.id);
  set_expiry(request.id, promises_.emplace(request.id, std::move(promise)).first->second,
             expires_ms);
  return outcome;
}

CpuSet Fleet::pin(std::string_view id) {
  const auto promise = promises_.find(id);
  if (promise == promises_.end()) return {};
  Request& request = promise->second.request;
  const Claim* claim = at(promise->second.node).ledger.find(id);
  if (!request.planned && claim != nullptr) {
    request.planned = true;
    request.preferred = claim->cpus;
  }
  return request.planned ? request.preferred : CpuSet();
}

CpuSet Fleet::pinned(std::string_view id) const {
  const auto promise = promises_.find(id);
  if (promise == promises_.end() || !promise->second.request.planned) return {};
  return promise->second.request.preferred;
}

bool Fleet::may_pin(NodeIndex node, const Request& request) const {
  return request.planned && may_be_planned(*this->node(node).kind, request);
}

bool Fleet::unpin(std::string_view id) {
  const auto promise = promises_.find(id);
  if (promise == promises_.end()) return false;
  Request& request = promise->second.request;
  const bool whole = is_whole(at(promise->second.node).ledger, promise->second);
  forget_plan(request);
  return whole;
}

bool Fleet::extend(std::string_view id, std::int64_t expires_ms) {
  const auto promise = promises_.find(id);
  if (promise == promises_.end()) return false;
  set_expiry(promise->first, promise->second, expires_ms);
  return true;
}

// Most last for ever.
void Fleet::set_expiry(const std::string& id, Promise& promise, std::int64_t expires_ms) {
  if (promise.expires_ms != kNoExpiry && expires_ms == kNoExpiry) expiring_.erase(id);
  if (expires_ms != kNoExpiry) expiring_.set(id, expires_ms);
  promise.expires_ms = expires_ms;
}

bool Fleet::release(std::string_view id) {
  const auto promise = promises_.find(id);
  if (promise == promises_.end()) return false;
  const NodeIndex node = promise->second.node;
  if (const Claim* claim = at(node).ledger.find(id); claim != nullptr) {
    count_job(claim->job, node, -1);
    at(node).ledger.release(id);
  }
  erase_promise(id);
  refresh(node);
  return true;
}

void Fleet::hold(NodeIndex node, const std::string& id, const topology::CpuSet& cpus) {
  Ledger& ledger = at(node).ledger;
  Claim claim;
  claim.id = id;
  claim.cpus = (cpus & at(node).topology().online) - ledger.exclusive() - ledger.reserved();
  if (claim.cpus.empty()) return;
  ledger.commit(std::move(claim));
  refresh(node);
}

void Fleet::drop_claim(NodeIndex node, std::string_view id) {
  const Claim* claim = at(node).ledger.find(id);
  if (claim == nullptr || promised(id)) return;
  count_job(claim->job, node, -1);
  at(node).ledger.release(id);
  if (const auto running = running_.find(id); running != running_.end()) running_.erase(running);
  refresh(node);
}

std::vector<std::string> Fleet::expire(std::int64_t now_ms) {
  std::vector<std::string> expired = expiring_.take(now_ms);
  std::sort(expired.begin(), expired.end());
  for (const std::string& id : expired) release(id);
  return expired;
}

std::vector<std::pair<std::string, std::int64_t>> Fleet::expiring(NodeIndex index) const {
  std::vector<std::pair<std::string, std::int64_t>> expiring;
  for (const auto& [order, id] : node(index).promises) {
    const std::int64_t expires_ms = promises_.find(id)->second.expires_ms;
    if (expires_ms != kNoExpiry) expiring.emplace_back(id, expires_ms);
  }
  return expiring;
}

void Fleet::name_job(std::string_view id, const std::string& job) {
  const auto known = running_.find(id);
  if (known == running_.end()) return;
  const NodeIndex node = known->second;
  topology::Claim claim = *at(node).ledger.find(id);
  count_job(claim.job, node, -1);
  count_job(job, node, 1);
  claim.job = job;
  at(node).ledger.release(id);
  at(node).ledger.commit(std::move(claim));
}

bool Fleet::knows(std::string_view id) const {
  return promised(id) || running_.find(id) != running_.end();
}

std::set<NodeIndex> Fleet::nodes_of_job(std::string_view job) const {
  std::set<NodeIndex> nodes;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return nodes;
  for (const auto& [node, containers] : found->second) nodes.insert(node);
  return nodes;
}

bool Fleet::too_near(NodeIndex node, const MemberTerms& terms, std::string_view job) const {
  if (!terms.apart) return false;
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.find(node) != found->second.end();
}

bool Fleet::fits(NodeIndex node, const Request& request) const {
  const auto known = would_grant(digest(node), request);
  if (known) return *known;
  const FleetNode& it = this->node(node);
  if (const auto by_holes = topology::would_grant(it.holes, request)) return *by_holes;
  return grants(it.topology(), it.ledger, request);
}

bool Fleet::fits_idle(NodeIndex node, const Request& request) const {
  if (const auto known = would_grant_idle(digest(node), request)) return *known;
  const FleetNode& it = this->node(node);
  if (it.name.empty()) return false;
  if (const auto by_holes = topology::would_grant(it.kind->idle, request)) return *by_holes;
  return grants(it.topology(), it.kind->idle_ledger(), request);
}

bool Fleet::any_may_fit(const Request& request) const {
  return std::any_of(digests_.begin(), digests_.end(), [&](const NodeDigest& digest) {
    return would_grant(digest, request).value_or(true);
  });
}

NodeIndex Fleet::best_node(const Request& request, const MemberTerms& terms) const {
  if (request.use_isolated) {  // the index knows ordinary CPUs only
    for (const auto& [name, node] : by_name_) {
      if (this->node(node).holes.isolated && takes(node, terms) && fits(node, request)) return node;
    }
  }
  const bool climbs = request.strength == topology::Strength::kPreferred;
  for (const Align align : topology::kAligns) {
    if (align < request.align || (align > request.align && !climbs)) continue;
    const Request wanted = only(request, align);
    int refusals = 0;
    const NodeIndex best = index_.tightest(wanted, align, [&](NodeIndex node) {
      if (takes(node, terms) && fits(node, wanted)) return HoleIndex::Answer::kYes;
      // So many nodes with the CPUs and not the memory: worth a look at whether any has both.
      const bool hopeless = ++refusals == kManyRefusals && !any_may_fit(wanted);
      return hopeless ? HoleIndex::Answer::kStop : HoleIndex::Answer::kNo;
    });
    if (best >= 0) return best;
  }
  return -1;
}

NodeIndex Fleet::add(const std::string& name, std::shared_ptr<const MachineKind> kind) {
  NodeIndex node = size();
  if (unused_.empty()) {
    nodes_.emplace_back();
    digests_.emplace_back();
  } else {
    node = unused_.back();
    unused_.pop_back();
  }
  FleetNode& it = at(node);
  it.name = name;
  it.holes = kind->idle;
  it.ledger = kind->idle_ledger();
  it.kind = std::move(kind);
  const auto known = by_name_.emplace(name, node).first;
  lookup_.insert(name, node);
  index_.add(node, known->first, it.holes);
  forget_unheard(name);
  return node;
}

std::shared_ptr<const MachineKind> Fleet::kind_of(const std::shared_ptr<const Topology>& topology,
                                                  const topology::CpuSet& reserved,
                                                  bool strict_reservation) {
  const std::size_t print = fingerprint(*topology);
  auto [at, end] = kinds_.equal_range(print);
  while (at != end) {
    auto kind = at->second.lock();
    if (kind == nullptr) {
      at = kinds_.erase(at);
      continue;
    }
    const bool same_machine = kind->topology == topology || *kind->topology == *topology;
    const bool same_reserved =
        kind->reserved == reserved && kind->strict_reservation == strict_reservation;
    if (same_machine && same_reserved) return kind;
    ++at;
  }
  auto kind = std::make_shared<const MachineKind>(
      MachineKind{.topology = topology,
                  .reserved = reserved,
                  .strict_reservation = strict_reservation,
                  .idle = topology::holes_of(*topology, Ledger(reserved, strict_reservation))});
  if (kinds_.size() > 2 * nodes_.size() + 16) {
    std::erase_if(kinds_, [](const auto& entry) { return entry.second.expired(); });
  }
  kinds_.emplace(print, kind);
  return kind;
}

void Fleet::set_ledger(NodeIndex node, Ledger ledger) {
  for (const auto& [id, claim] : at(node).ledger.claims()) count_job(claim.job, node, -1);
  for (const auto& [id, claim] : ledger.claims()) count_job(claim.job, node, 1);
  at(node).ledger = std::move(ledger);
  refresh(node);
}

void Fleet::refresh(NodeIndex node) {
  FleetNode& it = at(node);
  topology::Holes holes = topology::holes_of(it.topology(), it.ledger);
  index_.update(node, by_name_.find(it.name)->first, it.holes, holes);
  it.holes = std::move(holes);
  digests_[static_cast<std::size_t>(node)] = digest_of(it.holes, it.kind->idle);
  set_stale(node, it.stale);
  it.pressure_level =
      pressure_level(it.topology(), memory_pressure(it.topology(), it.ledger, it.rates));
}

void Fleet::set_stale(NodeIndex node, bool stale) {
  at(node).stale = stale;
  digests_[static_cast<std::size_t>(node)].usable = !stale;
}

void Fleet::count_job(const std::string& job, NodeIndex node, int by) {
  if (job.empty()) return;
  std::map<NodeIndex, int>& nodes = jobs_[job];
  if ((nodes[node] += by) == 0) nodes.erase(node);
  if (nodes.empty()) jobs_.erase(job);
}

}  // namespace pinion::cluster
