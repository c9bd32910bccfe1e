#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/machine.h"
#include "topology/topology.h"

namespace pinion::topology {
namespace {

using test_support::facts_of;
using test_support::kGiB;
using test_support::machine;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(MakeTopology, GivesDenseTablesInAscendingOrderOfCpu) {
  const Topology laptop = machine({.cores_per_l3 = 2, .threads_per_core = 2});
  ASSERT_EQ(laptop.pus.size(), 4U);
  EXPECT_EQ(laptop.online, CpuSet::range(0, 3));
  ASSERT_EQ(laptop.cores.size(), 2U);
  EXPECT_EQ(laptop.cores[0].cpus, (CpuSet{0, 2}));
  EXPECT_EQ(laptop.cores[1].cpus, (CpuSet{1, 3}));
  EXPECT_EQ(laptop.pus[3].cpu, 3);
  EXPECT_EQ(laptop.pus[3].core, 1);
  EXPECT_EQ(laptop.pus[3].l2, 1);
  EXPECT_EQ(laptop.pus[3].l3, 0);
  EXPECT_EQ(laptop.pus[3].node, 0);
  EXPECT_EQ(laptop.pus[3].package, 0);
  EXPECT_THAT(laptop.pu_of_cpu, ElementsAre(0, 1, 2, 3));
}

TEST(MakeTopology, TakesThreadsAndNumbersInAnyOrder) {
  Facts facts;
  facts.memories = {{.node = 9, .bytes = kGiB, .distance = {10, 20}},
                    {.node = 3, .bytes = 2 * kGiB, .distance = {30, 10}}};
  facts.threads = {{.cpu = 12, .core = 70, .l2 = -1, .l3 = 5, .node = 9, .package = 44},
                   {.cpu = 4, .core = 99, .l2 = -1, .l3 = 6, .node = 3, .package = 22}};
  facts.l3_sizes = {{5, 500}, {6, 600}};
  const Topology sparse = machine(facts);
  EXPECT_EQ(sparse.pus[0].cpu, 4);
  EXPECT_EQ(sparse.pus[0].core, 0);
  EXPECT_EQ(sparse.pus[0].package, 0);
  EXPECT_EQ(sparse.l3s[0].size, 600U);
  EXPECT_EQ(sparse.l3s[1].size, 500U);
  ASSERT_EQ(sparse.nodes.size(), 2U);
  EXPECT_EQ(sparse.nodes[0].id, 3);
  EXPECT_EQ(sparse.nodes[0].cpus, (CpuSet{4}));
  // Rows and columns have moved with the nodes.
  EXPECT_THAT(sparse.nodes[0].distance, ElementsAre(10, 30));
  EXPECT_THAT(sparse.nodes[1].distance, ElementsAre(20, 10));
  EXPECT_EQ(sparse.pu_of_cpu.size(), 13U);
  EXPECT_EQ(sparse.find(4), &sparse.pus[0]);
  for (const CpuId absent : {-1, 0, 5, 13, 5000}) EXPECT_EQ(sparse.find(absent), nullptr);
}

TEST(MakeTopology, CutsAnL3ThatCrossesNodes) {
  Facts facts = facts_of({.nodes_per_package = 2, .cores_per_l3 = 2});
  for (Facts::Thread& thread : facts.threads) thread.l3 = 0;
  const Topology clustered = machine(facts);
  ASSERT_EQ(clustered.l3s.size(), 2U);
  EXPECT_EQ(clustered.l3s[0].cpus, (CpuSet{0, 1}));
  EXPECT_EQ(clustered.l3s[0].node, 0);
  EXPECT_EQ(clustered.l3s[1].cpus, (CpuSet{2, 3}));
  EXPECT_EQ(clustered.l3s[1].node, 1);
  EXPECT_EQ(clustered.l3s[1].size, clustered.l3s[0].size);
}

TEST(MakeTopology, StandsInForCachesThatAreNotThere) {
  Facts facts = facts_of({.packages = 2, .cores_per_l3 = 2, .threads_per_core = 2});
  for (Facts::Thread& thread : facts.threads) thread.l2 = thread.l3 = -1;
  const Topology bare = machine(facts);
  ASSERT_EQ(bare.l2s.size(), 4U) << "one for each core";
  EXPECT_EQ(bare.l2s[0].cpus, bare.cores[0].cpus);
  EXPECT_EQ(bare.l2s[0].size, 0U);
  ASSERT_EQ(bare.l3s.size(), 2U) << "one for each node";
  EXPECT_EQ(bare.l3s[1].cpus, bare.nodes[1].cpus);
  EXPECT_EQ(bare.l3s[1].size, 0U);
}

TEST(MakeTopology, CutsTheStandInOfANodeThatSpansPackages) {
  Facts facts = facts_of({.packages = 2, .cores_per_l3 = 2});
  facts.memories.pop_back();
  facts.memories[0].distance = {10};
  for (Facts::Thread& thread : facts.threads) {
    thread.node = 0;
    thread.l3 = -1;
  }
  const Topology interleaved = machine(facts);
  ASSERT_EQ(interleaved.l3s.size(), 2U);
  EXPECT_EQ(interleaved.l3s[0].package, 0);
  EXPECT_EQ(interleaved.l3s[1].package, 1);
  EXPECT_EQ(interleaved.nodes[0].package, kNoIndex);
  EXPECT_EQ(interleaved.nodes[0].cpus, interleaved.online);
}

TEST(MakeTopology, KeepsSharedL2sAboveTheirCores) {
  Facts facts = facts_of({.cores_per_l3 = 4});
  for (Facts::Thread& thread : facts.threads) thread.l2 = thread.core / 2;
  const Topology modules = machine(facts);
  ASSERT_EQ(modules.l2s.size(), 2U);
  EXPECT_EQ(modules.l2s[1].cpus, (CpuSet{2, 3}));
  EXPECT_EQ(modules.cores.size(), 4U);
}

TEST(MakeTopology, AcceptsCpusInNoNode) {
  Facts facts = facts_of({.cores_per_l3 = 2});
  facts.threads[1].node = -1;
  const Topology orphan = machine(facts);
  EXPECT_EQ(orphan.pus[1].node, kNoIndex);
  EXPECT_EQ(orphan.nodes[0].cpus, (CpuSet{0}));
  EXPECT_EQ(orphan.l3s.size(), 2U) << "an L3 domain lies in one node";
  EXPECT_TRUE(orphan.nodes_of(CpuSet{1}).empty());
}

TEST(MakeTopology, KnowsWhichNodesHaveMemory) {
  const Topology mixed = test_support::mixed_nodes();
  EXPECT_EQ(mixed.memory_nodes(), (NodeSet{1, 2}));
  EXPECT_EQ(mixed.nodes_of(mixed.online), (NodeSet{1})) << "0 has no memory, 2 no CPUs";
  EXPECT_TRUE(mixed.nodes_of(CpuSet{0}).empty());
  EXPECT_EQ(mixed.nodes_of(CpuSet{8}), (NodeSet{1}));
  EXPECT_EQ(mixed.node_index(2), 2);
  EXPECT_EQ(mixed.node_index(3), kNoIndex);
  EXPECT_EQ(mixed.nodes[2].package, kNoIndex);
}

TEST(MakeTopology, SortsDevicesAndTranslatesTheirNodes) {
  Facts facts = facts_of({.packages = 2});
  facts.memories[0].node = 4;
  facts.memories[1].node = 8;
  facts.threads[0].node = 4;
  facts.threads[1].node = 8;
  facts.devices = {{DeviceKind::kGpu, "card0", "", 8},    {DeviceKind::kNetwork, "eth1", "", 8},
                   {DeviceKind::kNetwork, "eth0", "", 8}, {DeviceKind::kNetwork, "eth2", "", -1},
                   {DeviceKind::kNetwork, "eth3", "", 5}, {DeviceKind::kGpu, "card1", "", 4}};
  std::vector<std::string> names;
  std::vector<Index> nodes;
  for (const Device& device : machine(facts).devices) {
    names.push_back(device.name);
    nodes.push_back(device.node);
  }
  EXPECT_THAT(names, ElementsAre("eth2", "eth3", "card1", "eth0", "eth1", "card0"));
  EXPECT_THAT(nodes, ElementsAre(kNoIndex, kNoIndex, 0, 1, 1, 1));
}

TEST(MakeTopology, KeepsOfflineAndIsolatedWithinTheMachine) {
  Facts facts = facts_of({.cores_per_l3 = 4, .offline = {3}, .isolated = {1, 3, 77}});
  facts.offline.add(0);  // says the opposite of `threads`, which are right
  const Topology four = machine(facts);
  EXPECT_EQ(four.online, CpuSet::range(0, 2));
  EXPECT_EQ(four.offline, (CpuSet{3}));
  EXPECT_EQ(four.isolated, (CpuSet{1, 3}));
}

TEST(MakeTopology, NamesTheFault) {
  const Facts sound = facts_of({.packages = 2, .cores_per_l3 = 2});
  ASSERT_TRUE(make_topology(sound));
  struct Case {
    std::string name;
    std::function<void(Facts&)> spoil;
    std::string text;
  };
  const std::vector<Case> cases = {
      {"no CPUs", [](Facts& f) { f.threads.clear(); }, "no CPUs"},
      {"CPU twice", [](Facts& f) { f.threads[1].cpu = 0; }, "CPU 0 is given twice"},
      {"CPU negative", [](Facts& f) { f.threads[1].cpu = -1; }, "CPU -1: its number is outside"},
      {"CPU too high", [](Facts& f) { f.threads[1].cpu = 4096; }, "CPU 4096: its number is"},
      {"node twice", [](Facts& f) { f.memories[1].node = 0; }, "NUMA node 0 is given twice"},
      {"node negative", [](Facts& f) { f.memories[1].node = -1; }, "NUMA node -1: its number"},
      {"node too high", [](Facts& f) { f.memories[1].node = 1024; }, "NUMA node 1024: its number"},
      {"unlisted node", [](Facts& f) { f.threads[2].node = 7; },
       "CPU 2 is in NUMA node 7, which is not listed"},
      {"short distances", [](Facts& f) { f.memories[1].distance.pop_back(); },
       "NUMA node 1 has 1 distances, the machine 2 nodes"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    Facts facts = sound;
    one.spoil(facts);
    const auto made = make_topology(facts);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Errc::kInvalid);
    EXPECT_THAT(made.error().text, HasSubstr(one.text));
  }
}

TEST(NamedMachines, AreWhatTheirNamesSay) {
  struct Case {
    std::string name;
    Topology machine;
    std::size_t packages, nodes, l3s, cores, cpus;
  };
  const std::vector<Case> cases = {
      {"single_cpu", test_support::single_cpu(), 1, 1, 1, 1, 1},
      {"two_core_vm", test_support::two_core_vm(), 1, 1, 1, 2, 2},
      {"laptop", test_support::laptop(), 1, 1, 1, 4, 8},
      {"xeon_snc2", test_support::xeon_snc2(), 2, 4, 4, 48, 96},
      {"epyc_2s_nps4", test_support::epyc_2s_nps4(), 2, 8, 16, 128, 256},
      {"epyc_rome_256", test_support::epyc_rome_256(), 2, 8, 32, 128, 256},
      {"eight_nodes_256", test_support::eight_nodes_256(), 8, 8, 8, 128, 256},
      {"gb200_like_34_nodes", test_support::gb200_like_34_nodes(), 2, 34, 2, 144, 144},
      {"cxl_node", test_support::cxl_node(), 1, 2, 1, 16, 32},
      {"mixed_nodes", test_support::mixed_nodes(), 2, 3, 2, 16, 16},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(one.machine.packages.size(), one.packages);
    EXPECT_EQ(one.machine.nodes.size(), one.nodes);
    EXPECT_EQ(one.machine.l3s.size(), one.l3s);
    EXPECT_EQ(one.machine.cores.size(), one.cores);
    EXPECT_EQ(one.machine.pus.size(), one.cpus);
  }
}

}  // namespace
}  // namespace pinion::topology
