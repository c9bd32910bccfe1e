// An update to which the engine has agreed: until the runtime has done it, nobody gets what either
// size needs, and where it was not done the container is what it was.
#include "agent/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/machine.h"
#include "tests/unit/agent/both_fences.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::all_running;
using test_support::bound_rank;
using test_support::cpu;
using test_support::Driver;
using test_support::laptop;
using test_support::part;
using test_support::rank;
using test_support::Unit;
using test_support::whole_pod;
using EventKind = ContainerEvent::Kind;

// Two of the laptop's eight CPUs are for others.
struct Scene {
  Driver node;
  Unit unit;
  CpuSet before;  // that it has
  CpuSet asked;   // that it is told
};

Unit sized(const Unit& unit, int milli) {
  Unit other = unit;
  other.container.resources = cpu(milli);
  return other;
}

Applied on(const Scene& scene, const CpuSet& cpus) {
  return {.cpus = cpus, .mems = scene.node.engine.state().topology.memory_nodes()};
}

struct Sizes {
  const char* name;
  int from;  // thousandths of a CPU
  int to;
};
constexpr Sizes kSizes[] = {{"it shrinks", 4000, 2000},
                            {"it grows", 2000, 4000},
                            {"it gives up its cores", 2000, 500},
                            {"it gets cores", 500, 2000}};

// What becomes of an update that is agreed, and which of the two sizes the container has then.
struct Ending {
  const char* name;
  bool done;
  std::function<Driver::Answer(Scene&)> play;
};

Driver::Answer listed(Scene& scene, int milli, const CpuSet& found) {
  auto event = all_running({sized(scene.unit, milli)});
  event.files[scene.unit.id()] = on(scene, found);
  return scene.node.handle(event);
}

std::vector<Ending> endings(const Sizes& sizes) {
  return {
      {"the runtime says so", true,
       [=](Scene& scene) {
         return scene.node.tell(sized(scene.unit, sizes.to), EventKind::kPostUpdate);
       }},
      {"nothing is said", false,
       [](Scene& scene) { return scene.node.handle(UpdateOverdue{scene.unit.id()}); }},
      {"another update comes", false,
       [=](Scene& scene) { return scene.node.ask(scene.unit, cpu(sizes.from)); }},
      {"after a reconnect it is listed as before", false,
       [=](Scene& scene) { return listed(scene, sizes.from, scene.before); }},
      {"after a reconnect it is listed as before, and its file is as told", false,
       [=](Scene& scene) { return listed(scene, sizes.from, scene.asked); }},
      {"after a reconnect it is listed as told", true,
       [=](Scene& scene) { return listed(scene, sizes.to, scene.asked); }},
      {"nothing is said for too long, and then that it is done", true,
       [=](Scene& scene) {
         (void)scene.node.handle(UpdateOverdue{scene.unit.id()});
         return scene.node.tell(sized(scene.unit, sizes.to), EventKind::kPostUpdate);
       }},
  };
}

CpuSet cores_of(const CpuSet& cpus, int milli) {
  return milli % 1000 == 0 ? cpus : CpuSet();
}

TEST_P(BothFences, OfAnUpdateBothSizesAreHeldUntilItIsKnownWhichItIs) {
  for (const Sizes& sizes : kSizes) {
    for (const Ending& ending : endings(sizes)) {
      SCOPED_TRACE(std::string(sizes.name) + ", " + ending.name);
      Scene scene{Driver(laptop(), GetParam()), sized(rank("r", 2), sizes.from), {}, {}};
      Driver& node = scene.node;
      scene.unit.pod.resources = cpu(sizes.from);
      scene.before = node.run(scene.unit);
      const auto agreed = node.ask(scene.unit, cpu(sizes.to));
      EXPECT_EQ(agreed.fatal, "");
      ASSERT_TRUE(agreed.reply.own);
      scene.asked = agreed.reply.own->cpus;
      const CpuSet old_cores = cores_of(scene.before, sizes.from);
      const CpuSet new_cores = cores_of(scene.asked, sizes.to);
      EXPECT_EQ(node.own(scene.unit), old_cores) << "it has what it had";
      EXPECT_EQ(node.taken(), old_cores | new_cores);
      for (const Enforce& file : agreed.now) EXPECT_NE(file.id, scene.unit.id());
      EXPECT_FALSE(node.engine.audit("").has_value()) << "its file may be either";
      const Unit other = rank("other", 2);
      EXPECT_FALSE(node.run(other).intersects(old_cores | new_cores));
      node.end(other);

      const auto known = ending.play(scene);
      EXPECT_EQ(known.fatal, "");
      EXPECT_FALSE(known.reply.refusal);
      EXPECT_EQ(node.own(scene.unit), ending.done ? new_cores : old_cores);
      EXPECT_EQ(node.taken(), ending.done ? new_cores : old_cores);
      const Member& member = *node.engine.state().find(scene.unit.id());
      EXPECT_FALSE(member.pending);
      EXPECT_EQ(policy::milli_cpus(member.resources), ending.done ? sizes.to : sizes.from);
      const auto milli = node.engine.state().pods.at(scene.unit.pod.id).milli;
      EXPECT_EQ(milli, ending.done ? sizes.to : sizes.from);
      node.end(scene.unit);
      EXPECT_TRUE(node.taken().empty());
    }
  }
}

