#include "agent/client/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/api/convert.h"
#include "agent/api/plan.h"
#include "tests/unit/api/samples.h"

namespace pinion::agent::api {
namespace {

using testing::HasSubstr;
using topology::Topology;

Topology without_cache_sizes(Topology machine) {
  for (topology::Cache& cache : machine.l2s) cache.size = 0;
  for (topology::Cache& cache : machine.l3s) cache.size = 0;
  return machine;
}

struct MachineCase {
  const char* name;
  Topology (*machine)();
};

Topology irregular() {
  test_support::MachineSpec spec{.packages = 2,
                                 .nodes_per_package = 2,
                                 .cores_per_l3 = 4,
                                 .threads_per_core = 2,
                                 .offline = {3, 7},
                                 .isolated = {4, 5}};
  spec.devices = {
      {.kind = topology::DeviceKind::kGpu, .name = "card0", .pci = "0000:3b:00.0", .node = 2},
      {.kind = topology::DeviceKind::kNetwork, .name = "eth0", .pci = "", .node = -1}};
  topology::Facts facts = test_support::facts_of(spec);
  for (topology::Facts::Thread& thread : facts.threads) {
    if (thread.cpu >= 8) thread.l3 = -1;
    if (thread.cpu % 4 == 1) thread.l2 = -1;
    if (thread.cpu == 10) thread.node = -1;
  }
  // Kernel numbers with holes, in another order.
  for (topology::Facts::Memory& memory : facts.memories) memory.node = 9 - 2 * memory.node;
  for (topology::Facts::Thread& thread : facts.threads) {
    if (thread.node >= 0) thread.node = 9 - 2 * thread.node;
  }
  return test_support::machine(facts);
}

constexpr MachineCase kMachines[] = {
    {"single_cpu", test_support::single_cpu},
    {"two_core_vm", test_support::two_core_vm},
    {"laptop", test_support::laptop},
    {"xeon_snc2", test_support::xeon_snc2},
    {"epyc_2s_nps4", test_support::epyc_2s_nps4},
    {"epyc_rome_256", test_support::epyc_rome_256},
    {"eight_nodes_256", test_support::eight_nodes_256},
    {"gb200_like_34_nodes", test_support::gb200_like_34_nodes},
    {"cxl_node", test_support::cxl_node},
    {"mixed_nodes", test_support::mixed_nodes},
    {"irregular", irregular},
};

class MachineOnTheWire : public testing::TestWithParam<MachineCase> {};

TEST_P(MachineOnTheWire, ComesBackAsItWas) {
  const Topology machine = GetParam().machine();
  const std::string bytes = machine_of(machine).SerializeAsString();
  v1::Machine read;
  ASSERT_TRUE(read.ParseFromString(bytes));
  const Result<Topology> back = topology_of(read);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(*back, without_cache_sizes(machine));
}

TEST_P(MachineOnTheWire, GivesTheSameAllocatorTheSameAnswers) {
  NodeView view = empty_view(GetParam().machine());
  for (int i = 0; i < 6; ++i) {
    topology::Request wish = request("c" + std::to_string(i), 1 + i % 3);
    wish.job = "job";
    wish.task_group = "group-" + std::to_string(i % 2);
    wish.memory = i % 2 == 0 ? test_support::kGiB : 0;
    wish.profile = i % 2 == 0 ? topology::Profile::kMemory : topology::Profile::kNone;
    if (i == 4) wish.smt = topology::Smt::kOnePerCore;
    place(view, wish);
  }
  const v1::Snapshot snapshot = snapshot_of({}, view, nullptr);
  const Result<Topology> machine = topology_of(snapshot.node().machine());
  ASSERT_TRUE(machine) << machine.error().text;
  const Result<topology::Ledger> ledger = ledger_of(snapshot, *machine);
  ASSERT_TRUE(ledger) << ledger.error().text;
  EXPECT_EQ(*ledger, view.ledger);

  std::vector<topology::Request> more;
  for (const int cpus : {1, 4, 16, 64}) {
    more.push_back(request("more" + std::to_string(cpus), cpus));
    more.back().task_group = "group-0";
  }
  EXPECT_EQ(topology::plan(*machine, *ledger, more).outcomes,
            topology::plan(*view.topology, view.ledger, more).outcomes);
}

INSTANTIATE_TEST_SUITE_P(Machines, MachineOnTheWire, testing::ValuesIn(kMachines),
                         [](const auto& test) { return test.param.name; });

v1::Machine two_cpus() {
  return machine_of(test_support::two_core_vm());
}

TEST(MachineFromTheWire, RefusesIndicesOutsideTheMachine) {
  v1::Machine machine = two_cpus();
  machine.mutable_cpus(1)->set_node(1);
  EXPECT_THAT(topology_of(machine).error().text, HasSubstr("CPU 1 is in memory node 1"));
  machine.mutable_cpus(1)->set_node(-2);
  EXPECT_THAT(topology_of(machine).error().text, HasSubstr("CPU 1 is in memory node -2"));
}

TEST(MachineFromTheWire, RefusesNumbersThatNoMachineHas) {
  v1::Machine machine = two_cpus();
  machine.mutable_cpus(1)->set_cpu(4'000'000'000U);
  EXPECT_EQ(topology_of(machine).error().code, Errc::kInvalid);
  machine = two_cpus();
  machine.mutable_memory_nodes(0)->set_id(100'000);
  EXPECT_EQ(topology_of(machine).error().code, Errc::kInvalid);
  machine = two_cpus();
  machine.set_offline("1-");
  EXPECT_THAT(topology_of(machine).error().text, HasSubstr("offline"));
  EXPECT_THAT(topology_of(v1::Machine()).error().text, HasSubstr("no CPUs"));
}

TEST(MachineFromTheWire, LeavesOutDevicesOfAnUnknownKind) {
  v1::Machine machine = two_cpus();
  machine.add_devices()->set_kind("abacus");
  EXPECT_TRUE(topology_of(machine)->devices.empty());
}

v1::Snapshot with_claim(const std::string& claim) {
  v1::Snapshot snapshot = snapshot_of({}, empty_view(), nullptr);
  v1::Container& container = *snapshot.add_containers();
  container.set_id("x");
  container.set_exclusive(true);
  container.set_claim(claim);
  return snapshot;
}

TEST(LedgerFromTheWire, RefusesClaimsThatCannotBe) {
  const Topology machine = test_support::laptop();
  const std::pair<const char*, const char*> cases[] = {
      {"", "holds no CPU"}, {"0", "reserved"}, {"99", "not all online"}, {"x", "claim"}};
  for (const auto& [claim, text] : cases) {
    const auto ledger = ledger_of(with_claim(claim), machine);
    ASSERT_FALSE(ledger) << claim;
    EXPECT_THAT(ledger.error().text, testing::StartsWith("container x: "));
    EXPECT_THAT(ledger.error().text, HasSubstr(text));
  }
  v1::Snapshot twice = with_claim("1");
  *twice.add_containers() = twice.containers(0);
  twice.mutable_containers(1)->set_id("y");
  EXPECT_THAT(ledger_of(twice, machine).error().text, HasSubstr("container y: CPUs '1' are held"));
  twice.mutable_containers(1)->set_id("x");
  twice.mutable_containers(1)->set_claim("2");
  EXPECT_THAT(ledger_of(twice, machine).error().text, HasSubstr("given twice"));
}

TEST(LedgerFromTheWire, RefusesMemoryOfANodeThatIsNot) {
  v1::Snapshot snapshot = with_claim("1");
  snapshot.mutable_containers(0)->add_promised()->set_node(7);
  EXPECT_THAT(ledger_of(snapshot, test_support::laptop()).error().text, HasSubstr("NUMA node 7"));
}

TEST(LedgerFromTheWire, HasNoClaimOfSharedAndFinishedContainers) {
  v1::Snapshot snapshot = with_claim("1");
  snapshot.mutable_containers(0)->set_finished(true);
  v1::Container& shared = *snapshot.add_containers();
  shared.set_id("shared");
  shared.set_cpus("0-7");
  const auto ledger = ledger_of(snapshot, test_support::laptop());
  ASSERT_TRUE(ledger);
  EXPECT_TRUE(ledger->claims().empty());
}

}  // namespace
}  // namespace pinion::agent::api
