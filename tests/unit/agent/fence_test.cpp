// How everybody else is kept off: the leaf fence by files, the runtime fence by answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/engine/engine.h"
#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::all_running;
using test_support::cpu;
using test_support::cpus;
using test_support::Driver;
using test_support::epyc_rome_256;
using test_support::laptop;
using test_support::rank;
using test_support::shared;
using test_support::two_core_vm;
using test_support::Unit;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using EventKind = ContainerEvent::Kind;

std::vector<std::string> ids(const std::vector<Enforce>& list) {
  std::vector<std::string> result;
  for (const Enforce& entry : list) result.push_back(entry.id);
  return result;
}

std::vector<std::string> ids(const std::vector<CpusetUpdate>& list) {
  std::vector<std::string> result;
  for (const CpusetUpdate& entry : list) result.push_back(entry.id);
  return result;
}

// --- leaf

TEST(LeafFence, AnswersCarryNoUpdates) {
  Driver node(laptop(), FenceKind::kLeaf);
  node.run(shared("s"));
  EXPECT_THAT(node.create(rank("r", 2)).reply.updates, IsEmpty());
  EXPECT_THAT(node.stop(rank("r", 2)).reply.updates, IsEmpty());
  EXPECT_FALSE(node.engine.wants_resync());
}

TEST(LeafFence, StartEvictsThoseThatTouchTakenCoresAndNobodyElse) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit first = rank("a-first", 2);
  const Unit away = shared("b-away");
  const Unit touching = shared("c-touching");
  const Unit asleep = shared("d-not-started");
  node.run(touching);
  node.run(first);  // touching is moved off, away will never be on it
  node.run(away);
  node.create(asleep);
  const Unit second = rank("e-second", 2);
  node.create(second);
  node.drain();
  const Unit later = shared("f-later");
  node.run(later);  // told the pool as it is now: touches nobody
  const Unit third = rank("g-third", 2);
  node.create(third);
  const auto effects = node.tell(third, EventKind::kStart);
  EXPECT_THAT(ids(effects.now),
              UnorderedElementsAre(away.id(), touching.id(), later.id(), third.id()));
  EXPECT_EQ(effects.now.back().id, third.id()) << "itself last, when the cores are clear";
  for (const Enforce& piece : effects.now) {
    if (piece.id != third.id()) {
      EXPECT_EQ(piece.cpuset.cpus, node.engine.pool());
    }
  }
  node.obey(effects);
  EXPECT_THAT(ids(node.tell(third, EventKind::kStart).now), ElementsAre(third.id()));
}

TEST(LeafFence, ASharedOnesStartConcernsItselfAlone) {
  Driver node(laptop(), FenceKind::kLeaf);
  node.run(shared("s"));
  node.create(rank("r", 2));
  const Unit other = shared("t");
  node.create(other);
  EXPECT_THAT(ids(node.tell(other, EventKind::kStart).now), ElementsAre(other.id()));
}

TEST(LeafFence, CoresAreGivenBackOneFileAtATime) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit a = shared("a");
  const Unit b = shared("b");
  node.run(a);
  node.run(b);
  const Unit r = rank("r", 2);
  node.run(r);
  node.drain();
  EXPECT_THAT(node.stop(r).now, IsEmpty());
  const auto piece = node.engine.idle();
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->cause, Cause::kFence);
  EXPECT_EQ(piece->cpuset.cpus, node.engine.state().topology.online);
  EXPECT_THAT(node.drain(), ElementsAre(a.id(), b.id()));
  EXPECT_FALSE(node.engine.idle());
}

TEST(LeafFence, AResizeOfARunningOneEvictsAtOnce) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit noise = shared("s");
  const Unit r = rank("r", 2);
  node.run(r);
  node.run(noise);
  const auto grown = node.update(r, cpu(4000));
  EXPECT_THAT(ids(grown.now), ElementsAre(noise.id(), r.id()));
  node.obey(grown);
  EXPECT_THAT(ids(node.update(r, cpu(2000)).now), ElementsAre(r.id()));
}

TEST(LeafFence, AMovedRankLeavesTheCoresThatAnotherGets) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit a = rank("a", 2);
  const Unit b = rank("b", 2);
  auto event = all_running({a, b});
  event.files = {{a.id(), {.cpus = cpus("2-3"), .mems = {}}},
                 {b.id(), {.cpus = cpus("4-7"), .mems = {}}}};
  (void)node.engine.handle(event);  // b has two cores now and its file still says four
  const Unit c = rank("c", 2);
  node.create(c);
  ASSERT_TRUE(node.own(c).intersects(cpus("4-7"))) << node.own(c).to_string();
  const auto effects = node.tell(c, EventKind::kStart);
  EXPECT_THAT(ids(effects.now), testing::Contains(b.id()));
}

// --- runtime

