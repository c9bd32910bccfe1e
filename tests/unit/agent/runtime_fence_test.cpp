// How everybody else is kept off by answers to the runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/engine/engine.h"
#include "tests/support/machine.h"
#include "tests/unit/agent/fence_ids.h"
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
using EventKind = ContainerEvent::Kind;

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
  int growths = 0;
  for (const Unit& unit : ranks) {
    const int before = node.engine.pool().count();
    EXPECT_EQ(node.end(unit).fatal, "");
    EXPECT_FALSE(node.engine.wants_resync());
    const auto answer = node.create(shared("after-" + unit.pod.name));
    const bool grown = node.engine.pool().count() > before;
    growths += grown ? 1 : 0;
    EXPECT_EQ(answer.reply.updates.size(), grown ? 1U : 0U) << "the next answer tells it";
    EXPECT_FALSE(node.engine.could_grow());
  }
  EXPECT_EQ(growths, 1) << "for twenty ends";
}

TEST(RuntimeFence, TheEndOfAPodHasNoAnswerToGrowIn) {
  Driver node(laptop(), FenceKind::kRuntime);
  node.run(shared("s"));
  const Unit r = rank("r", 5);
  node.run(r);
  const int small = node.engine.pool().count();
  EXPECT_EQ(node.end(r).fatal, "");
  EXPECT_EQ(node.engine.pool().count(), small);
  EXPECT_TRUE(node.engine.could_grow());
  EXPECT_FALSE(node.engine.wants_resync());
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
  (void)node.report(lost);
  EXPECT_TRUE(node.engine.wants_resync());
  auto event = all_running({noise});
  event.containers[0].resources.cpus = node.engine.pool().to_string();  // the record lies
  event.files = {{noise.id(), *lost.found}};
  event.pods.push_back(rank("r", 2).pod);
  event.containers.push_back(rank("r", 2).container);
  event.containers.back().resources.cpus = node.own(rank("r", 2)).to_string();
  EXPECT_THAT(ids(node.handle(event).reply.updates), ElementsAre(noise.id()));
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

TEST(RuntimeFence, ARefusalCarriesNoUpdatesAndTheyAreToldAgain) {
  Driver node(epyc_rome_256(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  const Unit late = rank("late", 2);
  const auto refused =
      node.update(late, cpu(1'000'000));  // never announced: taken in, then resized
  ASSERT_TRUE(refused.reply.refusal);
  EXPECT_THAT(refused.reply.updates, IsEmpty());
  EXPECT_TRUE(node.engine.wants_resync()) << "the shared one is on its cores";

  Driver other(epyc_rome_256(), FenceKind::kRuntime);
  other.run(noise);
  const Unit large = rank("large", 200);
  other.run(large);
  other.end(large);
  ASSERT_TRUE(other.engine.could_grow());
  Unit wrong = rank("wrong", 2);
  wrong.pod.annotations["pinion.dev/align"] = "bogus";
  ASSERT_TRUE(other.create(wrong).reply.refusal);
  EXPECT_TRUE(other.engine.could_grow()) << "with an answer that can say so";
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
