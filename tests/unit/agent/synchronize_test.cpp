// After a connection: who runs keeps its cores, what does not add up is mended and counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/engine/engine.h"
#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::all_running;
using test_support::cpus;
using test_support::Driver;
using test_support::laptop;
using test_support::mems;
using test_support::rank;
using test_support::shared;
using test_support::Unit;

class SynchronizeTest : public testing::TestWithParam<FenceKind> {};

std::string fence_name(const testing::TestParamInfo<FenceKind>& info) {
  return info.param == FenceKind::kLeaf ? "Leaf" : "Runtime";
}

INSTANTIATE_TEST_SUITE_P(Engine, SynchronizeTest,
                         testing::Values(FenceKind::kLeaf, FenceKind::kRuntime), fence_name);

Applied on(const std::string& list) {
  return {.cpus = cpus(list), .mems = mems("0")};
}

// A machine of which CPUs 6-7 are offline.
topology::Topology with_offline() {
  return test_support::machine({.cores_per_l3 = 4,
                                .threads_per_core = 2,
                                .siblings = test_support::Siblings::kAdjacent,
                                .offline = cpus("6-7")});
}

TEST_P(SynchronizeTest, ANewAgentKeepsWhatTheFilesSay) {
  Driver node(laptop(), GetParam());
  const Unit a = rank("a", 2);
  const Unit b = rank("b", 4);
  const Unit noise = shared("s");
  auto event = all_running({a, b, noise});
  event.files = {{a.id(), on("6-7")}, {b.id(), on("2-5")}, {noise.id(), on("0-1")}};
  event.containers[0].resources.cpus = "0-7";  // a stale record
  const auto effects = node.handle(event);
  EXPECT_EQ(effects.fatal, "");
  EXPECT_EQ(node.own(a), cpus("6-7"));
  EXPECT_EQ(node.own(b), cpus("2-5"));
  EXPECT_EQ(node.engine.pool(), cpus("0-1"));
  EXPECT_EQ(node.engine.counters().kept, 2U);
  EXPECT_EQ(node.engine.counters().drift, 0U);
  EXPECT_EQ(node.engine.counters().preferred_not_met, 0U);
}

// One that found no cores runs in the shared set, which may happen to have its size. It is listed
// first and must not take that set for its own.
TEST_P(SynchronizeTest, AnUnplacedContainerDoesNotPassForARank) {
  Driver node(laptop(), GetParam());
  const Unit unplaced = rank("a-unplaced", 2);
  const Unit a = rank("b", 4);
  const Unit b = rank("c", 2);
  const Unit noise = shared("s");
  auto event = all_running({unplaced, a, b, noise});
  event.files = {{unplaced.id(), on("0-1")},
                 {a.id(), on("2-5")},
                 {b.id(), on("6-7")},
                 {noise.id(), on("0-1")}};
  const auto effects = node.handle(event);
  EXPECT_EQ(effects.fatal, "");
  EXPECT_EQ(node.own(a), cpus("2-5"));
  EXPECT_EQ(node.own(b), cpus("6-7"));
  EXPECT_EQ(node.engine.pool(), cpus("0-1"));
  EXPECT_EQ(node.engine.counters().unplaced, 1U);
}

// The same where nobody else stands there: the rank's quota was taken away, and this one has its.
TEST_P(SynchronizeTest, AnUnplacedContainerHasAQuotaAndARankHasNone) {
  Driver node(laptop(), GetParam());
  const Unit unplaced = rank("0-unplaced", 4);
  Unit kept = rank("kept", 4);
  kept.container.resources.quota = -1;
  auto event = all_running({unplaced, kept});
  event.files = {{unplaced.id(), on("0-3")}, {kept.id(), on("4-7")}};
  EXPECT_EQ(node.handle(event).fatal, "");
  EXPECT_EQ(node.own(kept), cpus("4-7"));
  EXPECT_EQ(node.own(unplaced).count(), 0);
}

