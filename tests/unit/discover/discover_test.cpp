#include "topology/discover/discover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/machine.h"
#include "tests/support/tree.h"

namespace pinion::topology {
namespace {

using Kind = Source::Kind;

constexpr const char* kTwoCpus = R"(
sys/devices/system/cpu/online = 0-1
sys/devices/system/cpu/cpu[0-1]/topology/core_id = {n}
sys/devices/system/cpu/cpu[0-1]/topology/physical_package_id = 0
sys/devices/system/cpu/cpu[0-1]/topology/core_cpus = {mask n}
sys/devices/system/cpu/cpu[0-1]/topology/package_cpus = {mask 0..1}
)";

// A second reading may find more or less memory on a virtual machine.
Topology without_memory(Topology machine) {
  for (Node& node : machine.nodes) node.memory = 0;
  return machine;
}

TEST(Discover, LiveHoldsTheCpusThatThisProcessMayUse) {
  const auto machine = discover({Kind::kLive, ""});
  ASSERT_TRUE(machine) << machine.error().text;
  cpu_set_t mine;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mine)) continue;
    EXPECT_NE(machine->find(cpu), nullptr) << "CPU " << cpu;
  }
}

TEST(Discover, LiveIsTheSameAsTheSnapshotOfTheRootDirectory) {
  if (!std::filesystem::is_directory("/sys/devices/system/cpu/cpu0/topology")) {
    GTEST_SKIP() << "this machine's /sys does not tell its CPUs";
  }
  const auto live = discover({Kind::kLive, ""});
  const auto root = discover({Kind::kRoot, "/"});
  ASSERT_TRUE(live) << live.error().text;
  ASSERT_TRUE(root) << root.error().text;
  EXPECT_EQ(without_memory(*live), without_memory(*root));
}

TEST(Discover, IsRepeatable) {
  const Source source{Kind::kSynthetic, "package:2 [numa(memory=1GiB)] l3:2 core:4 pu:2"};
  const auto once = discover(source);
  const auto again = discover(source);
  ASSERT_TRUE(once && again);
  EXPECT_EQ(*once, *again);
}

TEST(Discover, LeavesTheEnvironmentAsItWas) {
  const test_support::TempDir root;
  const Status written = test_support::write_tree(kTwoCpus, root.path());
  ASSERT_TRUE(written) << written.error().text;
  for (const char* before : {static_cast<const char*>(nullptr), "/elsewhere"}) {
    SCOPED_TRACE(before == nullptr ? "not set" : before);
    if (before == nullptr) {
      ::unsetenv("HWLOC_FSROOT");
    } else {
      ::setenv("HWLOC_FSROOT", before, 1);
    }
    EXPECT_TRUE(discover({Kind::kRoot, root.path().string()}));
    EXPECT_STREQ(std::getenv("HWLOC_FSROOT"), before);
  }
  ::unsetenv("HWLOC_FSROOT");
}

// The same machine told by hwloc and by the builder of test machines.
TEST(Discover, AgreesWithTheNamedMachines) {
  struct Case {
    std::string name;
    std::string synthetic;
    Topology want;
  };
  const std::vector<Case> cases = {
      {"laptop", "package:1 [numa(memory=16GiB)] l3:1(size=32MiB) l2:4(size=1MiB) core:1 pu:2",
       test_support::laptop()},
      {"xeon_snc2",
       "package:2 l3:1(size=32MiB) group:2 [numa(memory=96GiB)] l2:12(size=1MiB) core:1 "
       "pu:2(indexes=l2:group:package)",
       test_support::xeon_snc2()},
      {"epyc_rome_256",
       "package:2 group:4 [numa(memory=64GiB)] l3:4(size=32MiB) l2:4(size=1MiB) core:1 "
       "pu:2(indexes=l2:l3:group:package)",
       test_support::epyc_rome_256()},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    auto machine = discover({Kind::kSynthetic, one.synthetic});
    ASSERT_TRUE(machine) << machine.error().text;
    // A synthetic string does not tell distances.
    for (std::size_t i = 0; i < machine->nodes.size(); ++i) {
      machine->nodes[i].distance = one.want.nodes.at(i).distance;
    }
    EXPECT_EQ(*machine, one.want);
  }
}

// hwloc cannot place CPUs in a node that its own files do not tell; the kernel's list is right.
TEST(Discover, TrustsTheKernelsListOfANodesCpus) {
  const test_support::TempDir root;
  const Status written = test_support::write_tree(R"(
sys/devices/system/cpu/present = 0-3
sys/devices/system/cpu/online = 0-3
sys/devices/system/cpu/cpu[0-3]/topology/core_id = {n}
sys/devices/system/cpu/cpu[0-3]/topology/physical_package_id = 0
sys/devices/system/cpu/cpu[0-3]/topology/core_cpus = {mask n}
sys/devices/system/cpu/cpu[0-3]/topology/package_cpus = {mask 0..3}
sys/devices/system/node/online = 0-1
sys/devices/system/node/node0/cpumap = {mask 0..3}
sys/devices/system/node/node0/cpulist = 0-1
sys/devices/system/node/node0/meminfo = Node 0 MemTotal: 1048576 kB
sys/devices/system/node/node1/cpumap = {mask 0..3}
sys/devices/system/node/node1/cpulist = 2-3
sys/devices/system/node/node1/meminfo = Node 1 MemTotal: 1048576 kB
)",
                                                  root.path());
  ASSERT_TRUE(written) << written.error().text;
  const auto machine = discover({Kind::kRoot, root.path().string()});
  ASSERT_TRUE(machine) << machine.error().text;
  ASSERT_EQ(machine->nodes.size(), 2U);
  EXPECT_EQ(machine->nodes[0].cpus, CpuSet::range(0, 1));
  EXPECT_EQ(machine->nodes[1].cpus, CpuSet::range(2, 3));
}

TEST(Discover, ReadsListsThatOldKernelsEndWithAZeroByte) {
  const test_support::TempDir root;
  const Status written = test_support::write_tree(kTwoCpus, root.path());
  ASSERT_TRUE(written) << written.error().text;
  std::ofstream(root.path() / "sys/devices/system/cpu/isolated") << "1\n" << '\0';
  const auto machine = discover({Kind::kRoot, root.path().string()});
  ASSERT_TRUE(machine) << machine.error().text;
  EXPECT_EQ(machine->isolated, (CpuSet{1}));
}

}  // namespace
}  // namespace pinion::topology
