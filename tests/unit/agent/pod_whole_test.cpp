// Pods are admitted whole: what is held for containers to come, where, and never more than there
// is.
#include "agent/engine/engine.h"
#include "agent/engine/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// --- containers that share their pod's cores

const Member& member(const Driver& node, const Unit& unit) {
  return *node.engine.state().find(unit.id());
}

Cpuset wanted(const Driver& node, const Unit& unit) {
  return node.engine.target_of(member(node, unit));
}

// A pod of four CPUs as a whole, and those of its containers that state none.
struct SharingPod {
  Pod pod = whole_pod("p", 4);
  Unit host = part(pod, "sidecar", 4);
  Unit guest = part(pod, "main", 4);
};

TEST_P(BothFences, ContainersThatStateAllOfTheirPodShareItsCores) {
  Driver node(xeon_snc2(), GetParam());
  const Unit other = shared("other");
  node.run(other);
  const SharingPod p;
  const CpuSet cores = node.run(p.host);
  ASSERT_EQ(cores.count(), 4);
  const auto created = node.create(p.guest);
  EXPECT_EQ(created.fatal, "");
  ASSERT_TRUE(created.reply.own);
  EXPECT_EQ(created.reply.own->cpus, cores);
  EXPECT_EQ(created.reply.own->mems, member(node, p.host).own.mems);
  node.start(p.guest);
  EXPECT_EQ(node.run(part(p.pod, "third", 4)), cores);
  EXPECT_EQ(node.taken(), cores) << "once";
  EXPECT_EQ(member(node, p.guest).shared_why, kWithPod);
  EXPECT_FALSE(wanted(node, other).cpus.intersects(cores));
  EXPECT_FALSE(node.run(rank("rank", 4)).intersects(cores));
}

TEST_P(BothFences, WhichContainersDoNotShareTheirPodsCores) {
  struct Case {
    const char* name;
    void (*change)(SharingPod& p);
    const char* why;  // empty: it is refused
  };
  const Case cases[] = {
      {"it asks for shared CPUs",
       [](SharingPod& p) { p.pod.annotations["pinion.dev/cpus.main"] = "shared"; },
       "it asked for shared CPUs"},
      {"it insists on its own",
       [](SharingPod& p) { p.pod.annotations["pinion.dev/cpus.main"] = "exclusive"; }, ""},
      {"the other insists on its own",
       [](SharingPod& p) { p.pod.annotations["pinion.dev/cpus.sidecar"] = "exclusive"; },
       "its pod has 4 CPUs as a whole, and its other containers leave 0 of them"},
      {"the pod lends its cores",
       [](SharingPod& p) { p.pod.annotations["pinion.dev/lend-to.sidecar"] = "vc/main"; },
       "its pod has 4 CPUs as a whole, and its other containers leave 0 of them"},
      {"the pod borrows cores",
       [](SharingPod& p) { p.pod.annotations["pinion.dev/borrow"] = "true"; },
       "its pod has 4 CPUs as a whole, and its other containers leave 0 of them"},
      {"the other states CPUs of its own",
       [](SharingPod& p) { p.host.container.resources = cpu(2000); },
       "its pod has 4 CPUs as a whole, and its other containers leave 2 of them"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Driver node(xeon_snc2(), GetParam());
    SharingPod p;
    c.change(p);
    p.host.pod = p.guest.pod = p.pod;
    const CpuSet cores = node.run(p.host);
    EXPECT_FALSE(cores.empty());
    const auto created = node.create(p.guest);
    EXPECT_EQ(created.reply.refusal.has_value(), *c.why == '\0');
    if (created.reply.refusal) continue;
    EXPECT_EQ(member(node, p.guest).shared_why, c.why);
    EXPECT_FALSE(wanted(node, p.guest).cpus.intersects(cores));
  }
}

// It crashes, and comes again.
TEST_P(BothFences, ThePodKeepsItsCoresWhileOthersRunThere) {
  Driver node(xeon_snc2(), GetParam());
  const SharingPod p;
  const CpuSet cores = node.run(p.host);
  node.run(p.guest);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(node.stop(p.host).fatal, "");
    EXPECT_EQ(wanted(node, p.guest).cpus, cores);
    EXPECT_EQ(node.taken(), cores);
    EXPECT_EQ(node.run(p.host), cores);
    node.stop(p.guest);
    EXPECT_EQ(node.run(p.guest), cores);
  }
  node.tell(p.host, ContainerEvent::Kind::kRemove);
  EXPECT_EQ(wanted(node, p.guest).cpus, cores);
  EXPECT_EQ(node.end(p.guest).fatal, "");
  EXPECT_EQ(node.taken().count(), 0);
}

