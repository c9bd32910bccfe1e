#include "cluster/extender/agents/machines.h"

#include <gtest/gtest.h>

#include "agent/client/machine.h"
#include "tests/support/machine.h"

namespace pinion::cluster {
namespace {

v1::Machine described(int cores) {
  return agent::api::machine_of(test_support::machine({.cores_per_l3 = cores}));
}

TEST(Machines, EqualOnesAreOne) {
  Machines machines;
  const auto first = machines.of(described(4));
  const auto again = machines.of(described(4));
  const auto other = machines.of(described(8));
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(*first, *again);
  EXPECT_EQ((*first)->online.count(), 4);
  EXPECT_EQ((*other)->online.count(), 8);
}

TEST(Machines, WhatNobodyKeepsIsBuiltAnew) {
  Machines machines;
  std::weak_ptr<const topology::Topology> seen;
  for (int cores = 1; cores < 100; ++cores) {
    const auto built = machines.of(described(cores));
    ASSERT_TRUE(built);
    EXPECT_TRUE(seen.expired());
    seen = *built;
  }
  const auto again = machines.of(described(1));
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->online.count(), 1);
}

TEST(Machines, ADescriptionThatMakesNoSenseIsRefused) {
  Machines machines;
  v1::Machine machine = described(2);
  machine.mutable_cpus(1)->set_cpu(machine.cpus(0).cpu());
  EXPECT_FALSE(machines.of(machine));
}

}  // namespace
}  // namespace pinion::cluster
