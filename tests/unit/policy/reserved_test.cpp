// What can be kept back of a machine.
#include "policy/reserved.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/machine.h"

namespace pinion::policy {
namespace {

using testing::HasSubstr;
using topology::ReservedMemory;

TEST(Reserved, MustBeThere) {
  const topology::Topology machine = test_support::laptop();  // CPUs 0-7, one NUMA node
  const topology::Bytes all = machine.nodes[0].memory;
  struct Case {
    const char* name;
    Reserved reserved;
    const char* text;  // nullptr: fine
  };
  const Case cases[] = {
      {"nothing", {}, nullptr},
      {"a CPU that does not exist",
       {.cpus = {0, 8}},
       "reservedSystemCPUs: CPUs 8 do not exist, this machine has 0-7"},
      {"all CPUs, which everybody else may use", {.cpus = {0, 1, 2, 3, 4, 5, 6, 7}}, nullptr},
      {"all CPUs, which nobody else may use",
       {.cpus = {0, 1, 2, 3, 4, 5, 6, 7}, .strict = true},
       "reservedSystemCPUs: with strict-cpu-reservation at least one CPU must be left"},
      {"all CPUs but one", {.cpus = {0, 1, 2, 3, 4, 5, 6}, .strict = true}, nullptr},
      {"no memory, in so many words", {.memory = ReservedMemory{{0, 0}}}, nullptr},
      {"all memory but a byte", {.memory = ReservedMemory{{0, all - 1}}}, nullptr},
      {"all memory", {.memory = ReservedMemory{{0, all}}}, "reservedMemory: NUMA node 0 has only "},
      {"memory of a node that does not exist",
       {.memory = ReservedMemory{{1, 1}}},
       "reservedMemory: NUMA node 1 does not exist"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Status valid = check_reserved(c.reserved, machine);
    EXPECT_EQ(valid.has_value(), c.text == nullptr);
    if (valid || c.text == nullptr) continue;
    EXPECT_EQ(valid.error().code, Errc::kInvalid);
    EXPECT_THAT(valid.error().text, HasSubstr(c.text));
  }
}

TEST(Reserved, SiblingsOfACoreReservedInPart) {
  const topology::Topology machine =
      test_support::machine({.cores_per_l3 = 4, .threads_per_core = 2});
  const topology::CpuSet whole = machine.cores[1].cpus;
  const topology::CpuId first = *machine.cores[0].cpus.begin();
  EXPECT_EQ(siblings_of_reserved({first}, machine),
            machine.cores[0].cpus - topology::CpuSet{first});
  EXPECT_EQ(siblings_of_reserved(whole, machine), topology::CpuSet());
  EXPECT_EQ(siblings_of_reserved({}, machine), topology::CpuSet());
}

TEST(Reserved, MemoryThatIsNotStatedIsTheUsual) {
  const topology::Topology machine = test_support::laptop();
  EXPECT_EQ(Reserved().memory_of(machine), topology::usual_reserved_memory(machine));
  EXPECT_EQ(Reserved{.memory = ReservedMemory()}.memory_of(machine), ReservedMemory());
}

}  // namespace
}  // namespace pinion::policy
