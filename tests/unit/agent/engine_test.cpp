// A container's life as the engine sees it: creation, restart, stop, and events in any order.
#include "agent/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::all_running;
using test_support::bound_rank;
using test_support::cpu;
using test_support::cpus;
using test_support::Driver;
using test_support::laptop;
using test_support::make_container;
using test_support::make_pod;
using test_support::rank;
using test_support::shared;
using test_support::two_core_vm;
using test_support::Unit;
using test_support::xeon_snc2;
using testing::HasSubstr;
using testing::StartsWith;
using EventKind = ContainerEvent::Kind;

class BothFences : public testing::TestWithParam<FenceKind> {};

std::string name_of(const testing::TestParamInfo<FenceKind>& info) {
  return info.param == FenceKind::kLeaf ? "Leaf" : "Runtime";
}

INSTANTIATE_TEST_SUITE_P(Engine, BothFences, testing::Values(FenceKind::kLeaf, FenceKind::kRuntime),
                         name_of);

TEST_P(BothFences, AWholeGuaranteedContainerGetsCoresInOneNode) {
  Driver node(xeon_snc2(), GetParam());
  const auto effects = node.create(bound_rank("r", 4, 1 << 20));
  EXPECT_EQ(effects.fatal, "");
  EXPECT_FALSE(effects.reply.refusal);
  ASSERT_TRUE(effects.reply.own);
  EXPECT_EQ(effects.reply.own->cpus.count(), 4);
  EXPECT_EQ(effects.reply.own->mems,
            node.engine.state().topology.nodes_of(effects.reply.own->cpus));
  EXPECT_EQ(effects.reply.own->mems.count(), 1);
  EXPECT_EQ(node.taken(), effects.reply.own->cpus);
  EXPECT_TRUE(effects.now.empty()) << "its cgroup does not exist yet";
  EXPECT_EQ(node.engine.counters().exclusive_placed, 1U);
}

TEST_P(BothFences, WhoHasADeviceGetsCoresBesideIt) {
  Driver node(xeon_snc2(), GetParam());
  Unit unit = rank("r", 4);
  unit.container.near_nodes.add(2);
  ASSERT_TRUE(node.create(unit).reply.own);
  const topology::Topology& machine = node.engine.state().topology;
  EXPECT_EQ(machine.nodes_of(node.own(unit)).to_string(), "2");
  node.start(unit);
  node.update(unit, cpu(6000));
  EXPECT_EQ(node.own(unit).count(), 6);
  EXPECT_EQ(machine.nodes_of(node.own(unit)).to_string(), "2");
}

TEST_P(BothFences, WhoWaitedGetsCoresBesideItsDeviceToo) {
  Driver node(xeon_snc2(), GetParam());
  Unit late = rank("late", 4);
  late.container.near_nodes.add(3);
  node.handle(all_running({late}));
  EXPECT_EQ(node.engine.state().topology.nodes_of(node.own(late)).to_string(), "3");
}

TEST_P(BothFences, ASharedContainerGetsThePool) {
  Driver node(xeon_snc2(), GetParam());
  node.run(rank("r", 4));
  const auto effects = node.create(shared("s"));
  ASSERT_TRUE(effects.reply.own);
  EXPECT_EQ(effects.reply.own->cpus, node.engine.pool());
  EXPECT_TRUE(effects.reply.own->mems.empty());
  EXPECT_FALSE(effects.reply.own->cpus.intersects(node.taken()));
  EXPECT_EQ(node.engine.counters().shared_placed, 1U);
}

