// What pods keep over a restart of the agent.
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
using test_support::shared;
using test_support::Unit;
using test_support::whole_pod;
using test_support::xeon_snc2;
using EventKind = ContainerEvent::Kind;

// An agent after that of `before`, told of these pods and of no container.
Driver after(const Driver& before, FenceKind fence, const Synchronize& event) {
  Driver node(xeon_snc2(), fence);
  node.engine.restore(before.engine.kept());
  EXPECT_EQ(node.handle(event).fatal, "");
  return node;
}

TEST_P(BothFences, ACrashedContainerGetsItsCoresAgainThoughTheAgentWasRestarted) {
  Driver before(xeon_snc2(), GetParam());
  before.run(rank("a", 4));
  Unit unit = rank("b", 4, 1 << 30);
  unit.pod.pid = 1;
  const CpuSet own = before.run(unit);
  before.stop(unit);
  Driver node = after(before, GetParam(), {.pods = {unit.pod}, .containers = {}, .files = {}});
  EXPECT_EQ(node.taken(), own);
  EXPECT_EQ(node.engine.kept(), before.engine.kept());
  Unit older = unit;
  older.container.id = "older";
  node.tell(older, EventKind::kRemove);
  EXPECT_EQ(node.taken(), own) << "others of its attempts may come again";
  const Unit other = rank("c", 4);
  EXPECT_FALSE(node.run(other).intersects(own));
  unit.container.id = "again";
  EXPECT_EQ(node.run(unit), own);
  node.stop(unit);
  node.pod_event(unit, PodEvent::Kind::kStop);
  EXPECT_EQ(node.taken(), node.own(other));
}

// As one whose start failed is, which the runtime lists no more.
TEST_P(BothFences, AContainerThatNeverStartedKeepsItsCoresThoughTheAgentWasRestarted) {
  Driver before(xeon_snc2(), GetParam());
  Unit unit = rank("b", 4);
  unit.pod.pid = 1;
  before.create(unit);
  const CpuSet own = before.own(unit);
  Driver node = after(before, GetParam(), {.pods = {unit.pod}, .containers = {}, .files = {}});
  EXPECT_EQ(node.taken(), own);
  EXPECT_FALSE(node.run(rank("c", 4)).intersects(own));
  unit.container.id = "again";
  EXPECT_EQ(node.run(unit), own);
  EXPECT_TRUE(node.engine.kept().empty());
}

// They have them beyond what the sandbox tells, as the pod has grown; the record of one is older.
TEST_P(BothFences, ThoseThatHaveNotStartedHaveTheirCoresAgainThoughTheAgentWasRestarted) {
  for (const char* record : {"0-5", "4-5"}) {
    SCOPED_TRACE(record);
    Driver node(laptop(), GetParam());
    Pod pod = whole_pod("p", 2);
    pod.pid = 1;
    const Unit a = part(pod, "a", 2);
    const Unit b = part(pod, "b", 2);
    const Unit runs = part(pod, "runs", 2);
    Synchronize list = all_running({a, b, runs});
    for (const std::size_t one : {0U, 1U}) list.containers[one].state = ContainerState::kCreated;
    list.containers[0].resources.cpus = record;
    list.containers[1].resources.cpus = "2-3";
    list.files[runs.id()] = Applied{.cpus = cpus("0-3"), .mems = {}};
    node.engine.restore({{.pod_id = pod.id, .container = "a", .cpus = cpus("0-1"), .count = 2},
                         {.pod_id = pod.id, .container = "b", .cpus = cpus("2-3"), .count = 2}});
    EXPECT_EQ(node.handle(list).fatal, "");
    EXPECT_EQ(node.own(a), cpus("0-1"));
    EXPECT_EQ(node.own(b), cpus("2-3"));
    EXPECT_EQ(node.engine.target_of(*node.engine.state().find(runs.id())).cpus, cpus("0-3"))
        << "with its pod";
  }
}

