// Cores belong to the pod: crashes, init containers, attempts that replace one another.
#include "agent/engine/engine.h"

#include <gtest/gtest.h>

#include "tests/support/machine.h"
#include "tests/unit/agent/both_fences.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::all_running;
using test_support::cpu;
using test_support::cpus;
using test_support::Driver;
using test_support::laptop;
using test_support::make_pod;
using test_support::part;
using test_support::rank;
using test_support::Unit;
using test_support::whole_pod;
using test_support::xeon_snc2;
using EventKind = ContainerEvent::Kind;

TEST_P(BothFences, ARestartedContainerGetsItsCoresAgain) {
  Driver node(xeon_snc2(), GetParam());
  node.run(rank("a", 4));
  Unit unit = rank("b", 4);
  const CpuSet before = node.run(unit);
  for (int attempt = 2; attempt < 5; ++attempt) {
    node.stop(unit);
    node.end(rank("a", 4));  // a more attractive place is free now
    const Unit other = rank("c" + std::to_string(attempt), 2);
    EXPECT_FALSE(node.run(other).intersects(before)) << "they are its pod's meanwhile";
    const Unit ended = unit;
    unit.container.id = "attempt-" + std::to_string(attempt);
    EXPECT_EQ(node.run(unit), before);
    node.tell(ended, EventKind::kRemove);
    EXPECT_EQ(node.own(unit), before);
  }
}

