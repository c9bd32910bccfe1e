// A container's CPUs changed in place.
#include "agent/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/machine.h"
#include "tests/unit/agent/both_fences.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::all_running;
using test_support::bound_rank;
using test_support::burstable;
using test_support::cpu;
using test_support::cpus;
using test_support::Driver;
using test_support::laptop;
using test_support::make_container;
using test_support::make_pod;
using test_support::part;
using test_support::rank;
using test_support::shared;
using test_support::Unit;
using test_support::xeon_snc2;

TEST_P(BothFences, AResizeThatNobodyToldIsDoneAtTheNextSynchronize) {
  Driver node(laptop(), GetParam());
  Unit unit = rank("r", 2);
  const CpuSet before = node.run(unit);
  for (const int count : {4, 3}) {
    unit.container.resources = cpu(1000 * count);
    (void)node.handle(all_running({unit}));
    EXPECT_EQ(node.own(unit).count(), count);
  }
  EXPECT_EQ(node.engine.counters().resized, 2U);
  unit.container.resources = cpu(500);
  (void)node.handle(all_running({unit}));
  EXPECT_TRUE(node.taken().empty());
  EXPECT_TRUE(before.is_subset_of(node.engine.state().shared()));
}

// It only gives memory back, told or not: one that waits for that gets cores.
TEST_P(BothFences, MemoryThatAResizeFreesGoesToWhoWaits) {
  constexpr auto kGiB = test_support::kGiB;
  for (const bool told : {true, false}) {
    SCOPED_TRACE(told ? "told" : "seen later");
    Driver node(test_support::machine({.cores_per_l3 = 8, .memory_per_node = 16 * kGiB}),
                GetParam());
    Unit large = bound_rank("large", 2, 12 * kGiB);
    const Unit waits = bound_rank("waits", 2, 8 * kGiB);
    node.run(large);
    auto event = all_running({large, waits});
    (void)node.handle(event);
    ASSERT_EQ(node.engine.state().find(waits.id())->role, Role::kWaiting);
    if (told) {
      EXPECT_FALSE(node.update(large, cpu(2000, 4 * kGiB)).reply.refusal);
    } else {
      event.containers[0].resources = cpu(2000, 4 * kGiB);
      (void)node.handle(event);
    }
    EXPECT_EQ(node.engine.state().find(waits.id())->role, Role::kExclusive);
  }
}

TEST_P(BothFences, GrowingKeepsWhatItHas) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("r", 2);
  const CpuSet before = node.run(unit);
  const auto effects = node.update(unit, cpu(4000));
  EXPECT_EQ(effects.fatal, "");
  ASSERT_TRUE(effects.reply.own);
  EXPECT_EQ(effects.reply.own->cpus.count(), 4);
  EXPECT_TRUE(before.is_subset_of(effects.reply.own->cpus));
  EXPECT_EQ(node.engine.counters().resized, 1U);
}

// What its own pod keeps is not the other's to give back.
TEST_P(BothFences, OneThatIsToldWithAnotherPodIsTakenInThere) {
  struct Case {
    const char* name;
    int main;  // CPUs before the update, which asks for 4
  };
  for (const Case& c : {Case{"one that grows", 2}, Case{"one that was shared", 0}}) {
    SCOPED_TRACE(c.name);
    Driver node(laptop(), GetParam());
    const Pod own = make_pod("own");
    const Unit init = part(own, "init", 4);
    Unit main = part(own, "main", c.main);
    node.run(init);
    node.run(main);
    node.stop(init);
    const int online = node.engine.state().topology.online.count();
    node.run(rank("other", online - 1 - node.taken().count()));
    const CpuSet before = node.taken();
    main.pod = make_pod("another");
    const auto answer = node.update(main, cpu(4000));
    EXPECT_EQ(answer.fatal, "");
    EXPECT_EQ(node.engine.state().find(main.id())->pod_id, main.pod.id);
    EXPECT_EQ(node.taken(), before) << "its own pod keeps what it had";
    EXPECT_EQ(node.pod_event({own, init.container}, PodEvent::Kind::kRemove).fatal, "");
    EXPECT_EQ(node.end(main).fatal, "");
    EXPECT_EQ(node.end(rank("other", 1)).fatal, "");
    EXPECT_TRUE(node.taken().empty());
  }
}