TEST_P(BothFences, WhatAnAgentHasSavedIsNotKeptWhereItIsSomebodyElses) {
  struct Case {
    const char* name;
    void (*change)(Synchronize&, const CpuSet& own);
  };
  const Case cases[] = {
      {"its sandbox has stopped", [](Synchronize& e, const CpuSet&) { e.pods[0].pid = 0; }},
      {"its pod is gone", [](Synchronize& e, const CpuSet&) { e.pods.clear(); }},
      {"its annotations are others",
       [](Synchronize& e, const CpuSet&) { e.pods[0].annotations["pinion.dev/cpus"] = "shared"; }},
      {"another container runs there",
       [](Synchronize& e, const CpuSet& own) {
         const Unit other = rank("other", 4);
         e.pods.push_back(other.pod);
         e.containers.push_back(other.container);
         e.containers.back().state = ContainerState::kRunning;
         e.files[other.id()] = {.cpus = own, .mems = test_support::mems("0")};
       }},
      {"it runs again, elsewhere",
       [](Synchronize& e, const CpuSet&) {
         Unit again = rank("b", 4);
         e.containers.push_back(again.container);
         e.containers.back().state = ContainerState::kRunning;
         e.files[again.id()] = {.cpus = cpus("20-21,68-69"), .mems = test_support::mems("1")};
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Driver before(xeon_snc2(), GetParam());
    Unit unit = rank("b", 4);
    unit.pod.pid = 1;
    const CpuSet own = before.run(unit);
    before.stop(unit);
    Synchronize event{.pods = {unit.pod}, .containers = {}, .files = {}};
    c.change(event, own);
    const Driver node = after(before, GetParam(), event);
    EXPECT_TRUE(node.engine.kept().empty());
    EXPECT_EQ(node.taken().count(), event.containers.empty() ? 0 : 4);
  }
}

// By what the sandbox stated at first: the container has grown in place since.
TEST_P(BothFences, AGrownContainerGetsItsCoresAgainThoughTheAgentWasRestarted) {
  Driver before(xeon_snc2(), GetParam());
  Unit unit = rank("b", 4);
  unit.pod.pid = 1;
  unit.pod.resources = cpu(2000);
  const CpuSet own = before.run(unit);
  before.stop(unit);
  Driver node = after(before, GetParam(), {.pods = {unit.pod}, .containers = {}, .files = {}});
  EXPECT_EQ(node.taken(), own);
}

TEST_P(BothFences, WhatIsForThoseToComeIsKeptOverARestartAsItIs) {
  struct Case {
    const char* name;
    const char* annotation;
    const char* value;
    int pod_cpus;  // after the restart
    bool kept;
  };
  const Case cases[] = {
      {"nothing asked for", "team", "x", 4, true},
      {"a core each", "smt", "one-per-core", 4, true},
      {"a core each, for the containers by their names", "smt.one", "one-per-core", 4, true},
      {"the other containers run shared, all but those of a name", "cpus", "shared", 4, true},
      {"no CPU is left for them", "team", "x", 2, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Driver before(xeon_snc2(), GetParam());
    Pod pod = whole_pod("p", 4);
    pod.pid = 1;
    pod.annotations[std::string("pinion.dev/") + c.annotation] = c.value;
    pod.annotations["pinion.dev/cpus.one"] = "exclusive";
    const Unit one = part(pod, "one", 2);
    const CpuSet own = before.run(one);
    auto event = all_running({one});
    event.files[one.id()] = {.cpus = own, .mems = test_support::mems("0")};
    event.pods[0].resources = cpu(1000 * c.pod_cpus);
    Driver node(xeon_snc2(), GetParam());
    node.engine.restore(before.engine.kept());
    const auto effects = node.handle(event);
    EXPECT_EQ(effects.fatal, "");
    EXPECT_EQ(node.own(one), own);
    EXPECT_EQ(node.taken() == before.taken(), c.kept);
    EXPECT_EQ(node.engine.kept() == before.engine.kept(), c.kept);
    const auto refused = [](const Note& line) {
      return line.text == "the pod does not get back the cores that it kept";
    };
    EXPECT_EQ(std::count_if(effects.notes.begin(), effects.notes.end(), refused), c.kept ? 0 : 1);
  }
}

// Its end was told to nobody.
TEST_P(BothFences, ASandboxThatIsListedWithoutItsProcessKeepsNothing) {
  struct Case {
    const char* name;
    std::uint32_t pid;
    std::uint32_t others_pid;
    int taken;
  };
  const Case cases[] = {
      {"it runs", 1, 2, 4},
      {"it has ended", 0, 2, 0},
      {"this runtime tells none", 0, 0, 4},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Driver node(xeon_snc2(), GetParam());
    Unit unit = rank("b", 4);
    node.run(unit);
    node.stop(unit);
    unit.pod.pid = c.pid;
    Pod other = make_pod("other");
    other.pid = c.others_pid;
    EXPECT_EQ(
        node.handle(Synchronize{.pods = {unit.pod, other}, .containers = {}, .files = {}}).fatal,
        "");
    EXPECT_EQ(node.taken().count(), c.taken);
  }
}

TEST_P(BothFences, OneThatCameBackWhileNoAgentRanGetsTheCoresItHad) {
  Driver before(xeon_snc2(), GetParam());
  before.run(rank("a", 4));
  Unit unit = rank("b", 4);
  unit.pod.pid = 1;
  const CpuSet own = before.run(unit);
  before.stop(unit);
  unit.container.id = "again";
  auto event = all_running({unit, shared("s")});
  event.files = {{unit.id(), {.cpus = cpus("0-95"), .mems = test_support::mems("0-3")}},
                 {shared("s").id(), {.cpus = cpus("0-95"), .mems = test_support::mems("0-3")}}};
  EXPECT_EQ(after(before, GetParam(), event).own(unit), own);
}

// An attempt that was given up runs on in the shared set, which has just its size.
TEST_P(BothFences, AnEarlierAttemptTakesWhatItsPodKeepsAndNotTheSharedSet) {
  Driver before(xeon_snc2(), GetParam());
  Unit unit = rank("b", 4);
  unit.pod.pid = 1;
  const CpuSet own = before.run(unit);
  before.stop(unit);
  unit.container.id = "earlier";
  const Unit other = shared("s");
  auto event = all_running({unit, other});
  for (const Unit& one : {unit, other}) event.files[one.id()].cpus = cpus("8-11");
  ASSERT_FALSE(own.intersects(cpus("8-11")));
  EXPECT_EQ(after(before, GetParam(), event).own(unit), own);
}

TEST_P(BothFences, WhatIsForThoseToComeIsKeptOverARestartOfTheAgent) {
  Driver before(xeon_snc2(), GetParam());
  Pod pod = whole_pod("p", 6);
  pod.pid = 1;
  const Unit first = part(pod, "first", 2);
  const CpuSet own = before.run(first);
  const CpuSet rest = before.taken() - own;
  ASSERT_EQ(rest.count(), 4);
  auto event = all_running({first});
  event.files[first.id()] = {.cpus = own, .mems = test_support::mems("0")};
  Driver node = after(before, GetParam(), event);
  EXPECT_EQ(node.taken(), own | rest);
  EXPECT_EQ(node.run(part(pod, "second", 4)), rest);
}

// It was started while no agent ran, wants as many as the shared ones have by chance, and would
// leave these nothing but what the other pod keeps.
TEST_P(BothFences, WhatIsForThoseToComeIsKeptFromOneThatRunsAmongTheShared) {
  Driver before(xeon_snc2(), GetParam());
  Pod pod = whole_pod("p", 6);
  pod.pid = 1;
  const Unit first = part(pod, "first", 2);
  before.run(first);
  const Unit large = rank("large", 80);
  before.run(large);
  const CpuSet taken = before.taken();
  const CpuSet pool = xeon_snc2().online - taken;
  const Unit late = rank("late", pool.count());
  const Unit other = shared("s");
  auto event = all_running({late, first, large, other});
  for (const Unit& one : {first, large}) {
    event.files[one.id()] = {.cpus = before.own(one), .mems = {}};
  }
  for (const Unit& one : {late, other}) event.files[one.id()] = {.cpus = pool, .mems = {}};
  EXPECT_EQ(after(before, GetParam(), event).taken(), taken);
}

// One of those to come was made and started while no agent ran, where it would.
TEST_P(BothFences, WhatIsLeftForThoseToComeIsKeptThoughOneOfThemCameMeanwhile) {
  struct Case {
    const char* name;
    int second;  // CPUs, of the 4 for those to come
    int kept;
  };
  for (const Case& c : {Case{"a part", 1, 3}, Case{"all but one", 3, 1}, Case{"all", 4, 0}}) {
    SCOPED_TRACE(c.name);
    Driver before(xeon_snc2(), GetParam());
    Pod pod = whole_pod("p", 6);
    pod.pid = 1;
    const Unit first = part(pod, "first", 2);
    const CpuSet own = before.run(first);
    const CpuSet rest = before.taken() - own;
    ASSERT_EQ(rest.count(), 4);
    const Unit second = part(pod, "second", c.second);
    const CpuSet there = rest.lowest(c.second);
    auto event = all_running({first, second});
    event.files[first.id()] = {.cpus = own, .mems = test_support::mems("0")};
    event.files[second.id()] = {.cpus = there, .mems = test_support::mems("0")};
    Driver node = after(before, GetParam(), event);
    EXPECT_EQ(node.own(second), there);
    EXPECT_EQ(node.taken().count(), 6);
    EXPECT_EQ(node.taken(), own | rest) << "the same ones, as they are free";
    const auto kept = node.engine.kept();
    ASSERT_EQ(kept.size(), c.kept == 0 ? 0U : 1U);
    if (c.kept == 0) continue;
    EXPECT_EQ(kept[0].count, c.kept);
    EXPECT_EQ(node.run(part(pod, "third", c.kept)), rest - there);
  }
}

TEST_P(BothFences, AReconnectLeavesPodsWhatTheyKeep) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("r", 4);
  const CpuSet own = node.run(unit);
  Synchronize crashed_meanwhile;
  crashed_meanwhile.pods = {unit.pod};
  (void)node.handle(crashed_meanwhile);
  EXPECT_EQ(node.taken(), own);
  Unit again = unit;
  again.container.id = "attempt-2";
  again.container.resources.cpus = "0-7";
  (void)node.handle(all_running({again}));
  EXPECT_EQ(node.own(again), own) << "it started while nobody looked";
}

}  // namespace
}  // namespace pinion::engine