TEST_P(BothFences, WhoSharesItsPodsCoresFollowsAResize) {
  Driver node(xeon_snc2(), GetParam());
  SharingPod p;
  node.run(p.host);
  node.run(p.guest);
  EXPECT_EQ(node.update(p.host, cpu(6000)).fatal, "");
  EXPECT_EQ(node.own(p.host).count(), 6);
  EXPECT_EQ(wanted(node, p.guest).cpus, node.own(p.host));
  node.update(p.guest, cpu(6000));
  EXPECT_EQ(wanted(node, p.guest).cpus, node.own(p.host));
  EXPECT_EQ(node.taken().count(), 6);
  for (const Unit& unit : {p.guest, p.host}) EXPECT_EQ(node.update(unit, cpu(2000)).fatal, "");
  EXPECT_EQ(node.own(p.host).count(), 2);
  EXPECT_EQ(wanted(node, p.guest).cpus, node.own(p.host));
  EXPECT_EQ(node.taken().count(), 2);
}

// It states all that the pod has by now, and is told so by an update that changes nothing.
TEST_P(BothFences, WhoWouldShareItsPodsCoresDoesNotBeforeItsUpdateIsDone) {
  Driver node(xeon_snc2(), GetParam());
  const SharingPod p;
  const Unit small = part(p.pod, "small", 1);
  node.run(p.host);
  node.run(small);
  node.update(p.host, cpu(1000));
  for (const bool done : {false, true}) {
    const auto asked = node.ask(small, cpu(1000));
    ASSERT_TRUE(asked.reply.own);
    EXPECT_EQ(asked.reply.own->cpus, node.own(p.host));
    EXPECT_FALSE(member(node, small).with_pod());
    const auto answer = done ? node.tell(small, ContainerEvent::Kind::kPostUpdate)
                             : node.handle(UpdateOverdue{small.id()});
    EXPECT_EQ(answer.fatal, "");
    EXPECT_EQ(member(node, small).with_pod(), done);
    EXPECT_EQ(wanted(node, small).cpus, done ? node.own(p.host) : node.engine.pool());
  }
}

TEST_P(BothFences, WhoSharesItsPodsCoresGetsSomeWhenTheOtherGivesThemUp) {
  Driver node(xeon_snc2(), GetParam());
  const SharingPod p;
  node.run(p.host);
  node.run(p.guest);
  EXPECT_EQ(node.update(p.host, cpu(3500)).fatal, "");
  EXPECT_EQ(node.own(p.host).count(), 0);
  EXPECT_EQ(node.own(p.guest).count(), 4);
  EXPECT_EQ(node.taken().count(), 4);
}

TEST_P(BothFences, WhoSharesItsPodsCoresMovesWithThem) {
  Driver node(laptop(), GetParam());  // 8 CPUs
  const SharingPod p;
  const CpuSet cores = node.run(p.host);
  node.run(p.guest);
  topology::Topology less = laptop();
  less.offline = cores.lowest(1);
  less.online -= less.offline;
  EXPECT_EQ(node.handle(MachineChanged{less}).fatal, "");
  EXPECT_EQ(node.own(p.host).count(), 4);
  EXPECT_EQ(wanted(node, p.guest).cpus, node.own(p.host));
  less.offline = cpus("3-7");
  less.online = cpus("0-2");
  EXPECT_EQ(node.handle(MachineChanged{less}).fatal, "");
  EXPECT_EQ(node.taken().count(), 0);
  EXPECT_EQ(wanted(node, p.guest).cpus, node.engine.pool());
  EXPECT_EQ(node.handle(MachineChanged{laptop()}).fatal, "");
  EXPECT_EQ(node.taken().count(), 4);
  EXPECT_EQ(wanted(node, p.guest).cpus, wanted(node, p.host).cpus);
  EXPECT_EQ(wanted(node, p.guest).cpus, node.taken());
}