// As where a second attempt is made by hand: the name's cores are one's alone.
TEST_P(BothFences, OfTwoOfANameOnlyOneGrowsOutOfTheSharedSet) {
  Driver node(laptop(), GetParam());
  Unit one = rank("r", 2);
  one.container.resources = cpu(500);
  Unit two = one;
  two.container.id = "two";
  for (const Unit& unit : {one, two}) node.tell(unit, ContainerEvent::Kind::kStart);
  ASSERT_FALSE(node.ask(one, cpu(2000)).reply.refusal);
  EXPECT_TRUE(node.ask(two, cpu(2000)).reply.refusal) << "the other's is not done yet";
  for (Unit* unit : {&two, &one}) {
    unit->container.resources = cpu(2000);
    EXPECT_EQ(node.tell(*unit, ContainerEvent::Kind::kPostUpdate).fatal, "");
  }
  EXPECT_EQ(node.own(one).count(), 2);
  EXPECT_EQ(node.own(two), CpuSet());
}

TEST_P(BothFences, ShrinkingKeepsAPart) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("r", 6);
  const CpuSet before = node.run(unit);
  const auto effects = node.update(unit, cpu(2000));
  ASSERT_TRUE(effects.reply.own);
  EXPECT_EQ(effects.reply.own->cpus.count(), 2);
  EXPECT_TRUE(effects.reply.own->cpus.is_subset_of(before));
  EXPECT_EQ(node.taken(), effects.reply.own->cpus);
}

TEST_P(BothFences, ARefusedResizeChangesNothing) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("r", 4);
  const CpuSet before = node.run(unit);
  node.run(rank("other", 2));
  const auto effects = node.update(unit, cpu(8000));
  ASSERT_TRUE(effects.reply.refusal);
  EXPECT_FALSE(effects.reply.own);
  EXPECT_TRUE(effects.reply.updates.empty());
  EXPECT_EQ(node.own(unit), before);
  const auto memory = node.update(
      unit, {.shares = {}, .quota = {}, .period = {}, .memory = 1 << 20, .cpus = {}, .mems = {}});
  ASSERT_TRUE(memory.reply.own) << "the refused size is not remembered";
  EXPECT_EQ(memory.reply.own->cpus, before);
}

// The kubelet tries every second.
TEST_P(BothFences, ARefusedResizeIsSaidOnceAndAlwaysCounted) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("r", 4);
  node.run(unit);
  node.run(rank("other", 2));
  for (int tries = 0; tries < 3; ++tries) {
    const auto effects = node.update(unit, cpu(8000));
    ASSERT_TRUE(effects.reply.refusal);
    EXPECT_EQ(effects.notes.size(), tries == 0 ? 1U : 0U);
    if (tries == 0) {
      EXPECT_EQ(effects.notes.back().text, "refused a resize");
    }
    EXPECT_EQ(effects.refused.size(), tries == 0 ? 1U : 0U);
  }
  std::uint64_t refused = 0;
  for (const auto& [reason, count] : node.engine.counters().refused) refused += count;
  EXPECT_EQ(refused, 3U);
  ASSERT_TRUE(node.update(unit, cpu(4000)).reply.own);
  EXPECT_EQ(node.update(unit, cpu(8000)).notes.size(), 1U) << "news again";
}

TEST_P(BothFences, ToAFractionAndBack) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("r", 2);
  const CpuSet before = node.run(unit);
  const auto fraction = node.update(unit, cpu(1500));
  ASSERT_TRUE(fraction.reply.own);
  EXPECT_EQ(fraction.reply.own->cpus, node.engine.pool());
  EXPECT_TRUE(node.taken().empty());
  const auto whole = node.update(unit, cpu(2000));
  ASSERT_TRUE(whole.reply.own);
  EXPECT_EQ(whole.reply.own->cpus, before) << "the ones it had are free";
  EXPECT_FALSE(node.engine.pool().intersects(before));
}

