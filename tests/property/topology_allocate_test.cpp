// Properties of allocate, resize, release and largest on random machines.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/property/topology_gen.h"
#include "tests/property/topology_oracle.h"
#include "topology/adopt.h"

namespace pinion::topology {
namespace {

bool is_whole_cores(const Topology& machine, const CpuSet& cpus) {
  return std::all_of(machine.cores.begin(), machine.cores.end(), [&](const Core& core) {
    return !core.cpus.intersects(cpus) || core.cpus.is_subset_of(cpus);
  });
}

bool is_one_per_core(const Topology& machine, const CpuSet& held, const CpuSet& cpus) {
  return std::all_of(machine.cores.begin(), machine.cores.end(), [&](const Core& core) {
    return core.cpus.count_common(cpus) == (core.cpus.intersects(held) ? 1 : 0);
  });
}

bool in_one_domain(const Topology& machine, const CpuSet& cpus, Align align) {
  const std::vector<CpuSet> domains = Oracle::domains(machine, align);
  return std::any_of(domains.begin(), domains.end(),
                     [&](const CpuSet& domain) { return cpus.is_subset_of(domain); });
}

Bytes promised_to(const Claim& claim) {
  Bytes total = 0;
  for (const Claim::Share& share : claim.memory) total += share.bytes;
  return total;
}

// A claim that moves CPUs in or out of the container must keep to all rules.
void check_sound(const Topology& machine, const Ledger& before, const Request& request,
                 const Decision& decision) {
  const CpuSet& held = decision.claim.cpus;
  const CpuSet& cpus = decision.cpus;
  RC_ASSERT(decision.claim.id == request.id);
  RC_ASSERT(cpus.count() == request.cpus);
  RC_ASSERT(cpus.is_subset_of(held));
  RC_ASSERT(held.is_subset_of(machine.online - before.reserved()));
  const Claim* own = before.find(request.id);
  const CpuSet others = own == nullptr ? before.exclusive() : before.exclusive() - own->cpus;
  RC_ASSERT(!held.intersects(others));
  RC_ASSERT(in_one_domain(machine, held, decision.why.met));
  if (request.smt == Smt::kOnePerCore) RC_ASSERT(is_one_per_core(machine, held, cpus));
  if (request.smt != Smt::kOnePerCore) RC_ASSERT(held == cpus);
  const bool isolated = held.intersects(machine.isolated);
  // Only a container that was taken over may be on both kinds of CPUs.
  if (isolated && (own == nullptr || own->cpus.is_subset_of(machine.isolated))) {
    RC_ASSERT(held.is_subset_of(machine.isolated));
  }
  RC_ASSERT(isolated == decision.why.isolated);
}

// Of one that is not bound nothing is left out while its own nodes have any memory left.
void check_unbound(const Topology& machine, const Ledger& before, const Request& request,
                   const Claim& claim) {
  RC_ASSERT(claim.mems.empty());
  RC_ASSERT(promised_to(claim) <= request.memory);
  if (promised_to(claim) == request.memory) return;
  Ledger after = before;
  after.commit(claim);
  for (const NodeId node : machine.nodes_of(claim.cpus)) {
    const Index index = machine.node_index(node);
    RC_ASSERT(after.promised(index) >= machine.nodes[static_cast<std::size_t>(index)].memory);
  }
}

void check_memory(const Topology& machine, const Ledger& before, const Request& request,
                  const Decision& decision) {
  const Claim& claim = decision.claim;
  if (request.memory_policy != MemoryPolicy::kBind) {
    check_unbound(machine, before, request, claim);
    return;
  }
  RC_ASSERT(machine.nodes_of(claim.cpus).is_subset_of(claim.mems));
  RC_ASSERT(claim.mems.is_subset_of(machine.memory_nodes()));
  if (machine.memory_nodes().empty()) return;
  RC_ASSERT(!claim.mems.empty());
  RC_ASSERT(promised_to(claim) == request.memory);
  for (const Claim::Share& share : claim.memory) {
    RC_ASSERT(claim.mems.contains(machine.nodes[static_cast<std::size_t>(share.node)].id));
  }
}

// Under kPreferFull: whole cores as far as the number allows, the rest on cores that were split.
void check_whole_first(const Topology& machine, const Ledger& before, const Request& request,
                       const Decision& decision) {
  const CpuSet& cpus = decision.cpus;
  CpuSet free = machine.online - before.reserved() - before.exclusive();
  free = decision.why.isolated ? free & machine.isolated : free - machine.isolated;
  int whole = 0;
  int fresh = 0;
  for (const Core& core : machine.cores) {
    if (core.cpus.is_subset_of(cpus)) {
      whole += core.cpus.count();
    } else if (core.cpus.intersects(cpus) && core.cpus.is_subset_of(free)) {
      ++fresh;
    }
  }
  const std::vector<CpuSet> domains = Oracle::domains(machine, decision.why.met);
  const auto domain = std::find_if(domains.begin(), domains.end(),
                                   [&](const CpuSet& set) { return cpus.is_subset_of(set); });
  RC_ASSERT(domain != domains.end());
  RC_ASSERT(whole == Oracle::most_whole(machine, free & *domain, request.cpus));
  RC_ASSERT(fresh <= 1);
  if (fresh == 0) return;
  // Then nothing is left on the domain's split cores.
  const bool spent = std::all_of(machine.cores.begin(), machine.cores.end(), [&](const Core& core) {
    return core.cpus.is_subset_of(free) || (core.cpus & free & *domain).is_subset_of(cpus);
  });
  RC_ASSERT(spent);
}

void check_ledger(const Topology& machine, const Ledger& ledger) {
  CpuSet seen;
  std::vector<Bytes> promised(machine.nodes.size());
  for (const auto& [id, claim] : ledger.claims()) {
    RC_ASSERT(!claim.cpus.intersects(seen));
    seen |= claim.cpus;
    for (const Claim::Share& share : claim.memory) {
      promised[static_cast<std::size_t>(share.node)] += share.bytes;
    }
  }
  RC_ASSERT(seen == ledger.exclusive());
  for (std::size_t node = 0; node < promised.size(); ++node) {
    RC_ASSERT(promised[node] == ledger.promised(static_cast<Index>(node)));
    RC_ASSERT(promised[node] <= machine.nodes[node].memory);
  }
  const CpuSet open = machine.online - ledger.reserved();
  const bool guarded = ledger.strict() || open == machine.online;
  if (guarded && !open.empty()) RC_ASSERT(!open.is_subset_of(seen));
}

RC_GTEST_PROP(Allocate, ADecisionKeepsToTheRules, ()) {
  const Topology machine = random_machine();
  const Ledger ledger = used(machine);
  const Request request = random_request(machine, "new");
  log(machine, ledger, request);
  const Outcome outcome = allocate(machine, ledger, request);
  const auto* decision = std::get_if<Decision>(&outcome);
  if (decision == nullptr) RC_DISCARD("refused");
  check_sound(machine, ledger, request, *decision);
  check_memory(machine, ledger, request, *decision);
  if (request.smt == Smt::kFullCore) RC_ASSERT(is_whole_cores(machine, decision->claim.cpus));
  if (request.smt == Smt::kPreferFull && request.preferred.empty()) {
    check_whole_first(machine, ledger, request, *decision);
  }
  if (request.strength == Strength::kRequired) RC_ASSERT(decision->why.met == request.align);
  RC_ASSERT(decision->why.free_before - decision->why.free_after == decision->claim.cpus.count());
}

RC_GTEST_PROP(Allocate, RefusesOnlyWhatCannotBe, ()) {
  const Topology machine = random_machine();
  const Ledger ledger = used(machine);
  Request request = random_request(machine, "new");
  log(machine, ledger, request);
  const Outcome outcome = allocate(machine, ledger, request);
  const auto* decision = std::get_if<Decision>(&outcome);
  const Oracle oracle(machine, ledger);
  const Align asked = request.align;
  std::optional<Align> narrowest;
  for (int level = static_cast<int>(asked); level <= static_cast<int>(Align::kNone); ++level) {
    request.align = static_cast<Align>(level);
    if (!narrowest && oracle.fits(request)) narrowest = request.align;
  }
  if (request.strength == Strength::kRequired) {
    RC_ASSERT((decision != nullptr) == (narrowest == asked));
    if (decision == nullptr) RC_ASSERT(std::get<Refusal>(outcome).fits_with == narrowest);
  } else {
    RC_ASSERT((decision != nullptr) == narrowest.has_value());
    if (decision != nullptr) RC_ASSERT(decision->why.met == *narrowest);
  }
}

RC_GTEST_PROP(Allocate, SameArgumentsSameAnswer, ()) {
  const Topology machine = random_machine();
  const Ledger ledger = used(machine);
  const Request request = random_request(machine, "new");
  const Topology same_machine = machine;
  const Ledger same_ledger = ledger;
  RC_ASSERT(allocate(machine, ledger, request) == allocate(same_machine, same_ledger, request));
}

RC_GTEST_PROP(Allocate, WhatItHadIsGivenAgain, ()) {
  const Topology machine = random_machine();
  Ledger ledger = used(machine);
  Request request = random_request(machine, "new");
  const Outcome first = allocate(machine, ledger, request);
  const auto* decision = std::get_if<Decision>(&first);
  if (decision == nullptr) RC_DISCARD("refused");
  // Others leave meanwhile, so that better places appear.
  for (int i = 0; i < 8; ++i) {
    if (one_in(2)) ledger.release("c" + std::to_string(i));
  }
  request.preferred = decision->cpus;
  request.align = decision->why.met;
  log(machine, ledger, request);
  const Outcome again = allocate(machine, ledger, request);
  RC_ASSERT(std::holds_alternative<Decision>(again));
  RC_ASSERT(std::get<Decision>(again).cpus == decision->cpus);
  RC_ASSERT(std::get<Decision>(again).claim.cpus == decision->claim.cpus);
}

RC_GTEST_PROP(Ledger, ReleaseUndoesAllocate, ()) {
  const Topology machine = random_machine();
  const Ledger before = used(machine);
  const Outcome outcome = allocate(machine, before, random_request(machine, "new"));
  const auto* decision = std::get_if<Decision>(&outcome);
  if (decision == nullptr) RC_DISCARD("refused");
  Ledger ledger = before;
  ledger.commit(decision->claim);
  RC_ASSERT(ledger != before);
  RC_ASSERT(ledger.release("new"));
  RC_ASSERT(ledger == before);
}

RC_GTEST_PROP(Largest, FitsAndOneStepMoreDoesNot, ()) {
  const Topology machine = random_machine();
  const Ledger ledger = used(machine);
  Request request;
  request.id = "new";
  request.align = static_cast<Align>(pick_below(4));
  request.smt = static_cast<Smt>(pick_below(4));
  request.memory_policy = MemoryPolicy::kAny;
  log(machine, ledger, request);
  const int most = largest(machine, ledger, request.align, request.smt);
  const Oracle oracle(machine, ledger);
  if (most > 0) {
    request.cpus = most;
    RC_ASSERT(std::holds_alternative<Decision>(allocate(machine, ledger, request)));
  }
  for (request.cpus = most + 1; request.cpus <= machine.online.count(); ++request.cpus) {
    const Outcome outcome = allocate(machine, ledger, request);
    RC_ASSERT(std::holds_alternative<Refusal>(outcome));
    RC_ASSERT(!oracle.fits(request));
    const Refusal& refusal = std::get<Refusal>(outcome);
    RC_ASSERT(refusal.largest == most);
    RC_ASSERT(!refusal.text.empty());
  }
}

void check_resize(const Topology& machine, const Ledger& ledger, const Request& request,
                  const Decision& decision) {
  const Claim* own = ledger.find(request.id);
  if (own == nullptr) return;
  const CpuSet& now = decision.claim.cpus;
  RC_ASSERT(now.is_subset_of(own->cpus) || own->cpus.is_subset_of(now));
  if (!own->mems.empty() && !decision.claim.mems.empty()) {
    RC_ASSERT(own->mems.is_subset_of(decision.claim.mems));
  }
  check_sound(machine, ledger, request, decision);
  check_memory(machine, ledger, request, decision);
}

// A container that ran before the agent did, on CPUs that nobody chose by these rules.
void take_over(const Topology& machine, const std::string& id, Ledger& ledger,
               std::map<std::string, Request>& live) {
  if (live.count(id) > 0) return;
  const CpuSet free = machine.online - ledger.reserved() - ledger.exclusive();
  const CpuSet there = some_of(free, 4);
  Request request = random_request(machine, id);
  request.cpus = there.count();
  request.memory = 0;  // what is in use already may be more than a node has: see check_ledger
  const Outcome outcome = adopt(machine, ledger, request, there);
  const auto* decision = std::get_if<Decision>(&outcome);
  if (decision == nullptr) return;
  RC_ASSERT(decision->cpus == there);
  // adopt leaves it to its caller that a CPU is left to the others.
  if (decision->claim.cpus == free) return;
  ledger.commit(decision->claim);
  live[id] = request;
}

// A long life of a node: at every step all invariants hold.
RC_GTEST_PROP(Sequence, KeepsTheInvariants, ()) {
  const Topology machine = random_machine();
  Ledger ledger = random_ledger(machine);
  const Ledger empty = ledger;
  std::map<std::string, Request> live;
  for (int step = 0; step < 80; ++step) {
    const std::string id = "c" + std::to_string(pick_below(12));
    if (one_in(12)) {
      take_over(machine, id, ledger, live);
    } else if (one_in(3)) {
      RC_ASSERT(ledger.release(id) == (live.erase(id) > 0));
    } else {
      Request request = random_request(machine, id);
      // A container's SMT policy and its isolation stay what they were at its creation.
      if (const auto before = live.find(id); before != live.end()) {
        request.smt = before->second.smt;
        request.use_isolated = before->second.use_isolated;
      }
      log(machine, ledger, request);
      const Outcome outcome = resize(machine, ledger, request);
      if (const auto* decision = std::get_if<Decision>(&outcome)) {
        check_resize(machine, ledger, request, *decision);
        ledger.commit(decision->claim);
        live[id] = request;
      }
    }
    check_ledger(machine, ledger);
  }
  for (const auto& [id, request] : live) RC_ASSERT(ledger.release(id));
  RC_ASSERT(ledger == empty);
}

RC_GTEST_PROP(Resize, ThereAndBackKeepsTheCpus, ()) {
  const Topology machine = random_machine();
  Ledger ledger = used(machine);
  Request request = random_request(machine, "new");
  const Outcome first = allocate(machine, ledger, request);
  const auto* decision = std::get_if<Decision>(&first);
  if (decision == nullptr) RC_DISCARD("refused");
  ledger.commit(decision->claim);
  const int before = request.cpus;
  request.cpus += 1 + pick_below(4);
  request.preferred = decision->cpus;
  log(machine, ledger, request);
  const Outcome grown = resize(machine, ledger, request);
  const auto* bigger = std::get_if<Decision>(&grown);
  if (bigger == nullptr) RC_DISCARD("refused");
  RC_ASSERT(decision->cpus.is_subset_of(bigger->cpus));
  ledger.commit(bigger->claim);
  request.cpus = before;
  const Outcome shrunk = resize(machine, ledger, request);
  RC_ASSERT(std::holds_alternative<Decision>(shrunk));
  RC_ASSERT(std::get<Decision>(shrunk).cpus.is_subset_of(bigger->cpus));
  RC_ASSERT(std::get<Decision>(shrunk).cpus.count() == before);
}

}  // namespace
}  // namespace pinion::topology
