// Cores belong to the pod: restarts, init containers, pods admitted whole.
#include "agent/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

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
using test_support::make_container;
using test_support::make_pod;
using test_support::rank;
using test_support::shared;
using test_support::Unit;
using test_support::xeon_snc2;
using testing::HasSubstr;
using EventKind = ContainerEvent::Kind;

// The pod's container of that name, of so many CPUs.
Unit part(const Pod& pod, const std::string& name, int count) {
  return {pod, make_container(pod, name, cpu(1000 * count))};
}

// A pod of which the runtime tells how many CPUs it has as a whole.
Pod whole_pod(const std::string& name, int count) {
  Pod pod = make_pod(name);
  pod.resources = cpu(1000 * count);
  return pod;
}

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

TEST_P(BothFences, APodIsAdmittedWholeOrRefusedAtItsFirstContainer) {
  Driver node(laptop(), GetParam());  // 8 CPUs
  node.run(rank("other", 4));
  const Unit refused = part(whole_pod("large", 5), "one", 2);
  const auto effects = node.create(refused);
  ASSERT_TRUE(effects.reply.refusal);
  EXPECT_THAT(*effects.reply.refusal, HasSubstr("its pod's other containers need 3 CPUs besides"));
  EXPECT_EQ(node.taken().count(), 4) << "nothing stays behind";

  const Pod pod = whole_pod("p", 3);
  node.run(part(pod, "one", 1));
  EXPECT_EQ(node.taken().count(), 7) << "those of the others are held too";
  EXPECT_TRUE(node.create(rank("late", 1)).reply.refusal);
  const CpuSet two = node.run(part(pod, "two", 2));
  EXPECT_EQ(two.count(), 2);
  EXPECT_EQ(node.taken().count(), 7);
}

// Of containers that must not leave their NUMA node: the sum of CPUs says nothing about them.
TEST_P(BothFences, APodOfBoundContainersIsAdmittedWholeOrRefusedAtItsFirstContainer) {
  struct Case {
    const char* name;
    std::vector<int> sizes;  // of the containers
    int started;             // how many of them get cores
    int busy = 0;            // CPUs of one node that another pod has
  };
  const Case cases[] = {
      {"two of six", {6, 6}, 2},
      {"two of six, of which the other node takes none now", {6, 6}, 0, 6},
      {"four of five fill both nodes", {5, 5, 5, 5}, 4},
      {"four of five, of which one finds no place now", {5, 5, 5, 5}, 0, 1},
      {"one domain takes the others, whatever their sizes", {4, 3, 7}, 3},
      {"unequal ones that no node takes whole", {6, 5, 4, 5}, 4},
      {"as many as two of the first, which are three others", {6, 4, 4, 4}, 4},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    // Two nodes of ten CPUs and a reserved one.
    Driver node(test_support::machine({.nodes_per_package = 2, .cores_per_l3 = 11}), GetParam(),
                {.reserved = cpus("0,11"), .defaults = {}});
    if (c.busy > 0) node.run(test_support::bound_rank("busy", c.busy, 0));
    Pod pod = whole_pod("p", std::accumulate(c.sizes.begin(), c.sizes.end(), 0));
    pod.annotations["pinion.dev/strength"] = "required";
    pod.resources.memory = 1LL << 50;  // of the others nobody knows whose
    int started = 0;
    for (const int size : c.sizes) {
      if (!node.run(part(pod, "c" + std::to_string(started), size)).empty()) ++started;
    }
    EXPECT_EQ(started, c.started);
    if (started == 0) {
      EXPECT_EQ(node.taken().count(), c.busy) << "nothing stays behind";
    }
  }
}

TEST_P(BothFences, WhatIsHeldForOthersIsWhereTheyArePlanned) {
  Driver node(xeon_snc2(), GetParam());
  const auto& cores = node.engine.state().topology.cores;
  Pod pod = whole_pod("p", 4);
  pod.annotations["pinion.dev/planned"] =
      "one=" + cores[3].cpus.to_string() + " two=" + cores[7].cpus.to_string();
  EXPECT_EQ(node.run(part(pod, "one", 2)), cores[3].cpus);
  EXPECT_EQ(node.taken(), cores[3].cpus | cores[7].cpus);
  EXPECT_EQ(node.run(part(pod, "two", 2)), cores[7].cpus);
}