// Whichever attempt comes next finds all that it may ask for.
TEST_P(BothFences, OneThatStopsMeanwhileLeavesItsPodTheSizeOfTheRuntimesRecord) {
  for (const bool recorded : {false, true}) {
    for (const Sizes& sizes : {kSizes[0], kSizes[1]}) {
      SCOPED_TRACE(std::string(sizes.name) + (recorded ? ", as recorded" : ""));
      Driver node(laptop(), GetParam());
      Unit unit = sized(rank("r", 2), sizes.from);
      unit.pod.resources = cpu(sizes.from);
      const CpuSet before = node.run(unit);
      const CpuSet asked = node.ask(unit, cpu(sizes.to)).reply.own->cpus;
      if (recorded) unit.container.resources = cpu(sizes.to);
      EXPECT_EQ(node.stop(unit).fatal, "");
      EXPECT_EQ(node.taken(), recorded ? asked : before);
      unit.container.resources = cpu(recorded ? sizes.to : sizes.from);
      unit.container.id = "again";
      EXPECT_EQ(node.run(unit), recorded ? asked : before);
      node.end(unit);
      EXPECT_TRUE(node.taken().empty());
    }
  }
}

// kill -9 in between: the next one has what was saved, the files and the runtime's list.
TEST_P(BothFences, AnAgentThatIsKilledMeanwhileLosesNothing) {
  struct Case {
    const char* name;
    bool done;  // before the next agent comes
    bool late;  // after it has come
  };
  for (const Sizes& sizes : {kSizes[0], kSizes[1]}) {
    for (const Case& c : {Case{"not done", false, false}, Case{"done", true, false},
                          Case{"done when the next agent is there", false, true}}) {
      SCOPED_TRACE(std::string(sizes.name) + ", " + c.name);
      Driver killed(laptop(), GetParam());
      Unit unit = sized(rank("r", 2), sizes.from);
      unit.pod.pid = 1;
      const CpuSet before = killed.run(unit);
      const CpuSet asked = killed.ask(unit, cpu(sizes.to)).reply.own->cpus;
      Scene scene{Driver(laptop(), GetParam()), unit, before, asked};
      scene.node.engine.restore(killed.engine.kept());
      listed(scene, c.done ? sizes.to : sizes.from, c.done ? asked : before);
      EXPECT_EQ(scene.node.own(unit), c.done ? asked : before);
      EXPECT_EQ(scene.node.taken(), c.done ? asked : before);
      if (!c.late) continue;
      const auto post = scene.node.tell(sized(unit, sizes.to), EventKind::kPostUpdate);
      EXPECT_EQ(post.fatal, "");
      EXPECT_EQ(scene.node.own(unit).count(), sizes.to / 1000);
      EXPECT_TRUE(sizes.from > sizes.to ? scene.node.own(unit).is_subset_of(before)
                                        : before.is_subset_of(scene.node.own(unit)));
    }
  }
}

// The promise of memory alone: no file of CPUs tells.
TEST_P(BothFences, OfAnUpdateOfMemoryTheLargerPromiseIsHeld) {
  for (const std::int64_t to : {1, 4}) {
    Driver node(laptop(), GetParam());
    const Unit unit = bound_rank("r", 2, 2 << 20);
    node.run(unit);
    const auto promised = [&] { return node.engine.state().ledger.promised(0); };
    ASSERT_TRUE(node.ask(unit, cpu(2000, to << 20)).reply.own);
    EXPECT_EQ(promised(), Bytes(std::max<std::int64_t>(to, 2) << 20));
    node.handle(UpdateOverdue{unit.id()});
    EXPECT_EQ(promised(), Bytes{2 << 20});
    node.update(unit, cpu(2000, to << 20));
    EXPECT_EQ(promised(), Bytes(to << 20));
  }
}

