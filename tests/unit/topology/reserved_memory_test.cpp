// What of a NUMA node's memory is not promised.
#include "topology/reserved_memory.h"

#include <gtest/gtest.h>

#include "tests/support/machine.h"

namespace pinion::topology {
namespace {

constexpr Bytes kMiB = Bytes{1} << 20;

Topology with_memory(Bytes bytes) {
  return test_support::machine({.memory_per_node = bytes});
}

TEST(ReservedMemory, Usual) {
  struct Case {
    Bytes memory;
    Bytes reserved;
  };
  const Case cases[] = {{0, 0},
                        {64 * kMiB, 32 * kMiB},
                        {1024 * kMiB, 100 * kMiB},
                        {16384 * kMiB, 512 * kMiB},
                        {262144 * kMiB, 1024 * kMiB}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.memory);
    const ReservedMemory reserved = usual_reserved_memory(with_memory(c.memory));
    ASSERT_EQ(reserved.size(), 1U);
    EXPECT_EQ(reserved.at(0), c.reserved);
  }
}

TEST(ReservedMemory, IsTakenFromTheNodes) {
  struct Case {
    ReservedMemory reserved;
    Bytes memory;
    Bytes left;
  };
  const Case cases[] = {{{}, 10, 10},
                        {{{0, 4}}, 10, 6},
                        {{{0, 10}}, 10, 1},  // never as if the node had no memory at all
                        {{{0, 4}}, 0, 0},
                        {{{7, 4}}, 10, 10}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.memory);
    EXPECT_EQ(without_reserved_memory(with_memory(c.memory), c.reserved).nodes[0].memory, c.left);
  }
}

}  // namespace
}  // namespace pinion::topology