TEST_P(BothFences, APodKeepsItsCoresUntilItsContainersAreRemovedOrItsSandboxStops) {
  struct Case {
    const char* name;
    void (*end)(Driver&, const Unit&);
  };
  const Case cases[] = {
      {"removed", [](Driver& node, const Unit& u) { node.tell(u, EventKind::kRemove); }},
      {"sandbox stops",
       [](Driver& node, const Unit& u) { node.pod_event(u, PodEvent::Kind::kStop); }},
      {"sandbox removed",
       [](Driver& node, const Unit& u) { node.pod_event(u, PodEvent::Kind::kRemove); }},
      {"pod not listed", [](Driver& node, const Unit&) { (void)node.handle(Synchronize{}); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Driver node(laptop(), GetParam());
    const Unit unit = rank("r", 4);
    const CpuSet own = node.run(unit);
    node.stop(unit);
    EXPECT_TRUE(node.engine.state().members.empty());
    EXPECT_EQ(node.taken(), own);
    c.end(node, unit);
    EXPECT_TRUE(node.taken().empty());
  }
}

TEST_P(BothFences, AnInitContainerHandsItsCoresOver) {
  for (const bool told : {true, false}) {
    SCOPED_TRACE(told);
    Driver node(xeon_snc2(), GetParam());
    const Pod pod = told ? whole_pod("p", 6) : make_pod("p");
    const Unit init = part(pod, "init", 6);
    const CpuSet first = node.run(init);
    node.stop(init);
    EXPECT_EQ(node.taken(), first) << "nobody gets between";
    const Unit main = part(pod, "main", 4);
    const CpuSet second = node.run(main);
    EXPECT_EQ(second.count(), 4);
    EXPECT_TRUE(second.is_subset_of(first)) << second.to_string() << " of " << first.to_string();
    EXPECT_EQ(node.taken().count(), told ? 6 : 4) << "two may come yet, where that is known";
    EXPECT_TRUE(node.taken().is_subset_of(first));
    node.tell(init, EventKind::kRemove);
    EXPECT_EQ(node.own(main), second);
    node.end(main);
    EXPECT_TRUE(node.taken().empty());
  }
}

// Its second attempt has begun before the first is known to have ended.
TEST_P(BothFences, AWaitingAttemptGetsWhatTheOneBeforeItLeaves) {
  Driver node(xeon_snc2(), GetParam());
  const Pod pod = make_pod("p");
  Unit before = part(pod, "a", 2);
  Unit after = before;
  before.container.id = "before";
  after.container.id = "later";
  node.handle(all_running({before, after}));
  const CpuSet own = node.own(before);
  ASSERT_EQ(own.count(), 2);
  EXPECT_TRUE(node.own(after).empty());
  node.obey(node.stop(before));
  EXPECT_EQ(node.own(after), own);
}

TEST_P(BothFences, AnAttemptThatIsSharedLeavesItsCores) {
  Driver node(laptop(), GetParam());
  Unit unit = rank("a", 4);
  node.run(unit);
  node.stop(unit);
  unit.container.id = "again";
  unit.container.resources = cpu(3500);
  node.run(unit);
  EXPECT_TRUE(node.taken().empty());
  EXPECT_EQ(node.run(rank("b", 4)).count(), 4);
}

TEST_P(BothFences, AnIdThatIsAnotherContainersLeavesWhatItHad) {
  Driver node(xeon_snc2(), GetParam());
  Unit unit = rank("a", 2);
  node.run(unit);
  unit.container.name = "renamed";
  EXPECT_EQ(node.handle(all_running({unit})).fatal, "");
  Unit other = rank("b", 2);
  other.container.id = unit.container.id;
  EXPECT_EQ(node.handle(all_running({unit, other})).fatal, "");
}

TEST_P(BothFences, OneThatCrashedKeepsItsCoresWhileANewcomerOfItsPodIsServed) {
  Driver node(laptop(), GetParam());
  const Pod pod = whole_pod("p", 6);
  const Unit one = part(pod, "one", 2);
  const CpuSet own = node.run(one);
  node.stop(one);
  EXPECT_FALSE(node.run(part(pod, "two", 4)).intersects(own));
  Unit again = one;
  again.container.id = "attempt-2";
  EXPECT_EQ(node.run(again), own);
}

TEST_P(BothFences, AnAttemptThatNeverStartedOrWhoseStartFailedIsReplaced) {
  for (const bool started : {false, true}) {  // START was told, POST_START never is, nor a stop
    SCOPED_TRACE(started);
    Driver node(laptop(), GetParam());
    Unit unit = rank("r", 4);
    const auto first = node.create(unit);
    ASSERT_TRUE(first.reply.own);
    if (started) node.obey(node.tell(unit, EventKind::kStart));
    unit.container.id = "attempt-2";
    const auto second = node.create(unit);
    ASSERT_TRUE(second.reply.own);
    EXPECT_EQ(second.reply.own->cpus, first.reply.own->cpus);
    EXPECT_EQ(node.taken().count(), 4);
  }
}

// No kubelet makes it, but somebody may by hand: two attempts that live.
TEST_P(BothFences, OfTwoNamesakesTheLaterHasTheCores) {
  Driver node(laptop(), GetParam());
  const Unit first = rank("r", 2);
  const CpuSet own = node.run(first);
  Unit second = first;
  second.container.id = "attempt-2";
  EXPECT_EQ(node.run(second), own);
  EXPECT_EQ(node.engine.state().find(first.id())->role, Role::kShared);
  EXPECT_FALSE(node.engine.target_of(*node.engine.state().find(first.id())).cpus.intersects(own));
  const auto listed = node.handle(all_running({first, second}));
  EXPECT_EQ(listed.fatal, "");
  EXPECT_EQ(node.own(second), own);
}

TEST_P(BothFences, WhoWaitsGetsCoresAsSoonAsSomeAreFree) {
  Driver node(laptop(), GetParam());
  const Unit first = rank("first", 6);
  node.run(first);
  const Unit late = rank("late", 4);
  (void)node.handle(all_running({first, late}));
  const Member* waiting = node.engine.state().find(late.id());
  EXPECT_EQ(waiting->role, Role::kWaiting);
  EXPECT_NE(waiting->trouble, "");
  node.stop(first);
  EXPECT_EQ(waiting->role, Role::kWaiting) << "they are still the other pod's";
  const auto effects = node.pod_event(first, PodEvent::Kind::kStop);
  EXPECT_EQ(waiting->role, Role::kExclusive);
  EXPECT_EQ(waiting->trouble, "");
  EXPECT_EQ(node.taken().count(), 4);
  if (GetParam() == FenceKind::kLeaf) {
    ASSERT_FALSE(effects.now.empty());
    EXPECT_EQ(effects.now.back().id, late.id());
    EXPECT_EQ(effects.now.back().cpuset.cpus, node.own(late));
  }
}

}  // namespace
}  // namespace pinion::engine