// Each of them is placed by itself: no two in one NUMA node, and halves of cores.
TEST_P(BothFences, WhatIsHeldForOthersIsWhereTheyArePlannedThoughThatIsScattered) {
  for (const char* strength : {"required", "preferred"}) {
    SCOPED_TRACE(strength);
    Driver node(xeon_snc2(), GetParam());
    const auto& nodes = node.engine.state().topology.nodes;
    const CpuSet two = nodes[1].cpus.lowest(1);
    const CpuSet three = nodes[2].cpus.lowest(1);
    const CpuSet four = nodes[3].cpus.lowest(1);
    Pod pod = whole_pod("p", 5);
    pod.annotations["pinion.dev/strength"] = strength;
    pod.annotations["pinion.dev/planned"] = "one=0-1 two=" + two.to_string() +
                                            " three=" + three.to_string() +
                                            " four=" + four.to_string();
    EXPECT_EQ(node.run(part(pod, "one", 2)), cpus("0-1"));
    EXPECT_EQ(node.taken(), cpus("0-1") | two | three | four);
    EXPECT_EQ(node.run(part(pod, "three", 1)), three);
    EXPECT_EQ(node.taken(), cpus("0-1") | two | three | four);
    EXPECT_EQ(node.run(part(pod, "two", 1)), two);
    EXPECT_EQ(node.run(part(pod, "four", 1)), four);
  }
}

// The extender names the host's CPUs for an init container, too.
TEST_P(BothFences, ASmallInitContainerHoldsWhatIsPlannedForTheOthers) {
  Driver node(laptop(), GetParam());
  Pod pod = whole_pod("p", 6);
  pod.annotations["pinion.dev/planned"] = "main=0-3 side=4-5 init=0-3";
  const Unit init = part(pod, "init", 1);
  node.run(init);
  EXPECT_EQ(node.taken(), cpus("0-5"));
  node.stop(init);
  EXPECT_EQ(node.run(part(pod, "main", 4)), cpus("0-3"));
  EXPECT_EQ(node.taken(), cpus("0-5"));
  EXPECT_EQ(node.run(part(pod, "side", 2)), cpus("4-5"));
}

// The pod as a whole asks for no more than that: what is planned for the others is not held.
TEST_P(BothFences, AfterALargeInitContainerTheOthersRunWhereTheyArePlanned) {
  Driver node(xeon_snc2(), GetParam());
  const auto& cores = node.engine.state().topology.cores;
  const CpuSet main = cores[2].cpus | cores[3].cpus;
  const CpuSet side = cores[7].cpus;
  Pod pod = whole_pod("p", 4);
  pod.annotations["pinion.dev/planned"] =
      "main=" + main.to_string() + " side=" + side.to_string() + " init=" + main.to_string();
  const Unit init = part(pod, "init", 4);
  EXPECT_EQ(node.run(init), main);
  EXPECT_EQ(node.taken(), main);
  node.stop(init);
  const CpuSet runs = node.run(part(pod, "main", 2));
  EXPECT_TRUE(runs.is_subset_of(main));
  EXPECT_EQ(node.taken(), main);
  EXPECT_EQ(node.run(part(pod, "side", 2)), side);
  EXPECT_EQ(node.taken(), runs | side);
}

TEST_P(BothFences, WhoRunsWherePlannedLeavesAStoppedOneItsCores) {
  Driver node(laptop(), GetParam());
  Pod pod = make_pod("p");  // the runtime does not tell of the pod as a whole
  pod.annotations["pinion.dev/planned"] = "main=0-1 side=4-5";
  const Unit main = part(pod, "main", 2);
  EXPECT_EQ(node.run(main), cpus("0-1"));
  node.stop(main);
  EXPECT_EQ(node.run(part(pod, "side", 2)), cpus("4-5"));
  EXPECT_EQ(node.taken(), cpus("0-1,4-5"));
}