// Of a pod of which the runtime has told how many CPUs it has when its sandbox was made.
TEST_P(BothFences, ToAFractionAndBackBesideAnother) {
  Driver node(laptop(), GetParam());
  Unit unit = rank("r", 2);
  unit.pod.resources = cpu(3000);
  const Unit other{unit.pod, make_container(unit.pod, "other", cpu(1000))};
  const CpuSet before = node.run(unit);
  node.run(other);
  for (int turn = 0; turn < 2; ++turn) {
    const auto fraction = node.update(unit, cpu(1500));
    EXPECT_EQ(fraction.reply.own->cpus, node.engine.pool());
    EXPECT_EQ(node.update(unit, cpu(2000)).reply.own->cpus, before);
  }
  ASSERT_TRUE(node.update(unit, cpu(9000)).reply.refusal);
  EXPECT_EQ(node.engine.state().pods.begin()->second.milli, 3000);
}

TEST_P(BothFences, AnUpdateOfMemoryAloneIsAnsweredWithItsCores) {
  Driver node(laptop(), GetParam());
  const Unit unit = bound_rank("r", 2, 1 << 20);
  const CpuSet before = node.run(unit);
  Resources wanted;
  wanted.memory = 1 << 21;
  wanted.shares = 0;  // as CRI writes "not stated"
  wanted.quota = 0;
  const auto effects = node.update(unit, wanted);
  ASSERT_TRUE(effects.reply.own);
  EXPECT_EQ(effects.reply.own->cpus, before);
  EXPECT_EQ(node.engine.state().ledger.promised(0), Bytes{1 << 21});
}

TEST_P(BothFences, WhatSharedOnesRequestIsKeptFromBoundOnes) {
  const topology::Topology machine = laptop();
  ASSERT_EQ(machine.nodes.size(), 1U);
  const Bytes memory = machine.nodes[0].memory;
  const auto half = static_cast<std::int64_t>(memory / 2);
  Driver node(machine, GetParam());
  const Unit web = burstable("web", 400);  // six tenths of the machine
  node.run(web);
  EXPECT_EQ(node.engine.state().ledger.shared_memory(), memory / 1000 * 600);
  const auto refused = node.create(bound_rank("r", 2, half));
  ASSERT_TRUE(refused.reply.refusal);
  EXPECT_THAT(*refused.reply.refusal, testing::HasSubstr("not enough memory left"));
  node.end(web);
  EXPECT_EQ(node.engine.state().ledger.shared_memory(), 0U);
  EXPECT_FALSE(node.create(bound_rank("r", 2, half)).reply.refusal);
}

TEST_P(BothFences, WhatRanksThatAreNotBoundUseIsKeptFromBoundOnes) {
  const topology::Topology machine = laptop();
  const auto tenth = static_cast<std::int64_t>(machine.nodes[0].memory / 10);
  Driver node(machine, GetParam());
  const Unit open = rank("open", 2, 6 * tenth);
  node.run(open);
  EXPECT_EQ(node.engine.state().ledger.promised(0), Bytes(6 * tenth));
  EXPECT_TRUE(node.create(bound_rank("r", 2, 5 * tenth)).reply.refusal);
  EXPECT_FALSE(node.update(open, cpu(2000, 4 * tenth)).reply.refusal);
  EXPECT_EQ(node.engine.state().ledger.promised(0), Bytes(4 * tenth));
  EXPECT_FALSE(node.create(bound_rank("r", 2, 5 * tenth)).reply.refusal);
  EXPECT_FALSE(node.create(rank("late", 2, 5 * tenth)).reply.refusal) << "it is never refused";
}

TEST_P(BothFences, OneThatLacksMemoryGetsItsCoresWhenSharedOnesGo) {
  const topology::Topology machine = laptop();
  Driver node(machine, GetParam());
  const Unit web = burstable("web", 400);
  const Unit waits = bound_rank("r", 2, static_cast<std::int64_t>(machine.nodes[0].memory / 2));
  (void)node.handle(all_running({web, waits}));
  ASSERT_TRUE(node.own(waits).empty());
  node.stop(web);
  EXPECT_EQ(node.own(waits).count(), 2);
}