// Two nodes of 16 GiB. The first in the list is not bound and may use any memory.
TEST_P(SynchronizeTest, ABoundContainerKeepsItsNodesBesideOneThatIsNot) {
  const topology::Topology machine = test_support::machine(
      {.packages = 2, .cores_per_l3 = 4, .memory_per_node = 16 * test_support::kGiB});
  Driver node(machine, GetParam());
  const Unit open = rank("a", 2, 12 * test_support::kGiB);
  const Unit bound = test_support::bound_rank("b", 2, 10 * test_support::kGiB);
  auto event = all_running({open, bound});
  event.files = {{open.id(), on("0-1")}, {bound.id(), on("2-3")}};
  EXPECT_EQ(node.handle(event).fatal, "");
  using Shares = std::vector<topology::Claim::Share>;
  const topology::Ledger& ledger = node.engine.state().ledger;
  EXPECT_EQ(ledger.find(claim_id(bound.pod.id, "main"))->memory,
            (Shares{{.node = 0, .bytes = 10 * test_support::kGiB}}));
  EXPECT_EQ(ledger.find(claim_id(open.pod.id, "main"))->memory,
            (Shares{{.node = 0, .bytes = 6 * test_support::kGiB},
                    {.node = 1, .bytes = 6 * test_support::kGiB}}));
}

// What counted on its node when it was placed comes after it now, and must not take its nodes away.
TEST_P(SynchronizeTest, ABoundContainerKeepsItsNodesOverARestart) {
  constexpr auto kGiB = test_support::kGiB;
  const topology::Topology machine =
      test_support::machine({.packages = 2, .cores_per_l3 = 4, .memory_per_node = 16 * kGiB});
  struct Case {
    const char* name;
    bool files;
    Unit bound;
  };
  Unit over = rank("r", 2, 8 * kGiB);
  over.pod.annotations["pinion.dev/job"] = "j";
  over.pod.annotations["pinion.dev/strength"] = "preferred";
  for (const Case& one : {Case{"by the files", true, over}, Case{"by the record", false, over}}) {
    SCOPED_TRACE(one.name);
    Driver node(machine, GetParam());
    const Unit bound = one.bound;
    auto event = all_running({bound, rank("u0", 2, 10 * kGiB), rank("u1", 2, 10 * kGiB)});
    const std::map<std::string, const char*> there = {{event.containers[0].id, "0-1"},
                                                      {event.containers[1].id, "2-3"},
                                                      {event.containers[2].id, "4-5"}};
    for (Container& container : event.containers) {
      container.resources.cpus = there.at(container.id);
      container.resources.mems = "0-1";
      if (one.files) event.files[container.id] = {cpus(there.at(container.id)), mems("0-1")};
      if (one.files) container.resources.mems = "0";
    }
    const auto effects = node.handle(event);
    EXPECT_EQ(effects.fatal, "");
    EXPECT_EQ(node.own(bound), cpus("0-1"));
    const topology::Ledger& ledger = node.engine.state().ledger;
    EXPECT_EQ(ledger.find(claim_id(bound.pod.id, "main"))->mems, mems("0-1"));
    for (const topology::Index at : {0, 1}) EXPECT_LE(ledger.promised(at), 16 * kGiB);
  }
}

TEST_P(SynchronizeTest, WithoutFilesTheRecordCounts) {
  Driver node(laptop(), GetParam());
  const Unit a = rank("a", 2);
  auto event = all_running({a});
  event.containers[0].resources.cpus = "4-5";
  (void)node.handle(event);
  EXPECT_EQ(node.own(a), cpus("4-5"));
}

TEST_P(SynchronizeTest, AReconnectBelievesItsOwnMemory) {
  Driver node(laptop(), GetParam());
  const Unit a = rank("a", 2);
  const CpuSet before = node.run(a);
  auto event = all_running({a});
  event.containers[0].resources.cpus = "0-7";
  event.files = {{a.id(), on("6-7")}};  // somebody moved it meanwhile
  ASSERT_NE(before, cpus("6-7"));
  const auto effects = node.handle(event);
  EXPECT_EQ(effects.fatal, "");
  EXPECT_EQ(node.own(a), before);
  EXPECT_EQ(node.engine.counters().drift, 1U);
}

