#include "agent/client/machine.h"

#include "topology/words.h"

namespace pinion::agent::api {
namespace {

using topology::CpuSet;
using topology::Facts;
using topology::Index;
using topology::kNoIndex;
using topology::Topology;

std::uint32_t number(int value) {
  return static_cast<std::uint32_t>(value);
}

// Node `index` of the machine as the kernel's number. Error: kInvalid.
Result<topology::NodeId> node_id(const v1::Machine& machine, std::int32_t index,
                                 const std::string& whose) {
  if (index == kNoIndex) return kNoIndex;
  if (index < 0 || index >= machine.memory_nodes_size()) {
    return failure(Errc::kInvalid, whose + " is in memory node " + std::to_string(index) +
                                       " by index, of " +
                                       std::to_string(machine.memory_nodes_size()));
  }
  return static_cast<topology::NodeId>(machine.memory_nodes(index).id());
}

Result<CpuSet> cpus_of(const std::string& list, const char* what) {
  Result<CpuSet> cpus = CpuSet::parse(list);
  if (!cpus) return failure(std::move(cpus.error()).within(what));
  return cpus;
}

void add_memories(const v1::Machine& machine, Facts& facts) {
  for (const v1::Machine::MemoryNode& from : machine.memory_nodes()) {
    Facts::Memory memory;
    memory.node = static_cast<topology::NodeId>(from.id());
    memory.bytes = from.memory();
    for (const std::uint32_t distance : from.distance()) {
      memory.distance.push_back(static_cast<int>(distance));
    }
    facts.memories.push_back(std::move(memory));
  }
}

Status add_threads(const v1::Machine& machine, Facts& facts) {
  for (const v1::Machine::Cpu& cpu : machine.cpus()) {
    const auto node = node_id(machine, cpu.node(), "CPU " + std::to_string(cpu.cpu()));
    if (!node) return failure(node.error());
    facts.threads.push_back({.cpu = static_cast<int>(cpu.cpu()),
                             .core = static_cast<int>(cpu.core()),
                             .l2 = static_cast<int>(cpu.l2()),
                             .l3 = static_cast<int>(cpu.l3()),
                             .node = *node,
                             .package = static_cast<int>(cpu.package())});
  }
  return {};
}

Status add_devices(const v1::Machine& machine, Facts& facts) {
  for (const v1::Machine::Device& from : machine.devices()) {
    const auto node = node_id(machine, from.node(), "device " + from.name());
    if (!node) return failure(node.error());
    // A kind that a later agent may know places no container by itself: it is left out.
    if (from.kind() != "network" && from.kind() != "gpu") continue;
    facts.devices.push_back(
        {.kind = from.kind() == "gpu" ? topology::DeviceKind::kGpu : topology::DeviceKind::kNetwork,
         .name = from.name(),
         .pci = from.pci(),
         .node = *node});
  }
  return {};
}

// The claim of one exclusive container. Error: kInvalid.
Result<topology::Claim> claim_of(const v1::Container& container, const Topology& topology) {
  topology::Claim claim;
  claim.id = container.id();
  auto cpus = cpus_of(container.claim(), "claim");
  if (!cpus) return failure(cpus.error());
  claim.cpus = *cpus;
  auto mems = topology::NodeSet::parse(container.mems());
  if (!mems) return failure(std::move(mems.error()).within("mems"));
  claim.mems = *mems;
  for (const v1::MemoryPromise& promise : container.promised()) {
    const Index node = topology.node_index(static_cast<topology::NodeId>(promise.node()));
    if (node == kNoIndex) {
      return failure(Errc::kInvalid, "memory is promised from NUMA node " +
                                         std::to_string(promise.node()) +
                                         ", which the machine has not");
    }
    claim.memory.push_back({.node = node, .bytes = promise.bytes()});
  }
  claim.job = container.job();
  claim.task_group = container.task_group();
  claim.profile =
      value_of(container.profile(), topology::kProfileWords).value_or(topology::Profile::kNone);
  return claim;
}

// What commit() would stop the process for.
Status check(const topology::Claim& claim, const topology::Ledger& ledger,
             const Topology& topology) {
  const std::string cpus = "CPUs '" + claim.cpus.to_string() + "'";
  if (claim.cpus.empty()) return failure(Errc::kInvalid, "is exclusive and holds no CPU");
  if (!claim.cpus.is_subset_of(topology.online)) {
    return failure(Errc::kInvalid, cpus + " are not all online");
  }
  if (claim.cpus.intersects(ledger.reserved())) {
    return failure(Errc::kInvalid, cpus + " are reserved ones in part");
  }
  if (claim.cpus.intersects(ledger.exclusive())) {
    return failure(Errc::kInvalid, cpus + " are held by another container in part");
  }
  if (ledger.find(claim.id) != nullptr) return failure(Errc::kInvalid, "is given twice");
  return {};
}

}  // namespace

v1::Machine machine_of(const Topology& topology) {
  v1::Machine machine;
  for (const topology::Pu& pu : topology.pus) {
    v1::Machine::Cpu& cpu = *machine.add_cpus();
    cpu.set_cpu(number(pu.cpu));
    cpu.set_core(number(pu.core));
    cpu.set_l2(number(pu.l2));
    cpu.set_l3(number(pu.l3));
    cpu.set_node(pu.node);
    cpu.set_package(number(pu.package));
  }
  for (const topology::Node& node : topology.nodes) {
    v1::Machine::MemoryNode& memory = *machine.add_memory_nodes();
    memory.set_id(number(node.id));
    memory.set_memory(node.memory);
    for (const int distance : node.distance) memory.add_distance(number(distance));
    memory.set_cpus(node.cpus.to_string());
  }
  machine.set_offline(topology.offline.to_string());
  machine.set_isolated(topology.isolated.to_string());
  for (const topology::Device& from : topology.devices) {
    v1::Machine::Device& device = *machine.add_devices();
    device.set_kind(from.kind == topology::DeviceKind::kGpu ? "gpu" : "network");
    device.set_name(from.name);
    device.set_pci(from.pci);
    device.set_node(from.node);
  }
  return machine;
}

Result<Facts> facts_of(const v1::Machine& machine) {
  Facts facts;
  add_memories(machine, facts);
  if (Status added = add_threads(machine, facts); !added) return failure(added.error());
  if (Status added = add_devices(machine, facts); !added) return failure(added.error());
  auto offline = cpus_of(machine.offline(), "offline");
  if (!offline) return failure(offline.error());
  facts.offline = *offline;
  auto isolated = cpus_of(machine.isolated(), "isolated");
  if (!isolated) return failure(isolated.error());
  facts.isolated = *isolated;
  return facts;
}

Result<Topology> topology_of(const v1::Machine& machine) {
  Result<Facts> facts = facts_of(machine);
  if (!facts) return failure(std::move(facts.error()).within("machine"));
  Result<Topology> topology = topology::make_topology(*facts);
  if (!topology) return failure(std::move(topology.error()).within("machine"));
  return topology;
}

Result<topology::Ledger> ledger_of(const v1::Snapshot& snapshot, const Topology& topology) {
  auto reserved = cpus_of(snapshot.node().sets().reserved(), "reserved");
  if (!reserved) return failure(reserved.error());
  topology::Ledger ledger(*reserved, snapshot.node().strict_reservation());
  ledger.set_shared_memory(snapshot.node().shared_memory());
  for (const v1::Container& container : snapshot.containers()) {
    if (!container.exclusive() || container.finished()) continue;
    Result<topology::Claim> claim = claim_of(container, topology);
    if (!claim) return failure(std::move(claim.error()).within("container " + container.id()));
    if (Status sound = check(*claim, ledger, topology); !sound) {
      return failure(std::move(sound.error()).within("container " + container.id()));
    }
    ledger.commit(*std::move(claim));
  }
  return ledger;
}

}  // namespace pinion::agent::api
