// Which cores a container gets at its creation, or why none.
#include "agent/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/machine.h"
#include "tests/unit/agent/both_fences.h"
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

TEST_P(BothFences, ASharedContainerKeepsWhyItIs) {
  Settings settings;
  settings.defaults.pods = policy::ExclusivePods::kAnnotated;
  Driver node(xeon_snc2(), GetParam(), settings);
  const Unit unit = rank("r", 4);
  const auto logged = node.create(unit).notes;
  const auto why = node.engine.state().find(unit.id())->shared_why;
  EXPECT_THAT(why, HasSubstr("exclusivePods is 'annotated'"));
  ASSERT_FALSE(logged.empty());
  EXPECT_THAT(logged.back().fields, testing::Contains(std::pair(std::string("why"), why)));

  Driver restarted(xeon_snc2(), GetParam(), settings);
  (void)restarted.handle(all_running({unit}));
  EXPECT_EQ(restarted.engine.state().find(unit.id())->shared_why, why) << "no line says it there";
}

TEST_P(BothFences, AResizeChangesWhyAContainerIsShared) {
  Driver node(xeon_snc2(), GetParam());
  const Unit unit = rank("r", 2);
  node.run(unit);
  node.obey(node.update(unit, test_support::cpu(1500)));
  const auto why = [&] { return node.engine.state().find(unit.id())->shared_why; };
  EXPECT_THAT(why(), HasSubstr("1500m"));
  node.obey(node.update(unit, test_support::cpu(2500)));
  EXPECT_THAT(why(), HasSubstr("2500m"));
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
      {"no leave to ask", "smt", "one-per-core", 2, Qos::kGuaranteed, "allowedPrivileges",
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

}  // namespace
}  // namespace pinion::engine