// CPUs that become free later change nothing of what is held.
TEST_P(BothFences, WhatIsHeldStaysWhenPlannedCpusBecomeFree) {
  Driver node(xeon_snc2(), GetParam());
  Pod other = whole_pod("x", 2);
  other.annotations["pinion.dev/planned"] = "c=0-1";
  EXPECT_EQ(node.run(part(other, "c", 2)), cpus("0-1"));
  Pod pod = whole_pod("p", 5);
  pod.annotations["pinion.dev/planned"] = "one=0-1 two=18 three=30 four=42";
  EXPECT_FALSE(node.run(part(pod, "one", 2)).intersects(cpus("0-1")));
  node.end(part(other, "c", 2));
  EXPECT_EQ(node.run(part(pod, "three", 1)), cpus("30"));
  EXPECT_EQ(node.run(part(pod, "two", 1)), cpus("18"));
  EXPECT_EQ(node.run(part(pod, "four", 1)), cpus("42"));
}

TEST_P(BothFences, WhatIsHeldIsWhereOnePerCoreIsPlanned) {
  Settings settings;
  settings.defaults.privileges = {Privilege::kOnePerCore};
  Driver node(xeon_snc2(), GetParam(), settings);
  const auto& topology = node.engine.state().topology;
  const auto core = [&](std::size_t number) { return topology.cores[number].cpus; };
  Pod pod = whole_pod("p", 3);
  pod.annotations["pinion.dev/smt"] = "one-per-core";
  pod.annotations["pinion.dev/planned"] = "one=" + core(0).to_string() +
                                          " two=" + core(15).to_string() +
                                          " three=" + core(29).to_string();
  node.run(part(pod, "one", 1));
  EXPECT_EQ(node.taken(), core(0) | core(15) | core(29));
}

// Two halves are one CPU of the pod as a whole.
TEST_P(BothFences, NothingIsHeldForPartsOfCpusWhereOthersArePlanned) {
  for (const char* planned : {"one=0-1", "one=0-1 two=4-5"}) {
    SCOPED_TRACE(planned);
    Driver node(xeon_snc2(), GetParam());
    const bool alone = std::string_view(planned).find("two") == std::string_view::npos;
    Pod pod = whole_pod("p", alone ? 3 : 5);
    pod.annotations["pinion.dev/planned"] = planned;
    node.run(part(pod, "one", 2));
    EXPECT_EQ(node.taken(), cpus(alone ? "0-1" : "0-1,4-5"));
    for (const char* half : {"half", "other-half"}) {
      node.run({pod, make_container(pod, half, cpu(500))});
    }
    EXPECT_EQ(node.taken(), cpus(alone ? "0-1" : "0-1,4-5"));
  }
}

TEST_P(BothFences, NothingIsHeldForAContainerThatTurnsOutToBeShared) {
  Driver node(laptop(), GetParam());
  Pod pod = whole_pod("p", 5);
  pod.annotations["pinion.dev/cpus.side"] = "shared";
  node.run(part(pod, "one", 2));
  EXPECT_EQ(node.taken().count(), 5);
  node.run(part(pod, "side", 1));
  EXPECT_EQ(node.taken().count(), 4);
  node.run(part(pod, "two", 2));
  EXPECT_EQ(node.taken().count(), 4);
}

// As of a pod with resources of its own (spec.resources), of which one container states a limit.
TEST_P(BothFences, NothingIsHeldForContainersThatStateNoLimit) {
  for (const bool unlimited_first : {false, true}) {
    SCOPED_TRACE(unlimited_first);
    Driver node(laptop(), GetParam());
    const Pod pod = whole_pod("p", 4);
    const Unit unlimited = part(pod, "rest", 4);  // the kubelet gives it its pod's limit
    const Unit one = part(pod, "one", 2);
    if (unlimited_first) {
      EXPECT_EQ(node.run(unlimited).count(), 4) << "nobody tells that it is not alone";
      node.run(one);
      EXPECT_EQ(node.taken().count(), 4) << "`one` runs on shared CPUs";
      continue;
    }
    EXPECT_EQ(node.run(one).count(), 2);
    EXPECT_EQ(node.taken().count(), 4);
    node.run(unlimited);
    EXPECT_EQ(node.taken().count(), 2) << "it runs on shared CPUs";
    EXPECT_EQ(node.run(rank("other", 5)).count(), 5);
  }
}