TEST_P(BothFences, ARefusalSaysWhyAndLeavesNothingBehind) {
  struct Case {
    const char* name;
    const char* annotation;
    const char* value;
    int cpus;
    Qos qos;
    const char* text;
    const char* counter;
  };
  const Case cases[] = {
      {"larger than any node", "strength", "required", 26, Qos::kGuaranteed, "26", "topology"},
      {"burstable insists", "cpus", "exclusive", 2, Qos::kBurstable, "Burstable", "annotation"},
      {"odd threads", "smt", "full-core", 3, Qos::kGuaranteed, "3", "topology"},
      {"no leave to ask", "smt", "one-per-core", 2, Qos::kGuaranteed, "allowedWishes",
       "annotation"},
      {"unknown device", "near-device", "nosuch0", 2, Qos::kGuaranteed, "nosuch0", "topology"},
      {"the whole machine", "align", "none", 96, Qos::kGuaranteed, "", "last-shared"},
      {"a word nobody knows", "smt", "half", 2, Qos::kGuaranteed, "full-core", "annotation"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Driver node(xeon_snc2(), GetParam());
    Pod pod = make_pod("p", c.qos);
    pod.annotations[std::string("pinion.dev/") + c.annotation] = c.value;
    const Unit unit{pod, make_container(pod, "main", cpu(1000 * c.cpus))};
    const auto effects = node.create(unit);
    ASSERT_TRUE(effects.reply.refusal);
    EXPECT_THAT(*effects.reply.refusal,
                StartsWith("pinion refuses container main of pod default/p: "));
    EXPECT_THAT(*effects.reply.refusal, HasSubstr(c.text));
    EXPECT_FALSE(effects.reply.own);
    EXPECT_TRUE(node.engine.state().members.empty());
    EXPECT_TRUE(node.engine.state().ledger.claims().empty());
    EXPECT_EQ(node.engine.counters().refused.size(), 1U);
    EXPECT_EQ(node.engine.counters().refused.count(c.counter), 1U)
        << node.engine.counters().refused.begin()->first;
    EXPECT_EQ(node.run(rank("next", 24)).count(), 24) << "everything was given back";
  }
}

TEST_P(BothFences, PreferredClimbsAndIsCounted) {
  Driver node(xeon_snc2(), GetParam());
  const auto effects = node.create(rank("wide", 26));
  ASSERT_TRUE(effects.reply.own);
  EXPECT_EQ(effects.reply.own->cpus.count(), 26);
  EXPECT_EQ(node.engine.counters().preferred_not_met, 1U);
}

// Whatever else has come there first: what the extender has promised is what the agent gives.
TEST_P(BothFences, PlannedCoresAreTakenWhereTheyAreFree) {
  Driver node(xeon_snc2(), GetParam());
  Unit planned = rank("planned", 2);
  const CpuSet there = node.run(rank("probe", 4));
  node.end(rank("probe", 4));
  const CpuSet& cores = node.engine.state().topology.nodes.back().cpus;
  ASSERT_EQ(there.count_common(cores), 0) << "not what would be taken without a plan";
  const auto core = node.engine.state().topology.cores.back().cpus;
  ASSERT_EQ(core.count(), 2);
  planned.pod.annotations["pinion.dev/planned"] = "main=" + core.to_string();
  EXPECT_EQ(node.run(planned), core);
  Unit late = rank("late", 2);
  late.pod.annotations = planned.pod.annotations;
  EXPECT_EQ(node.run(late).count_common(core), 0) << "taken: then as without a plan";
  // Cores of two NUMA nodes are no place for a container that is to have one.
  Unit torn = rank("torn", 4);
  torn.pod.annotations["pinion.dev/strength"] = "required";
  torn.pod.annotations["pinion.dev/planned"] =
      "main=" +
      (node.engine.state().topology.cores.front().cpus |
       node.engine.state().topology.cores[node.engine.state().topology.cores.size() - 2].cpus)
          .to_string();
  const CpuSet whole = node.run(torn);
  EXPECT_EQ(node.engine.state().topology.nodes_of(whole).count(), 1);
}

// --- the pod owns its cores

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

TEST_P(BothFences, TheLastSharedCpuIsNeverGiven) {
  Driver node(two_core_vm(), GetParam());
  EXPECT_EQ(node.run(rank("a", 1)).count(), 1);
  const auto refused = node.create(rank("b", 1));
  ASSERT_TRUE(refused.reply.refusal);
  EXPECT_EQ(node.engine.counters().refused.at("last-shared"), 1U) << *refused.reply.refusal;
  const auto noise = node.create(shared("s"));
  ASSERT_TRUE(noise.reply.own);
  EXPECT_EQ(noise.reply.own->cpus.count(), 1);
  Driver single(test_support::single_cpu(), GetParam());
  EXPECT_TRUE(single.create(rank("a", 1)).reply.refusal);
}

TEST_P(BothFences, ReservedCpusAreNeverGivenAndServeTheSharedOnes) {
  Settings settings;
  settings.reserved = cpus("0-1");
  Driver node(laptop(), GetParam(), settings);
  EXPECT_EQ(node.run(rank("a", 6)), cpus("2-7"));
  const auto noise = node.create(shared("s"));
  ASSERT_TRUE(noise.reply.own);
  EXPECT_EQ(noise.reply.own->cpus, cpus("0-1"));
  EXPECT_TRUE(node.create(rank("b", 2)).reply.refusal);
}

TEST_P(BothFences, StrictReservationKeepsThemForTheSystem) {
  Settings settings;
  settings.reserved = cpus("0-1");
  settings.strict_reservation = true;
  Driver node(laptop(), GetParam(), settings);
  Unit system = shared("dns");
  system.pod.name_space = "kube-system";
  EXPECT_EQ(node.create(system).reply.own->cpus, cpus("0-1"));
  EXPECT_EQ(node.create(shared("s")).reply.own->cpus, cpus("2-7"));
  const auto refused = node.create(rank("a", 6));
  ASSERT_TRUE(refused.reply.refusal) << "reserved CPUs are no place for the others";
  EXPECT_EQ(node.run(rank("b", 4)).count(), 4);
  EXPECT_EQ(node.engine.pool().count(), 2);
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

// --- resizing

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
