// Random machines, ledgers and requests for the properties of topology/.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "tests/support/machine.h"
#include "topology/allocate.h"

namespace pinion::topology {

// One of 0 .. bound-1, whatever the size of the test case; shrinks towards 0.
inline int pick_below(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}

inline bool one_in(int n) {
  return pick_below(n) == 0;
}

inline CpuSet some_of(const CpuSet& cpus, int one_in_n) {
  CpuSet some;
  for (const CpuId cpu : cpus) {
    if (one_in(one_in_n)) some.add(cpu);
  }
  return some;
}

// Up to 64 CPUs. One machine in three is irregular: CPUs offline, isolated, nodes without memory,
// nodes that span packages, or CPUs outside all nodes.
inline Topology random_machine() {
  test_support::MachineSpec spec;
  spec.packages = 1 + pick_below(2);
  spec.nodes_per_package = 1 + pick_below(2);
  spec.l3s_per_node = 1 + pick_below(2);
  spec.cores_per_l3 = 1 + pick_below(4);
  spec.threads_per_core = one_in(8) ? 4 : 1 + pick_below(2);
  spec.memory_per_node = test_support::kGiB * static_cast<Bytes>(1 + pick_below(8));
  spec.memory_only_nodes = one_in(4) ? 1 : 0;
  spec.siblings = one_in(2) ? test_support::Siblings::kLast : test_support::Siblings::kAdjacent;
  Facts facts = test_support::facts_of(spec);
  facts.devices.push_back(
      {.kind = DeviceKind::kNetwork, .name = "eth0", .pci = "0000:01:00.0", .node = pick_below(2)});
  if (!one_in(3)) return test_support::machine(facts);

  const bool numa_off = one_in(4);
  std::vector<Facts::Thread> online;
  for (Facts::Thread thread : facts.threads) {
    if (numa_off) thread.node = 0;
    if (one_in(24)) thread.node = -1;
    if (!online.empty() && one_in(6)) {
      facts.offline.add(thread.cpu);
    } else {
      online.push_back(thread);
      if (one_in(5)) facts.isolated.add(thread.cpu);
    }
  }
  facts.threads = online;
  for (Facts::Memory& memory : facts.memories) {
    if (one_in(4)) memory.bytes = 0;
    if (one_in(4)) memory.distance.clear();
  }
  return test_support::machine(facts);
}

inline Ledger random_ledger(const Topology& machine) {
  switch (pick_below(3)) {
    case 0:
      return Ledger();
    case 1:
      return Ledger(CpuSet{machine.online.first()}, one_in(4));
    default:
      return Ledger(some_of(machine.online, 8), one_in(4));
  }
}

inline Request random_request(const Topology& machine, const std::string& id) {
  Request request;
  request.id = id;
  request.cpus = 1 + pick_below(one_in(3) ? 16 : 5);
  request.align = static_cast<Align>(pick_below(4));
  request.strength = one_in(2) ? Strength::kRequired : Strength::kPreferred;
  request.smt = static_cast<Smt>(pick_below(4));
  request.memory_policy = static_cast<MemoryPolicy>(pick_below(3));
  if (one_in(2)) request.memory = test_support::kGiB / 2 * static_cast<Bytes>(pick_below(12));
  if (one_in(4) && !machine.devices.empty()) request.near_device = machine.devices.front().name;
  if (one_in(2)) {
    request.job = "job";
    request.task_group = "group-" + std::to_string(pick_below(2));
  }
  request.profile = static_cast<Profile>(pick_below(4));
  request.use_isolated = one_in(4);
  if (one_in(4)) request.preferred = some_of(machine.online, 3);
  return request;
}

// A ledger with some containers in it.
inline Ledger used(const Topology& machine) {
  Ledger ledger = random_ledger(machine);
  const int containers = pick_below(8);
  for (int i = 0; i < containers; ++i) {
    const Outcome outcome =
        allocate(machine, ledger, random_request(machine, "c" + std::to_string(i)));
    if (const auto* decision = std::get_if<Decision>(&outcome)) ledger.commit(decision->claim);
  }
  return ledger;
}

// What stands in the report of a failing case.
inline void log(const Topology& machine, const Ledger& ledger, const Request& request) {
  std::ostream& out = RC_LOG();
  for (const Core& core : machine.cores) {
    out << "core " << core.cpus.to_string() << " L3 " << core.l3 << " node " << core.node
        << " package " << core.package << "\n";
  }
  for (const Node& node : machine.nodes) {
    out << "node " << node.id << ": " << node.memory << " bytes\n";
  }
  out << "isolated " << machine.isolated.to_string() << ", reserved "
      << ledger.reserved().to_string() << "\n";
  for (const auto& [id, claim] : ledger.claims()) {
    out << id << " holds " << claim.cpus.to_string() << "\n";
  }
  out << "asked: " << request.cpus << " CPUs, align " << to_string(request.align) << ", strength "
      << static_cast<int>(request.strength) << ", smt " << static_cast<int>(request.smt)
      << ", memory " << request.memory << " policy " << static_cast<int>(request.memory_policy)
      << ", before " << request.preferred.to_string() << ", isolated " << request.use_isolated
      << "\n";
}

}  // namespace pinion::topology