TEST_P(BothFences, APodNeverHasMoreThanItStates) {
  for (const std::uint64_t shares : {4096U, 102U}) {  // as for no request, and for one of 100m
    SCOPED_TRACE(shares);
    Driver node(xeon_snc2(), GetParam());
    const Pod pod = whole_pod("p", 4);
    for (const char* name : {"a", "b", "c"}) {
      Unit unit = part(pod, name, 4);
      unit.container.resources.shares = shares;
      node.run(unit);
    }
    EXPECT_EQ(node.taken().count(), shares == 4096U ? 4 : 0);
  }
}

TEST_P(BothFences, WhoAsksForCoresOfItsOwnAndIsBeyondItsPodIsRefused) {
  Driver node(xeon_snc2(), GetParam());
  Pod pod = whole_pod("p", 4);
  pod.annotations["pinion.dev/cpus"] = "exclusive";
  node.run(part(pod, "a", 4));
  EXPECT_THAT(node.create(part(pod, "b", 4)).reply.refusal.value_or(""),
              HasSubstr("its pod has 4 CPUs as a whole, and its other containers leave 0 of them"));
}

// With and without word of the resize, as the agent may have been away.
TEST_P(BothFences, APodGrowsWithItsContainers) {
  Driver node(xeon_snc2(), GetParam());
  const Pod pod = whole_pod("p", 4);
  Unit one = part(pod, "one", 3);
  const Unit other = part(pod, "other", 1);
  node.run(one);
  node.run(other);
  node.obey(node.update(one, cpu(6000)));
  one.container.resources = cpu(6000);
  EXPECT_EQ(node.own(one).count(), 6);
  node.end(other);
  EXPECT_EQ(node.run(other).count(), 1) << "the pod has seven now";

  Driver next(xeon_snc2(), GetParam());
  next.handle(all_running({one, other}));
  EXPECT_EQ(next.own(one).count(), 6);
  EXPECT_EQ(next.own(other).count(), 1);
}

TEST_P(BothFences, AContainerForDebuggingTakesNothingFromThoseToCome) {
  Driver node(laptop(), GetParam());
  const Pod pod = whole_pod("p", 4);
  const Unit init = part(pod, "init", 2);
  node.run(init);
  node.run({pod, make_container(pod, "debugger", cpu(0))});
  EXPECT_EQ(node.taken().count(), 4);
  node.stop(init);
  EXPECT_EQ(node.run(part(pod, "a", 2)).count(), 2);
  EXPECT_EQ(node.run(part(pod, "b", 2)).count(), 2);
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

TEST_P(BothFences, WhatInitContainersLeftGoesWhereTheOthersNeedAllOfThePod) {
  Driver node(xeon_snc2(), GetParam());
  Pod pod = whole_pod("p", 4);
  pod.annotations["pinion.dev/cpus.s"] = "shared";
  for (const auto& [name, count] : {std::pair("i1", 1), std::pair("i2", 2)}) {
    const Unit init = part(pod, name, count);
    node.run(init);
    node.stop(init);
  }
  const Unit main = part(pod, "a", 2);
  node.run(main);
  node.run(part(pod, "s", 2));
  EXPECT_EQ(node.taken().count(), 2);
  EXPECT_EQ(node.own(main).count(), 2);
}

TEST_P(BothFences, AResizeUsesWhatThePodKeepsWhereNoOthersAreFree) {
  Driver node(laptop(), GetParam());
  const Pod pod = whole_pod("p", 4);
  const Unit init = part(pod, "init", 4);
  const Unit main = part(pod, "a", 2);
  node.run(init);
  node.stop(init);
  node.run(main);
  const int online = node.engine.state().topology.online.count();
  node.run(rank("other", online - 5));
  EXPECT_EQ(node.update(main, cpu(5000)).reply.refusal.has_value(), true);
  EXPECT_EQ(node.taken().count(), online - 1) << "as before";
  EXPECT_EQ(node.update(main, cpu(4000)).reply.refusal, std::nullopt);
  EXPECT_EQ(node.own(main).count(), 4);
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
