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

// A pod that moved may be known from its new node by now: that stays.
void Fleet::forget_running(NodeIndex node) {
  for (const auto& [id, claim] : at(node).ledger.claims()) {
    const auto known = running_.find(id);
    if (known != running_.end() && known->second == node) running_.erase(known);
  }
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
  const auto running = running_.find(id);
  if (running != running_.end() && running->second == node) running_.erase(running);
  refresh(node);
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
