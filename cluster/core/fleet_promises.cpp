// What was promised on nodes and is not reported there yet.
#include <algorithm>
#include <utility>

#include "cluster/core/fleet.h"

namespace pinion::cluster {
namespace {

using topology::Claim;
using topology::CpuSet;
using topology::Ledger;
using topology::Outcome;
using topology::Refusal;
using topology::Request;
using topology::Topology;

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

}  // namespace

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

}  // namespace pinion::cluster