TEST(RuntimeFence, AWholeL3IsGivenUpSoThatTheNextCostsNothing) {
  Driver node(epyc_rome_256(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  const auto first = node.create(rank("a", 2));
  EXPECT_THAT(ids(first.reply.updates), ElementsAre(noise.id()));
  EXPECT_EQ(first.reply.updates[0].cpuset.cpus, node.engine.pool());
  EXPECT_EQ(node.engine.pool().count(), 248) << "four cores of two threads";
  const auto second = node.create(rank("b", 2));
  ASSERT_TRUE(second.reply.own);
  EXPECT_FALSE(second.reply.own->cpus.intersects(node.engine.pool()));
  EXPECT_THAT(second.reply.updates, IsEmpty());
  EXPECT_EQ(node.engine.counters().updates_told, 1U);
}

TEST(RuntimeFence, WhereDomainsAreScarceItGivesUpWhatIsTaken) {
  Driver node(laptop(), FenceKind::kRuntime);
  node.run(rank("a", 2));
  EXPECT_EQ(node.engine.pool().count(), 6) << "its one L3 is all there is";
}

TEST(RuntimeFence, GrowingWaitsUntilLessThanHalfIsUsed) {
  Driver node(epyc_rome_256(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  std::vector<Unit> ranks;
  for (int i = 0; i < 20; ++i) {
    ranks.push_back(rank("r" + std::to_string(i), 8));
    ASSERT_EQ(node.run(ranks.back()).count(), 8);
  }
  const int small = node.engine.pool().count();
  EXPECT_EQ(small, 256 - 160);
  std::size_t updates = 0;
  for (const Unit& unit : ranks) {
    const auto effects = node.stop(unit);
    EXPECT_EQ(effects.fatal, "");
    updates += effects.reply.updates.size();
    EXPECT_GE(2 * node.engine.pool().count(), node.engine.state().shared().count());
  }
  EXPECT_EQ(updates, 1U) << "one growth for twenty stops";
}

TEST(RuntimeFence, NothingIsToldTwice) {
  Driver node(two_core_vm(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  const Unit r = rank("r", 1);
  EXPECT_THAT(ids(node.create(r).reply.updates), ElementsAre(noise.id()));
  EXPECT_THAT(node.create(shared("t")).reply.updates, IsEmpty());
  EXPECT_THAT(node.update(r, cpu(1000, 5)).reply.updates, IsEmpty());
  EXPECT_THAT(ids(node.stop(r).reply.updates), ElementsAre()) << "half of two is enough";
  EXPECT_THAT(node.create(r).reply.updates, IsEmpty());
}

TEST(RuntimeFence, ItsOwnEntryIsNotRepeatedAmongTheUpdates) {
  Driver node(laptop(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  const Unit r = rank("r", 2);
  node.run(noise);
  node.run(r);
  const auto effects = node.update(r, cpu(4000));
  EXPECT_THAT(ids(effects.reply.updates), ElementsAre(noise.id()));
  ASSERT_TRUE(effects.reply.own);
  EXPECT_EQ(effects.reply.own->cpus.count(), 4);
}

TEST(RuntimeFence, WantsAResyncWhenAToldSetIsNotApplied) {
  Driver node(laptop(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  EXPECT_FALSE(node.engine.wants_resync());
  node.create(rank("r", 2));
  EXPECT_FALSE(node.engine.wants_resync()) << "told, and not seen otherwise";
  const auto piece = node.engine.audit("");
  ASSERT_TRUE(piece);
  Enforced lost;
  lost.id = noise.id();
  lost.cause = Cause::kAudit;
  lost.found = Applied{.cpus = cpus("0-7"), .mems = {}};
  (void)node.engine.report(lost);
  EXPECT_TRUE(node.engine.wants_resync());
  auto event = all_running({noise});
  event.containers[0].resources.cpus = node.engine.pool().to_string();  // the record lies
  event.files = {{noise.id(), *lost.found}};
  event.pods.push_back(rank("r", 2).pod);
  event.containers.push_back(rank("r", 2).container);
  event.containers.back().resources.cpus = node.own(rank("r", 2)).to_string();
  EXPECT_THAT(ids(node.engine.handle(event).reply.updates), ElementsAre(noise.id()));
  EXPECT_FALSE(node.engine.wants_resync());
}

TEST(RuntimeFence, CoresTakenWhereNoAnswerCanSaySoAreToldByAResync) {
  Driver node(laptop(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  const Unit late = rank("late", 2);
  const auto effects = node.tell(late, EventKind::kStart);
  EXPECT_THAT(effects.reply.updates, IsEmpty()) << "START's answer carries none";
  EXPECT_TRUE(node.engine.wants_resync());
}

TEST(RuntimeFence, ThePoolFollowsWhenOrdinaryCpusComeBack) {
  const auto machine = test_support::machine({.cores_per_l3 = 4, .isolated = cpus("2-3")});
  Settings settings;
  settings.reserved = cpus("2");
  Driver node(machine, FenceKind::kRuntime, settings);
  Unit r = rank("r", 2);
  node.run(r);
  EXPECT_FALSE(node.engine.pool().empty());
  const auto effects = node.stop(r);
  EXPECT_EQ(effects.fatal, "");
  EXPECT_TRUE(node.engine.pool().is_subset_of(node.engine.state().shared()))
      << node.engine.pool().to_string();
}

}  // namespace
}  // namespace pinion::engine