TEST_P(BothFences, WhatItsOwnPodRequestsIsNotKeptFromARank) {
  const topology::Topology machine = laptop();
  const auto tenth = static_cast<std::int64_t>(machine.nodes[0].memory / 10);
  Driver node(machine, GetParam());
  Unit unit = bound_rank("r", 2, 8 * tenth);
  const Unit helper{unit.pod, make_container(unit.pod, "helper", cpu(500, 3 * tenth))};
  node.run(helper);
  EXPECT_EQ(node.engine.state().ledger.shared_memory(), Bytes(3 * tenth));
  EXPECT_EQ(node.run(unit).count(), 2);
  EXPECT_EQ(node.engine.state().ledger.shared_memory(), Bytes(3 * tenth));
  EXPECT_TRUE(node.create(bound_rank("other", 2, tenth)).reply.refusal);
}

TEST_P(BothFences, ItsOwnRequestIsNotKeptFromOneThatGetsCores) {
  const topology::Topology machine = laptop();
  const auto most = static_cast<std::int64_t>(machine.nodes[0].memory / 10 * 9);
  Driver node(machine, GetParam());
  Unit unit = bound_rank("r", 2, most);
  unit.container.resources = cpu(1500, most);
  unit.container.oom_score_adj = -997;
  node.run(unit);
  EXPECT_EQ(node.engine.state().ledger.shared_memory(), Bytes(most));
  EXPECT_FALSE(node.update(unit, cpu(2000, most)).reply.refusal);
  EXPECT_EQ(node.engine.state().ledger.shared_memory(), 0U);
  EXPECT_EQ(node.engine.state().ledger.promised(0), Bytes(most));
  EXPECT_FALSE(node.update(unit, cpu(1500, most / 2)).reply.refusal);
  EXPECT_EQ(node.engine.state().ledger.shared_memory(), Bytes(most / 2));
}

// A cpuset file that names no memory keeps what it named before.
TEST_P(BothFences, WhoGivesUpItsCoresIsBoundToNoMemory) {
  Driver node(xeon_snc2(), GetParam());
  const Unit unit = bound_rank("r", 2, 1 << 20);
  node.run(unit);
  const auto bound = node.engine.state().find(unit.id())->own.mems;
  ASSERT_EQ(bound.count(), 1);
  const auto shared = node.update(unit, cpu(1500));
  ASSERT_TRUE(shared.reply.own);
  EXPECT_EQ(shared.reply.own->mems, node.engine.state().topology.memory_nodes());
  node.obey(shared);
  EXPECT_EQ(node.update(unit, cpu(2000)).reply.own->mems, bound);
}

TEST_P(BothFences, NewSettingsTakeNoCoresByAResizeOfMemory) {
  Driver node(xeon_snc2(), GetParam());
  const Unit unit = bound_rank("r", 2, 1 << 20);
  const CpuSet own = node.run(unit);
  Defaults defaults;
  defaults.pods = policy::ExclusivePods::kAnnotated;
  node.engine.use(defaults);
  EXPECT_FALSE(node.update(unit, cpu(2000, 1 << 21)).reply.refusal);
  EXPECT_EQ(node.own(unit), own);
  EXPECT_EQ(node.engine.state().ledger.promised(0), Bytes{1 << 21});
  node.update(unit, cpu(1000, 1 << 21));
  EXPECT_TRUE(node.own(unit).empty()) << "another number of CPUs is asked for anew";
}

TEST_P(BothFences, AnUpdateOfASharedOneIsAnsweredWithThePool) {
  Driver node(laptop(), GetParam());
  node.run(rank("r", 2));
  const Unit noise = shared("s");
  node.run(noise);
  Resources wanted;
  wanted.cpus = "0-7";  // somebody's idea, or the runtime's stale record
  const auto effects = node.update(noise, wanted);
  ASSERT_TRUE(effects.reply.own);
  EXPECT_EQ(effects.reply.own->cpus, node.engine.pool());
  EXPECT_FALSE(effects.reply.own->cpus.intersects(node.taken()));
}

}  // namespace
}  // namespace pinion::engine
