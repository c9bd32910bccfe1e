// CPUs that go offline and come back while containers run, under every fence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/engine/engine.h"
#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::bound_rank;
using test_support::cpu;
using test_support::cpus;
using test_support::Driver;
using test_support::rank;
using test_support::shared;
using test_support::Unit;

// Two nodes of four cores of one thread: CPUs 0-3 and 4-7.
topology::Topology machine_without(const std::string& offline) {
  return test_support::machine({.packages = 2, .cores_per_l3 = 4, .offline = cpus(offline)});
}

class MachineChange : public testing::TestWithParam<FenceKind> {
 protected:
  Driver::Answer change(const std::string& offline) {
    auto effects = node_.handle(MachineChanged{machine_without(offline)});
    EXPECT_EQ(effects.fatal, "");
    node_.obey(effects);
    node_.drain();
    return effects;
  }
  [[nodiscard]] std::string trouble(const Unit& unit) const {
    return node_.engine.state().find(unit.id())->trouble;
  }

  Driver node_{machine_without(""), GetParam()};
};

TEST_P(MachineChange, AFreeOneIsNotGivenAwayUntilItIsBack) {
  node_.run(shared("s"));
  change("7");
  EXPECT_FALSE(node_.engine.pool().contains(7));
  EXPECT_TRUE(node_.create(rank("r", 8)).reply.refusal);
  change("");
  EXPECT_TRUE(node_.engine.state().shared().contains(7));
  EXPECT_EQ(node_.engine.counters().machine_changes, 2U);
}

TEST_P(MachineChange, ARankThatLostOneMovesToOthersOfTheSameShape) {
  const Unit r = rank("r", 3);
  const CpuSet own = node_.run(r);
  ASSERT_EQ(own.count(), 3);
  const int lost = own.first();
  const auto effects = change(std::to_string(lost));
  ASSERT_FALSE(effects.now.empty());
  EXPECT_EQ(effects.now.back().id, r.id()) << "others leave its new cores first";
  EXPECT_EQ(node_.own(r).count(), 3);
  EXPECT_FALSE(node_.own(r).contains(lost));
  EXPECT_EQ(trouble(r), "");
  EXPECT_EQ(node_.engine.counters().moved, 1U);
  const CpuSet moved_to = node_.own(r);
  change("");
  EXPECT_EQ(node_.own(r), moved_to) << "it is whole, so it stays";
}

TEST_P(MachineChange, WhatSharedOnesRequestIsNotKeptFromOneThatMoves) {
  const Bytes memory = machine_without("").nodes[0].memory;
  const Unit r = bound_rank("r", 2, static_cast<std::int64_t>(memory / 10 * 9));
  const CpuSet own = node_.run(r);
  node_.run(test_support::burstable("web", 700));
  const Bytes shared_memory = node_.engine.state().ledger.shared_memory();
  EXPECT_GT(shared_memory, 0U);
  change(std::to_string(own.first()));
  EXPECT_EQ(node_.own(r).count(), 2);
  EXPECT_EQ(trouble(r), "");
  EXPECT_EQ(node_.engine.state().ledger.shared_memory(), shared_memory);
}

// Of which one alone would do by now.
TEST_P(MachineChange, ARankThatStaysKeepsTheNodesOfItsMemory) {
  const auto half = static_cast<std::int64_t>(machine_without("").nodes[0].memory / 2);
  const Unit r = bound_rank("r", 2, half);
  auto event = test_support::all_running({r});
  event.files[r.id()] = {.cpus = cpus("0-1"), .mems = test_support::mems("0-1")};
  (void)node_.handle(event);
  change("7");
  EXPECT_EQ(node_.own(r), cpus("0-1"));
  EXPECT_EQ(node_.engine.state().ledger.find(claim_id(r.pod.id, "main"))->mems,
            test_support::mems("0-1"));
}

TEST_P(MachineChange, WhatOthersUseIsNotKeptFromOneThatMoves) {
  const auto tenth = static_cast<std::int64_t>(machine_without("").nodes[0].memory / 10);
  const Unit r = bound_rank("r", 2, 6 * tenth);
  const CpuSet own = node_.run(r);
  node_.run(rank("open", 2, 8 * tenth));
  change(std::to_string(own.first()));
  EXPECT_EQ(node_.own(r).count(), 2);
  EXPECT_EQ(trouble(r), "");
}

TEST_P(MachineChange, WhereNothingIsFreeItWaitsInTheSharedSetAndGetsCoresAgain) {
  const Unit a = rank("a", 4);
  const Unit b = rank("b", 3);
  node_.run(a);
  node_.run(b);
  const int lost = node_.own(a).first();
  change(std::to_string(lost));
  EXPECT_TRUE(node_.own(a).empty());
  EXPECT_THAT(trouble(a), testing::HasSubstr(std::to_string(lost) + " went offline"));
  EXPECT_EQ(node_.engine.counters().unplaced, 1U);
  EXPECT_EQ(node_.own(b).count(), 3) << "nobody else is disturbed";
  change("");
  EXPECT_EQ(node_.own(a).count(), 4);
  EXPECT_EQ(trouble(a), "");
}

TEST_P(MachineChange, ARefusedResizeLeavesAWaitingOneWhatItWaitsFor) {
  const Unit a = rank("a", 4);
  const Unit b = rank("b", 3);
  node_.run(a);
  node_.run(b);
  change(std::to_string(node_.own(a).first()));
  ASSERT_TRUE(node_.own(a).empty());
  EXPECT_TRUE(node_.update(a, cpu(7000)).reply.refusal);
  change("");
  EXPECT_EQ(node_.own(a).count(), 4) << "as its record says";
}

TEST_P(MachineChange, TheLastSharedOnesCostARankItsCores) {
  const Unit a = rank("a", 4);
  const Unit b = rank("b", 3);
  node_.run(a);
  node_.run(b);
  const CpuSet rest = node_.engine.state().shared();
  ASSERT_EQ(rest.count(), 1);
  change(rest.to_string());
  EXPECT_FALSE(node_.engine.state().shared().empty());
  EXPECT_NE(node_.own(a).empty(), node_.own(b).empty()) << "one of them, and only one";
}

INSTANTIATE_TEST_SUITE_P(Fences, MachineChange,
                         testing::Values(FenceKind::kPartition, FenceKind::kTree, FenceKind::kLeaf,
                                         FenceKind::kRuntime),
                         [](const auto& kind) {
                           switch (kind.param) {
                             case FenceKind::kPartition:
                               return "Partition";
                             case FenceKind::kTree:
                               return "Tree";
                             case FenceKind::kLeaf:
                               return "Leaf";
                             case FenceKind::kRuntime:
                               return "Runtime";
                           }
                           return "";
                         });

}  // namespace
}  // namespace pinion::engine
