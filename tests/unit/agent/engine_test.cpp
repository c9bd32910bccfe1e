// A container's life as the engine sees it: its end, and events in any order.
#include "agent/engine/engine.h"

#include <gtest/gtest.h>

#include "tests/support/machine.h"
#include "tests/unit/agent/both_fences.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::all_running;
using test_support::cpus;
using test_support::Driver;
using test_support::laptop;
using test_support::rank;
using test_support::shared;
using test_support::Unit;
using EventKind = ContainerEvent::Kind;

std::string name_of(const testing::TestParamInfo<FenceKind>& info) {
  return info.param == FenceKind::kLeaf ? "Leaf" : "Runtime";
}

INSTANTIATE_TEST_SUITE_P(Engine, BothFences, testing::Values(FenceKind::kLeaf, FenceKind::kRuntime),
                         name_of);

TEST_P(BothFences, TheSameIdCreatedTwiceHoldsOnce) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("r", 4);
  const CpuSet first = node.run(unit);
  const auto again = node.create(unit);
  ASSERT_TRUE(again.reply.own);
  EXPECT_EQ(again.reply.own->cpus, first);
  EXPECT_EQ(node.taken().count(), 4);
}

TEST_P(BothFences, EveryEndGivesTheCoresBack) {
  struct Case {
    const char* name;
    void (*end)(Driver&, const Unit&);
  };
  const Case cases[] = {
      {"stop and remove",
       [](Driver& node, const Unit& u) {
         node.stop(u);
         node.tell(u, EventKind::kRemove);
       }},
      {"remove without stop",
       [](Driver& node, const Unit& u) { node.tell(u, EventKind::kRemove); }},
      {"pod stop", [](Driver& node, const Unit& u) { node.pod_event(u, PodEvent::Kind::kStop); }},
      {"pod remove",
       [](Driver& node, const Unit& u) { node.pod_event(u, PodEvent::Kind::kRemove); }},
      {"not listed", [](Driver& node, const Unit&) { (void)node.handle(Synchronize{}); }},
      {"all of them, twice",
       [](Driver& node, const Unit& u) {
         for (int i = 0; i < 2; ++i) {
           node.stop(u);
           node.tell(u, EventKind::kRemove);
           node.pod_event(u, PodEvent::Kind::kStop);
           node.pod_event(u, PodEvent::Kind::kRemove);
         }
       }},
  };
  for (const Case& c : cases) {
    for (const bool started : {false, true}) {
      SCOPED_TRACE(std::string(c.name) + (started ? ", started" : ", never started"));
      Driver node(laptop(), GetParam());
      const Unit unit = rank("r", 4);
      node.create(unit);
      if (started) node.start(unit);
      c.end(node, unit);
      EXPECT_TRUE(node.engine.state().members.empty());
      EXPECT_TRUE(node.taken().empty());
    }
  }
}

TEST_P(BothFences, NothingIsRememberedOfARemovedPod) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("r", 4);
  node.run(unit);
  node.stop(unit);
  EXPECT_EQ(node.engine.state().pods.size(), 1U);
  node.pod_event(unit, PodEvent::Kind::kRemove);
  EXPECT_TRUE(node.engine.state().pods.empty());
}

TEST_P(BothFences, EventsOfUnknownContainersDoNoHarm) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("ghost", 2);
  EXPECT_EQ(node.stop(unit).fatal, "");
  EXPECT_EQ(node.tell(unit, EventKind::kRemove).fatal, "");
  EXPECT_EQ(node.tell(unit, EventKind::kPostCreate).fatal, "");
  EXPECT_EQ(node.pod_event(unit, PodEvent::Kind::kRun).fatal, "");
  EXPECT_EQ(node.pod_event(unit, PodEvent::Kind::kStop).fatal, "");
  EXPECT_TRUE(node.engine.state().members.empty());
  Enforced result;
  result.id = "ghost-main";
  EXPECT_TRUE(node.report(result).notes.empty());
}

TEST_P(BothFences, AContainerFirstHeardOfLaterIsTakenIn) {
  struct Case {
    const char* name;
    EventKind kind;
  };
  const Case cases[] = {{"START", EventKind::kStart},
                        {"POST_START", EventKind::kPostStart},
                        {"POST_UPDATE", EventKind::kPostUpdate}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Driver node(laptop(), GetParam());
    const Unit noise = shared("s");
    node.run(noise);
    const Unit unit = rank("r", 2);
    const auto effects = node.tell(unit, c.kind);
    EXPECT_EQ(effects.fatal, "");
    EXPECT_EQ(node.own(unit).count(), 2);
    EXPECT_EQ(node.engine.counters().adopted, 1U);
    ASSERT_FALSE(effects.now.empty());
    EXPECT_EQ(effects.now.back().id, unit.id());
    EXPECT_EQ(effects.now.back().cpuset.cpus, node.own(unit));
    EXPECT_FALSE(effects.reply.refusal) << "nobody can refuse it any more";
  }
}

TEST_P(BothFences, AContainerThatHasStoppedIsNotTakenInByALateEvent) {
  for (const EventKind late : {EventKind::kStart, EventKind::kPostStart, EventKind::kPostUpdate}) {
    Driver node(laptop(), GetParam());
    const Unit unit = rank("r", 2);
    node.create(unit);
    node.tell(unit, EventKind::kStart);
    node.stop(unit);
    const auto effects = node.tell(unit, late);
    EXPECT_EQ(effects.fatal, "");
    EXPECT_TRUE(effects.now.empty());
    EXPECT_EQ(node.engine.state().find(unit.id()), nullptr);
    EXPECT_EQ(node.engine.counters().adopted, 0U);
    // Removed, or listed by another session, its id means nothing any more.
    node.tell(unit, EventKind::kRemove);
    node.tell(unit, EventKind::kPostStart);
    EXPECT_EQ(node.own(unit).count(), 2);
    node.stop(unit);
    (void)node.handle(test_support::all_running({unit}));
    node.tell(unit, EventKind::kPostStart);
    EXPECT_EQ(node.own(unit).count(), 2);
  }
}

TEST_P(BothFences, AnUnknownContainerThatFindsNoCoresIsLeftShared) {
  Driver node(laptop(), GetParam());
  node.run(rank("a", 6));
  const Unit late = rank("late", 4);
  const auto effects = node.tell(late, EventKind::kStart);
  EXPECT_EQ(effects.fatal, "");
  const Member* member = node.engine.state().find(late.id());
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->role, Role::kWaiting);
  EXPECT_NE(member->trouble, "");
  EXPECT_EQ(node.engine.counters().unplaced, 1U);
  EXPECT_EQ(effects.now.back().cpuset.cpus, node.engine.pool());
}

TEST_P(BothFences, AuditWalksTheStartedOnesInOrder) {
  Driver node(laptop(), GetParam());
  node.run(shared("a"));
  node.create(shared("b"));
  node.run(shared("c"));
  auto piece = node.engine.audit("");
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->id, "a-main");
  piece = node.engine.audit(piece->id);
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->id, "c-main");
  EXPECT_EQ(piece->cause, Cause::kAudit);
  EXPECT_FALSE(node.engine.audit(piece->id));
}

}  // namespace
}  // namespace pinion::engine