// The pod keeps what its init container left, and the main one grows into that.
TEST_P(BothFences, AGrowthThatIsNotDoneGivesBackWhatThePodKept) {
  Driver node(laptop(), GetParam());
  const Pod pod = whole_pod("p", 4);
  const Unit init = part(pod, "init", 4);
  const Unit main = part(pod, "main", 2);
  node.run(init);
  node.stop(init);
  const CpuSet own = node.run(main);
  const CpuSet taken = node.taken();
  const auto kept = node.engine.kept();
  node.run(rank("other", node.engine.state().topology.online.count() - 1 - taken.count()));
  const CpuSet all = node.taken();
  ASSERT_TRUE(node.ask(main, cpu(4000)).reply.own);
  EXPECT_EQ(node.taken(), all);
  for (const KeptCores& one : kept) {
    EXPECT_THAT(node.engine.kept(), testing::Contains(one)) << "for an agent after this one";
  }
  const auto answer = node.handle(UpdateOverdue{main.id()});
  EXPECT_EQ(answer.fatal, "");
  EXPECT_EQ(node.own(main), own);
  EXPECT_EQ(node.taken(), all);
  EXPECT_EQ(node.engine.kept(), kept);
}

// What it had is not where a lender of its name is to be found after a restart.
TEST_P(BothFences, NothingIsSavedForOneThatHasComeBackMeanwhile) {
  Driver node(laptop(), GetParam());
  const Pod pod = test_support::make_pod("p");
  const Unit ended = part(pod, "ended", 2);
  const Unit main = part(pod, "main", 2);
  node.run(rank("other", 2));
  node.run(ended);
  node.run(main);
  node.stop(ended);
  ASSERT_TRUE(node.ask(main, cpu(4000)).reply.own);
  ASSERT_EQ(node.engine.kept().at(0).container, "ended");
  Unit back = part(pod, "ended", 1);
  back.container.id = "back";
  ASSERT_EQ(node.run(back).count(), 1);
  EXPECT_THAT(node.engine.kept(), testing::IsEmpty());
}

// It started while the cores that it had were reserved, and gets others as soon as some are free.
TEST_P(BothFences, ThatOneHasComeBackMeanwhileIsToBeSaved) {
  Driver node(laptop(), GetParam());
  const Pod pod = test_support::make_pod("p");
  const Unit ended = part(pod, "ended", 2);
  const Unit main = part(pod, "main", 2);
  Unit other = rank("other", 3);
  for (const Unit& unit : {other, ended, main}) node.run(unit);
  node.stop(ended);
  ASSERT_TRUE(node.ask(main, cpu(4000)).reply.own);
  Unit back = ended;
  back.container.id = "back";
  node.start(back);
  ASSERT_EQ(node.own(back).count(), 0);
  ASSERT_TRUE(node.ask(other, cpu(1000)).reply.own);
  ASSERT_EQ(node.engine.kept().size(), 1U);
  const auto revision = [&] {
    return node.engine.state().kept_revision() + node.engine.state().unstarted_revision();
  };
  const auto before = revision();
  other.container.resources = cpu(1000);
  node.tell(other, EventKind::kPostUpdate);
  ASSERT_EQ(node.own(back).count(), 2);
  EXPECT_THAT(node.engine.kept(), testing::IsEmpty());
  EXPECT_NE(revision(), before);
}

// Others have got all but what its pod kept.
TEST_P(BothFences, AGrowthThatIsNotDoneLeavesTheLastSharedCpu) {
  Driver node(laptop(), GetParam());
  const Pod pod = test_support::make_pod("p");
  const Unit init = part(pod, "init", 2);
  const Unit main = sized(part(pod, "main", 1), 500);
  node.run(init);
  node.stop(init);
  node.run(main);
  ASSERT_TRUE(node.ask(main, cpu(1000)).reply.own);
  node.run(rank("other", 6));
  ASSERT_EQ(node.taken().count(), 7);
  EXPECT_EQ(node.handle(UpdateOverdue{main.id()}).fatal, "");
  EXPECT_EQ(node.taken().count(), 6);
}

// The kubelet tries again, every few seconds.
TEST_P(BothFences, OneThatIsNotDoneAgainAndAgainIsSaidOnce) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("r", 4);
  node.run(unit);
  for (int tries = 0; tries < 3; ++tries) {
    EXPECT_TRUE(node.ask(unit, cpu(2000)).notes.empty());
    EXPECT_EQ(node.handle(UpdateOverdue{unit.id()}).notes.size(), tries == 0 ? 1U : 0U);
  }
  EXPECT_EQ(node.engine.counters().resized, 0U);
  EXPECT_EQ(node.update(unit, cpu(2000)).notes.size(), 1U);
  EXPECT_EQ(node.engine.counters().resized, 1U);
}

