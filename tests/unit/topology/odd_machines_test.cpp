// Machines that are not regular: cores of different sizes, siblings offline, nodes that span
// packages, nodes without CPUs or memory, CPUs outside all nodes.
#include "tests/unit/topology/scene.h"

namespace pinion::topology {
namespace {

using test_support::cxl_node;
using test_support::facts_of;
using test_support::gb200_like_34_nodes;
using test_support::kGiB;
using test_support::machine;
using test_support::single_cpu;

// 2 cores of two threads (0-1, 2-3) and 4 of one (4-7), in one L3.
Topology hybrid() {
  Facts facts;
  facts.memories = {{.node = 0, .bytes = 16 * kGiB, .distance = {}}};
  for (int cpu = 0; cpu < 8; ++cpu) {
    facts.threads.push_back({.cpu = cpu, .core = cpu < 4 ? cpu / 2 : cpu, .l2 = -1, .l3 = 0});
  }
  return machine(facts);
}

TEST(OddMachines, CoresOfDifferentSizes) {
  check({
      {"one CPU is a whole core too", hybrid(), "7", {}, ask(1), "4", "0"},
      {"large cores first", hybrid(), "7", {}, ask(4), "0-3", "0"},
      {"an odd number", hybrid(), "7", {}, ask(3), "0-1,4", "0"},
      {"exactly, though the first cores would not do", hybrid(), "4-7", {}, ask(4), "0-3", "0"},
      {"small ones where large ones are taken", hybrid(), "7", {{"a", "0-1"}}, ask(5), "2-6", "0"},
      {"one per core", hybrid(), "7", {}, ask(4, Align::kNuma, Smt::kOnePerCore), "0,2,4-5", "0"},
  });
  const Outcome odd = allocate(hybrid(), ledger_of("4-7", {}), ask(3));
  EXPECT_TRUE(std::holds_alternative<Refusal>(odd)) << text_of(odd);
}

TEST(OddMachines, OfflineSiblings) {
  const Topology some_offline = machine({.cores_per_l3 = 4,
                                         .threads_per_core = 2,
                                         .siblings = test_support::Siblings::kAdjacent,
                                         .offline = {3, 5}});
  check({
      {"a core whose sibling is offline is whole", some_offline, "0", {}, ask(1), "2", "0"},
      {"cores that make up the number", some_offline, "0", {}, ask(3), "2,6-7", "0"},
      {"all of them", some_offline, "0", {}, ask(4), "2,4,6-7", "0"},
  });
}

TEST(OddMachines, NodeThatSpansPackages) {
  Facts facts = facts_of({.packages = 2, .cores_per_l3 = 4, .threads_per_core = 2});
  for (auto& thread : facts.threads) thread.node = 0;
  const Topology numa_off = machine(facts);
  check({
      {"in one package where one does", numa_off, "0,8", {}, ask(6), "1-3,9-11", "0"},
      {"in both where it must", numa_off, "0,8", {}, ask(12), "1-2,4-7,9-10,12-15", "0"},
      {"align socket", numa_off, "0,8", {}, ask(8, Align::kSocket), "4-7,12-15", "0"},
  });
}

TEST(OddMachines, CpusOutsideAllNodes) {
  Facts facts = facts_of({.packages = 2, .cores_per_l3 = 2});
  for (auto& thread : facts.threads) {
    if (thread.cpu >= 2) thread.node = -1;
  }
  const Topology partly = machine(facts);
  check({
      {"align numa knows the node alone", partly, "3", {}, ask(2), "0-1", "0"},
      {"align socket: bound to any node with memory",
       partly,
       "3",
       {{"a", "0-1"}},
       ask(1, Align::kSocket),
       "2",
       "0-1"},
      {"across", partly, "3", {}, ask(3, Align::kNone), "0-2", "0"},
  });
}

TEST(OddMachines, NodesWithoutCpus) {
  check({
      {"CXL memory lends nothing to an aligned container",
       cxl_node(),
       "",
       {},
       with_memory(ask(4), 100 * kGiB),
       "0-1,16-17",
       "0"},
      {"34 nodes",
       gb200_like_34_nodes(),
       "",
       {{"a", "0-71"}},
       with_memory(ask(70), 400 * kGiB),
       "72-141",
       "1"},
  });
  const Outcome large = allocate(cxl_node(), Ledger(), with_memory(ask(4), 200 * kGiB));
  EXPECT_TRUE(std::holds_alternative<Refusal>(large)) << text_of(large);
}

TEST(OddMachines, TheLastSharedCpuIsNeverGivenAway) {
  EXPECT_TRUE(std::holds_alternative<Refusal>(allocate(single_cpu(), Ledger(), ask(1))));
  const Topology mostly_isolated = machine({.cores_per_l3 = 4, .isolated = {1, 2, 3}});
  EXPECT_TRUE(std::holds_alternative<Refusal>(allocate(mostly_isolated, Ledger(), ask(1))));
  Request isolated = ask(3);
  isolated.use_isolated = true;
  EXPECT_TRUE(std::holds_alternative<Decision>(allocate(mostly_isolated, Ledger(), isolated)));
  const Topology all_isolated = machine({.cores_per_l3 = 4, .isolated = {0, 1, 2, 3}});
  EXPECT_TRUE(std::holds_alternative<Decision>(allocate(all_isolated, Ledger(), isolated)));
  isolated.cpus = 4;
  EXPECT_TRUE(std::holds_alternative<Refusal>(allocate(all_isolated, Ledger(), isolated)));
}

}  // namespace
}  // namespace pinion::topology
