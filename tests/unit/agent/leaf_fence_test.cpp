// How everybody else is kept off by a file of each container.
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
using test_support::laptop;
using test_support::rank;
using test_support::shared;
using test_support::Unit;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using EventKind = ContainerEvent::Kind;

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
  EXPECT_FALSE(node.engine.idle()) << "they are its pod's";
  EXPECT_THAT(node.pod_event(r, PodEvent::Kind::kStop).now, IsEmpty());
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
  (void)node.handle(event);  // b has two cores now and its file still says four
  const Unit c = rank("c", 2);
  node.create(c);
  ASSERT_TRUE(node.own(c).intersects(cpus("4-7"))) << node.own(c).to_string();
  const auto effects = node.tell(c, EventKind::kStart);
  EXPECT_THAT(ids(effects.now), testing::Contains(b.id()));
}

}  // namespace
}  // namespace pinion::engine