// All that a new agent has is where they run, in whatever order they are listed.
TEST_P(BothFences, WhoSharesItsPodsCoresDoesSoAfterARestart) {
  struct Case {
    const char* name;
    bool host_first;
    int now = 4;  // CPUs that they state, after a resize of which the sandbox does not tell
    bool host_lives = true;
  };
  const Case cases[] = {{"as they came", true},
                        {"the other way round", false},
                        {"grown", true, 6},
                        {"shrunk", false, 2},
                        {"the first one has ended", true, 4, false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Driver node(xeon_snc2(), GetParam());
    SharingPod p;
    p.pod.pid = 1;
    p.host.pod = p.guest.pod = p.pod;
    node.run(p.host);
    node.run(p.guest);
    if (c.now != 4) {
      for (Unit* unit : {&p.host, &p.guest}) {
        node.update(*unit, cpu(1000 * c.now));
        unit->container.resources = cpu(1000 * c.now);
      }
    }
    if (!c.host_lives) node.stop(p.host);
    const Cpuset cores = wanted(node, p.guest);
    ASSERT_EQ(cores.cpus.count(), c.now);
    std::vector<Unit> units = {p.guest};
    if (c.host_lives) units.insert(c.host_first ? units.begin() : units.end(), p.host);
    Synchronize list = all_running(units);
    for (const Unit& unit : units) {
      list.files[unit.id()] = Applied{.cpus = cores.cpus, .mems = cores.mems};
    }
    for (const bool again : {false, true}) {  // and the runtime's, after the agent's
      if (!again) {
        const auto kept = node.engine.kept();
        node.engine = Engine(xeon_snc2(), {}, GetParam());
        node.engine.restore(kept);
      }
      const auto effects = node.handle(list);
      EXPECT_EQ(effects.fatal, "");
      for (const Note& line : effects.notes) EXPECT_NE(line.level, Note::Level::kWarn) << line.text;
      EXPECT_EQ(node.taken(), cores.cpus);
      for (const Unit& unit : units) EXPECT_EQ(wanted(node, unit).cpus, cores.cpus);
    }
    if (!c.host_lives) {
      EXPECT_EQ(node.run(p.host), cores.cpus);
    }
  }
}

// Nobody has announced its second attempt, which finds that its name has cores: so it waits for
// some, and shares them then.
TEST(SharedInPods, OthersAreOffTheirCoresWhenOneStartsThatWaitedAtFirst) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  const Pod pod = whole_pod("p", 2);
  const Unit host = part(pod, "main", 4);  // it has grown, and the sandbox does not tell
  const Unit guest = part(pod, "guest", 2);
  const Unit side = part(pod, "side", 1);
  const Unit other = shared("other");
  Synchronize list = all_running({host, guest, side, other});
  list.files[host.id()] = list.files[guest.id()] = Applied{.cpus = cpus("4-7"), .mems = {}};
  list.files[side.id()] = Applied{.cpus = cpus("8"), .mems = {}};
  list.files[other.id()] = Applied{.cpus = cpus("4-31"), .mems = {}};
  node.handle(list);
  ASSERT_TRUE(member(node, guest).with_pod());
  Unit second = host;
  second.container.id = "second";
  const auto started = node.tell(second, ContainerEvent::Kind::kStart);
  EXPECT_EQ(started.fatal, "");
  ASSERT_EQ(wanted(node, second).cpus, cpus("4-7"));
  const auto at = [&](const Unit& unit) {
    const auto& now = started.now;
    return std::find_if(now.begin(), now.end(),
                        [&](const Enforce& piece) { return piece.id == unit.id(); }) -
           now.begin();
  };
  ASSERT_EQ(started.now.size(), 2U);
  EXPECT_LT(at(other), at(second));
}

TEST(SharedInPods, NoQuotaStopsThemOnTheirCores) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  const SharingPod p;
  node.run(p.host);
  node.run(p.guest);
  const auto quota = [&](const Unit& unit) {
    return quota_target(node.engine.state(), member(node, unit));
  };
  ASSERT_TRUE(quota(p.guest));
  EXPECT_EQ(quota(p.guest)->own, CpuQuota());
  EXPECT_EQ(quota(p.guest)->pod.exclusive, 4);
  node.stop(p.host);
  EXPECT_EQ(quota(p.guest)->own, CpuQuota());
  EXPECT_EQ(quota(p.guest)->pod.exclusive, 4);
  node.update(p.guest, cpu(3500));
  ASSERT_TRUE(quota(p.guest));
  EXPECT_EQ(quota(p.guest)->own, CpuQuota{350'000});
  EXPECT_EQ(quota(p.guest)->pod.exclusive, 0);
}

TEST(SharedInPods, NoPartitionKeepsThemOffTheirCores) {
  for (const bool isolate : {false, true}) {
    SCOPED_TRACE(isolate);
    Settings settings;
    settings.partition_kinds = PartitionKinds::kAsked;
    settings.defaults.privileges = {Privilege::kIsolated};
    Driver node(xeon_snc2(), FenceKind::kPartition, settings);
    const Unit other = shared("other");
    node.run(other);
    SharingPod p;
    if (isolate) p.pod.annotations["pinion.dev/isolation"] = "isolated";
    p.host.pod = p.guest.pod = p.pod;
    const CpuSet cores = node.run(p.host);
    ASSERT_TRUE(member(node, p.host).guarded);
    EXPECT_TRUE(wanted(node, other).cpus.intersects(cores));
    const auto created = node.create(p.guest);
    ASSERT_EQ(created.unguard.size(), 1U) << "before the runtime makes it";
    EXPECT_EQ(created.unguard[0].cpus, cores);
    EXPECT_FALSE(wanted(node, other).cpus.intersects(cores));
    EXPECT_TRUE(std::any_of(created.now.begin(), created.now.end(),
                            [&](const Enforce& piece) { return piece.id == other.id(); }));
    const auto& line = created.notes.back();
    EXPECT_EQ(line.text, "no partition, as others of its pod share its cores");
    EXPECT_EQ(line.level, isolate ? Note::Level::kWarn : Note::Level::kInfo);
    node.obey(created);
    node.start(p.guest);
    EXPECT_FALSE(member(node, p.host).guarded);
    EXPECT_FALSE(node.engine.pool().intersects(cores));
    node.obey(node.stop(p.guest));
    node.drain();
    EXPECT_TRUE(member(node, p.host).guarded) << "it is alone again";
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
