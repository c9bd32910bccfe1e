// Pods are admitted whole: what is held for containers to come, where, and never more than there
// is.
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
using test_support::part;
using test_support::rank;
using test_support::shared;
using test_support::Unit;
using test_support::whole_pod;
using test_support::xeon_snc2;
using testing::HasSubstr;

TEST_P(BothFences, APodIsAdmittedWholeOrRefusedAtItsFirstContainer) {
  Driver node(laptop(), GetParam());  // 8 CPUs
  node.run(rank("other", 4));
  const Unit refused = part(whole_pod("large", 5), "one", 2);
  const auto effects = node.create(refused);
  ASSERT_TRUE(effects.reply.refusal);
  EXPECT_THAT(*effects.reply.refusal,
              HasSubstr("its pod needs 5 CPUs, 2 for this container and 3 for its others, which "
                        "have no room beside it: not enough"));
  EXPECT_EQ(node.taken().count(), 4) << "nothing stays behind";

  const Pod pod = whole_pod("p", 3);
  node.run(part(pod, "one", 1));
  EXPECT_EQ(node.taken().count(), 7) << "those of the others are held too";
  EXPECT_TRUE(node.create(rank("late", 1)).reply.refusal);
  const CpuSet two = node.run(part(pod, "two", 2));
  EXPECT_EQ(two.count(), 2);
  EXPECT_EQ(node.taken().count(), 7);
}

// One that was made while no agent listened.
TEST_P(BothFences, WhoCannotBeRefusedAnyMoreGetsItsOwnThoughItsPodDoesNotFitWhole) {
  Driver node(laptop(), GetParam());  // 8 CPUs
  node.run(rank("other", 4));
  const Unit made = part(whole_pod("large", 5), "one", 2);
  EXPECT_EQ(node.tell(made, ContainerEvent::Kind::kPostUpdate).fatal, "");
  EXPECT_EQ(node.own(made).count(), 2);
  EXPECT_EQ(node.taken().count(), 6);
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

}  // namespace
}  // namespace pinion::engine