TEST_P(SynchronizeTest, WhatCannotBeKeptIsMoved) {
  struct Case {
    const char* name;
    const char* file_a;
    const char* file_b;
    const char* reserved;
    std::uint64_t kept;
    std::uint64_t moved;
  };
  const Case cases[] = {
      {"overlap: the first keeps", "2-3", "3-4", "", 1, 1},
      {"the same cores twice", "2-3", "2-3", "", 1, 1},
      {"offline", "0-1", "6-7", "", 1, 1},
      {"partly offline", "0-1", "5-6", "", 1, 1},
      {"reserved", "2-3", "0-1", "0-1", 1, 1},
      {"no such CPU", "2-3", "40-41", "", 1, 1},
      {"all is well", "0-1", "4-5", "", 2, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Settings settings;
    settings.reserved = cpus(c.reserved);
    Driver node(with_offline(), GetParam(), settings);
    const Unit a = rank("a", 2);
    const Unit b = rank("b", 2);
    auto event = all_running({a, b});
    event.files = {{a.id(), on(c.file_a)}, {b.id(), on(c.file_b)}};
    const auto effects = node.handle(event);
    EXPECT_EQ(effects.fatal, "");
    EXPECT_EQ(node.own(a), cpus(c.file_a));
    EXPECT_EQ(node.own(b).count(), 2);
    EXPECT_EQ(node.engine.counters().kept, c.kept);
    EXPECT_EQ(node.engine.counters().moved, c.moved);
    EXPECT_EQ(node.engine.counters().drift, c.moved) << "it is not on its cores yet";
  }
}

TEST_P(SynchronizeTest, ARankThatRunsUnpinnedGetsCores) {
  Driver node(laptop(), GetParam());
  const Unit a = rank("a", 2);
  const Unit pinned = rank("p", 2);
  auto event = all_running({a, pinned});
  event.files = {{a.id(), on("0-7")}, {pinned.id(), on("0-1")}};
  const auto effects = node.handle(event);
  EXPECT_EQ(effects.fatal, "");
  EXPECT_EQ(node.own(pinned), cpus("0-1")) << "who has cores keeps them before others are placed";
  EXPECT_EQ(node.own(a).count(), 2);
  EXPECT_EQ(node.engine.counters().moved, 0U);
  EXPECT_EQ(node.engine.counters().drift, 0U) << "nobody has changed its file";
  if (GetParam() == FenceKind::kLeaf) {
    EXPECT_THAT(node.drain(), testing::ElementsAre(a.id()));
  } else {
    ASSERT_EQ(effects.reply.updates.size(), 2U) << "the record of both says nothing";
    EXPECT_EQ(effects.reply.updates[0].cpuset.cpus, node.own(a));
  }
}

TEST_P(SynchronizeTest, ARankThatFindsNoCoresStaysSharedAndIsCounted) {
  Driver node(laptop(), GetParam());
  const Unit a = rank("a", 6);
  const Unit b = rank("b", 4);
  auto event = all_running({a, b});
  event.files = {{a.id(), on("0-5")}, {b.id(), on("0-7")}};
  const auto effects = node.handle(event);
  EXPECT_EQ(effects.fatal, "");
  EXPECT_EQ(node.engine.counters().unplaced, 1U);
  const auto says = [&](const std::string& text) {
    return std::any_of(effects.notes.begin(), effects.notes.end(),
                       [&](const Note& line) { return line.text == text; });
  };
  EXPECT_TRUE(says("unplaced, stays on the shared CPUs"));
  EXPECT_FALSE(says("refused")) << "it runs";
  const Member* member = node.engine.state().find(b.id());
  ASSERT_NE(member, nullptr);
  EXPECT_NE(member->trouble, "");
  node.stop(a);
  (void)node.handle(all_running({b}));
  EXPECT_EQ(node.own(b).count(), 4) << "the next connection tries again";
}

TEST_P(SynchronizeTest, ExitedAndUnlistedOnesAreDroppedAndUnlistedPodsHoldNothing) {
  Driver node(laptop(), GetParam());
  const Unit a = rank("a", 2);
  const Unit b = rank("b", 2);
  const Unit c = rank("c", 2);
  for (const Unit& unit : {a, b, c}) node.run(unit);
  const CpuSet kept = node.own(a) | node.own(c);
  auto event = all_running({a, c});
  event.containers[0].state = ContainerState::kStopped;
  EXPECT_EQ(node.handle(event).fatal, "");
  EXPECT_EQ(node.engine.state().members.size(), 1U);
  EXPECT_EQ(node.taken(), kept);
}

TEST_P(SynchronizeTest, AContainerWithoutItsPodIsLeftOut) {
  Driver node(laptop(), GetParam());
  auto event = all_running({rank("a", 2)});
  event.pods.clear();
  EXPECT_EQ(node.handle(event).fatal, "");
  EXPECT_TRUE(node.engine.state().members.empty());
}

TEST_P(SynchronizeTest, ACreatedOneKeepsWhatItWasTold) {
  Driver node(laptop(), GetParam());
  const Unit a = rank("a", 2);
  auto event = all_running({a});
  event.containers[0].state = ContainerState::kCreated;
  event.containers[0].resources.cpus = "4-5";
  EXPECT_EQ(node.handle(event).fatal, "");
  EXPECT_EQ(node.own(a), cpus("4-5"));
  EXPECT_FALSE(node.engine.idle()) << "it has no file yet";
}

TEST_P(SynchronizeTest, WhoRunsGoesBeforeWhoIsOnlyCreated) {
  Driver node(laptop(), GetParam());
  const Unit created = rank("a", 2);
  const Unit runs = rank("b", 2);
  auto event = all_running({created, runs});
  event.containers[0].state = ContainerState::kCreated;
  event.containers[0].resources.cpus = "4-5";
  event.files = {{runs.id(), on("4-5")}};
  EXPECT_EQ(node.handle(event).fatal, "");
  EXPECT_EQ(node.own(runs), cpus("4-5"));
  EXPECT_FALSE(node.own(created).intersects(cpus("4-5")));
}

TEST_P(SynchronizeTest, TheSameContainerListedTwiceHoldsOnce) {
  Driver node(laptop(), GetParam());
  const Unit a = rank("a", 2);
  auto event = all_running({a, a});
  EXPECT_EQ(node.handle(event).fatal, "");
  EXPECT_EQ(node.taken().count(), 2);
}

TEST_P(SynchronizeTest, SharedOnesOnTakenCoresCountAsDriftOnceWhereTheyWereToldOthers) {
  Driver node(laptop(), GetParam());
  const Unit a = rank("a", 2);
  const Unit noise = shared("s");
  auto event = all_running({a, noise});
  event.files = {{a.id(), on("0-1")}, {noise.id(), on("0-7")}};
  (void)node.handle(event);
  EXPECT_EQ(node.engine.counters().drift, 0U) << "they came while nobody could tell them";
  (void)node.handle(event);
  EXPECT_EQ(node.engine.counters().drift, 0U) << "the same fault, not mended yet";
  const Unit other = shared("t");
  node.run(other);
  auto again = all_running({a, noise, other});
  again.files = {{a.id(), on("0-1")}, {noise.id(), on("2-7")}, {other.id(), on("0-7")}};
  for (int i = 0; i < 2; ++i) {
    (void)node.handle(again);
    EXPECT_EQ(node.engine.counters().drift, 1U);
  }
}

TEST_P(SynchronizeTest, GarbageInTheRecordIsNoRecord) {
  for (const char* list : {"banana", "0-99999", "3-1", "-1", "0,,1", "\xff"}) {
    SCOPED_TRACE(list);
    Driver node(laptop(), GetParam());
    const Unit a = rank("a", 2);
    auto event = all_running({a});
    event.containers[0].resources.cpus = list;
    event.containers[0].resources.mems = list;
    EXPECT_EQ(node.handle(event).fatal, "");
    EXPECT_EQ(node.own(a).count(), 2);
  }
}

}  // namespace
}  // namespace pinion::engine
