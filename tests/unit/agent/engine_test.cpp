// A container's life as the engine sees it: creation, restart, stop, and events in any order.
#include "agent/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

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
  node.stop(rank("probe", 4));
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

TEST_P(BothFences, ARestartedContainerGetsItsCoresAgain) {
  Driver node(xeon_snc2(), GetParam());
  node.run(rank("a", 4));
  Unit unit = rank("b", 4);
  const CpuSet before = node.run(unit);
  node.stop(unit);
  node.tell(unit, EventKind::kRemove);
  EXPECT_EQ(node.run(rank("c", 2)).count(), 2);
  node.stop(rank("a", 4));  // a more attractive place is free now
  unit.container.id = "second-attempt";
  const CpuSet again = node.run(unit);
  EXPECT_EQ(again.count_common(before), 4 - before.count_common(node.own(rank("c", 2))));
}

TEST_P(BothFences, InitContainersLeaveTheirCoresToThePod) {
  Driver node(xeon_snc2(), GetParam());
  const Pod pod = make_pod("p");
  const Unit init{pod, make_container(pod, "init", cpu(6000))};
  const Unit main{pod, make_container(pod, "main", cpu(4000))};
  const CpuSet first = node.run(init);
  node.stop(init);
  EXPECT_TRUE(node.taken().empty());
  const CpuSet second = node.run(main);
  EXPECT_EQ(second.count(), 4);
  EXPECT_TRUE(second.is_subset_of(first)) << second.to_string() << " of " << first.to_string();
}

TEST_P(BothFences, AnAttemptThatNeverStartedIsReplaced) {
  Driver node(laptop(), GetParam());
  Unit unit = rank("r", 4);
  const auto first = node.create(unit);
  ASSERT_TRUE(first.reply.own);
  unit.container.id = "attempt-2";
  const auto second = node.create(unit);
  ASSERT_TRUE(second.reply.own);
  EXPECT_EQ(second.reply.own->cpus, first.reply.own->cpus);
  EXPECT_EQ(node.engine.state().members.size(), 1U);
  EXPECT_EQ(node.taken().count(), 4);
}

// Its program is missing: START was told, POST_START never is, nor a stop.
TEST_P(BothFences, AnAttemptWhoseStartFailedIsReplaced) {
  Driver node(laptop(), GetParam());
  Unit unit = rank("r", 4);
  const auto first = node.create(unit);
  ASSERT_TRUE(first.reply.own);
  node.obey(node.tell(unit, EventKind::kStart));
  const std::string before = unit.id();
  unit.container.id = "attempt-2";
  CreateContainer again{unit.pod, unit.container};
  const auto doubtful = node.engine.doubtful_attempts(again);
  ASSERT_EQ(doubtful.size(), 1U);
  EXPECT_EQ(doubtful[0]->id, before);
  again.gone.insert(before);
  const auto second = node.engine.handle(again);
  ASSERT_TRUE(second.reply.own);
  EXPECT_EQ(second.reply.own->cpus, first.reply.own->cpus);
  EXPECT_EQ(node.engine.state().members.size(), 1U);
}

// Its POST_START was lost, and its group is there.
TEST_P(BothFences, AnAttemptThatMayRunIsNotReplaced) {
  Driver node(laptop(), GetParam());
  Unit unit = rank("r", 2);
  const auto first = node.create(unit);
  node.obey(node.tell(unit, EventKind::kStart));
  unit.container.id = "attempt-2";
  const auto second = node.create(unit);
  ASSERT_TRUE(second.reply.own);
  EXPECT_FALSE(second.reply.own->cpus.intersects(first.reply.own->cpus));
}

TEST_P(BothFences, AStartedAttemptIsNotReplacedByItsNamesake) {
  Driver node(laptop(), GetParam());
  Unit unit = rank("r", 2);
  const CpuSet first = node.run(unit);
  unit.container.id = "attempt-2";
  const auto second = node.create(unit);
  ASSERT_TRUE(second.reply.own);
  EXPECT_FALSE(second.reply.own->cpus.intersects(first));
  EXPECT_EQ(node.engine.state().members.size(), 2U);
  const CreateContainer third{unit.pod, unit.container};
  EXPECT_TRUE(node.engine.doubtful_attempts(third).empty()) << "it is known to have run";
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
      {"stop", [](Driver& node, const Unit& u) { node.stop(u); }},
      {"remove without stop",
       [](Driver& node, const Unit& u) { node.tell(u, EventKind::kRemove); }},
      {"pod stop", [](Driver& node, const Unit& u) { node.pod_event(u, PodEvent::Kind::kStop); }},
      {"pod remove",
       [](Driver& node, const Unit& u) { node.pod_event(u, PodEvent::Kind::kRemove); }},
      {"not listed", [](Driver& node, const Unit&) { (void)node.engine.handle(Synchronize{}); }},
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
  EXPECT_EQ(node.engine.state().past.size(), 1U);
  node.pod_event(unit, PodEvent::Kind::kRemove);
  EXPECT_TRUE(node.engine.state().past.empty());
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
  EXPECT_TRUE(node.engine.report(result).notes.empty());
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
    EXPECT_TRUE(node.taken().empty());
    EXPECT_EQ(node.engine.counters().adopted, 0U);
    // Removed, or listed by another session, its id means nothing any more.
    node.tell(unit, EventKind::kRemove);
    node.tell(unit, EventKind::kPostStart);
    EXPECT_EQ(node.own(unit).count(), 2);
    node.stop(unit);
    (void)node.engine.handle(test_support::all_running({unit}));
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
  EXPECT_EQ(member->role, Role::kShared);
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