// One of two updates is refused, and the runtime does not do the other, in turns.
TEST_P(BothFences, OnesThatAreRefusedAndNotDoneInTurnsAreSaidOnceEach) {
  Driver node(laptop(), GetParam());
  const Unit unit = rank("r", 4);
  node.run(unit);
  for (int tries = 0; tries < 3; ++tries) {
    EXPECT_TRUE(node.ask(unit, cpu(2000)).notes.empty());
    const auto refused = node.ask(unit, cpu(64'000));  // which ends the wait for the one before
    EXPECT_TRUE(refused.reply.refusal);
    EXPECT_EQ(refused.notes.size(), tries == 0 ? 2U : 0U);
  }
  for (int cpus = 64; cpus < 264; ++cpus) node.ask(unit, cpu(1000 * cpus));
  EXPECT_LE(node.engine.state().find(unit.id())->said_of_resizes.size(), 16U);
}

// The runtime is asked for an update of one that has just ended, and agrees.
TEST_P(BothFences, OneThatHasEndedGetsNothingByAnUpdate) {
  Driver node(laptop(), GetParam());
  const Pod pod = whole_pod("p", 2);
  const Unit init = part(pod, "init", 2);
  const CpuSet cores = node.run(init);
  node.stop(init);
  EXPECT_FALSE(node.ask(init, cpu(2000, 1 << 20)).reply.own);
  EXPECT_EQ(node.engine.state().find(init.id()), nullptr);
  EXPECT_EQ(node.run(part(pod, "main", 2)), cores);
}

// The runtime is asked for two at once: it does the first, and refuses the second.
TEST_P(BothFences, WhatIsSaidOfTheUpdateBeforeConfirmsNoOther) {
  for (const Sizes& sizes : kSizes) {
    SCOPED_TRACE(sizes.name);
    Driver node(laptop(), GetParam());
    const Unit unit = sized(rank("r", 2), sizes.from);
    const CpuSet cores = cores_of(node.run(unit), sizes.from);
    Unit first = unit;
    first.container.resources.memory = 1 << 20;
    ASSERT_TRUE(node.ask(unit, first.container.resources).reply.own);
    ASSERT_TRUE(node.ask(unit, cpu(sizes.to)).reply.own);
    EXPECT_EQ(node.tell(first, EventKind::kPostUpdate).fatal, "");
    node.handle(UpdateOverdue{unit.id()});
    EXPECT_EQ(node.own(unit), cores);
    EXPECT_EQ(node.taken(), cores);
    EXPECT_EQ(node.engine.state().find(unit.id())->resources.memory, 1 << 20);
  }
}

// Its memory changes, not where it may run: runc may write what was right when it was told.
TEST_P(BothFences, ASharedOneIsComparedMeanwhile) {
  Driver node(laptop(), GetParam());
  const Unit unit = sized(rank("s", 2), 500);
  node.run(unit);
  ASSERT_TRUE(node.ask(unit, cpu(500, 1 << 20)).reply.own);
  const Unit other = rank("r", 2);
  node.run(other);
  EXPECT_TRUE(node.engine.state().find(unit.id())->pending);
  const auto audit = node.engine.audit(other.id());
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->id, unit.id());
  EXPECT_EQ(audit->cpuset.cpus, node.engine.pool());
}

// What it was told may be offline by then.
TEST_P(BothFences, CpusThatGoOfflineMeanwhileLeaveItItsSize) {
  for (const Sizes& sizes : {kSizes[0], kSizes[1]}) {
    Driver node(laptop(), GetParam());
    const Unit unit = sized(rank("r", 2), sizes.from);
    const CpuSet before = node.run(unit);
    const CpuSet asked = node.ask(unit, cpu(sizes.to)).reply.own->cpus;
    topology::Topology machine = laptop();
    const bool grows = sizes.to > sizes.from;
    const CpuSet gone = {(grows ? asked - before : machine.online - before).first()};
    machine.online -= gone;
    machine.offline |= gone;
    EXPECT_EQ(node.handle(MachineChanged{machine}).fatal, "");
    EXPECT_EQ(node.own(unit), before);
    EXPECT_EQ(node.taken(), before);
  }
}

}  // namespace
}  // namespace pinion::engine
