// How everybody else is kept off: the leaf fence by files, the runtime fence by answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/engine/engine.h"
#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::all_running;
using test_support::cpu;
using test_support::cpus;
using test_support::Driver;
using test_support::epyc_rome_256;
using test_support::laptop;
using test_support::rank;
using test_support::shared;
using test_support::two_core_vm;
using test_support::Unit;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using EventKind = ContainerEvent::Kind;

std::vector<std::string> ids(const std::vector<Enforce>& list) {
  std::vector<std::string> result;
  for (const Enforce& entry : list) result.push_back(entry.id);
  return result;
}

std::vector<std::string> ids(const std::vector<CpusetUpdate>& list) {
  std::vector<std::string> result;
  for (const CpusetUpdate& entry : list) result.push_back(entry.id);
  return result;
}

// --- leaf

TEST(LeafFence, AnswersCarryNoUpdates) {
  Driver node(laptop(), FenceKind::kLeaf);
  node.run(shared("s"));
  EXPECT_THAT(node.create(rank("r", 2)).reply.updates, IsEmpty());
  EXPECT_THAT(node.stop(rank("r", 2)).reply.updates, IsEmpty());
  EXPECT_FALSE(node.engine.wants_resync());
}

TEST(LeafFence, StartEvictsThoseThatTouchTakenCoresAndNobodyElse) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit first = rank("a-first", 2);
  const Unit away = shared("b-away");
  const Unit touching = shared("c-touching");
  const Unit asleep = shared("d-not-started");
  node.run(touching);
  node.run(first);  // touching is moved off, away will never be on it
  node.run(away);
  node.create(asleep);
  const Unit second = rank("e-second", 2);
  node.create(second);
  node.drain();
  const Unit later = shared("f-later");
  node.run(later);  // told the pool as it is now: touches nobody
  const Unit third = rank("g-third", 2);
  node.create(third);
  const auto effects = node.tell(third, EventKind::kStart);
  EXPECT_THAT(ids(effects.now),
              UnorderedElementsAre(away.id(), touching.id(), later.id(), third.id()));
  EXPECT_EQ(effects.now.back().id, third.id()) << "itself last, when the cores are clear";
  for (const Enforce& piece : effects.now) {
    if (piece.id != third.id()) {
      EXPECT_EQ(piece.cpuset.cpus, node.engine.pool());
    }
  }
  node.obey(effects);
  EXPECT_THAT(ids(node.tell(third, EventKind::kStart).now), ElementsAre(third.id()));
}

TEST(LeafFence, ASharedOnesStartConcernsItselfAlone) {
  Driver node(laptop(), FenceKind::kLeaf);
  node.run(shared("s"));
  node.create(rank("r", 2));
  const Unit other = shared("t");
  node.create(other);
  EXPECT_THAT(ids(node.tell(other, EventKind::kStart).now), ElementsAre(other.id()));
}

TEST(LeafFence, CoresAreGivenBackOneFileAtATime) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit a = shared("a");
  const Unit b = shared("b");
  node.run(a);
  node.run(b);
  const Unit r = rank("r", 2);
  node.run(r);
  node.drain();
  EXPECT_THAT(node.stop(r).now, IsEmpty());
  EXPECT_FALSE(node.engine.idle()) << "they are its pod's";
  EXPECT_THAT(node.pod_event(r, PodEvent::Kind::kStop).now, IsEmpty());
  const auto piece = node.engine.idle();
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->cause, Cause::kFence);
  EXPECT_EQ(piece->cpuset.cpus, node.engine.state().topology.online);
  EXPECT_THAT(node.drain(), ElementsAre(a.id(), b.id()));
  EXPECT_FALSE(node.engine.idle());
}

TEST(LeafFence, AResizeOfARunningOneEvictsAtOnce) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit noise = shared("s");
  const Unit r = rank("r", 2);
  node.run(r);
  node.run(noise);
  const auto grown = node.update(r, cpu(4000));
  EXPECT_THAT(ids(grown.now), ElementsAre(noise.id(), r.id()));
  node.obey(grown);
  EXPECT_THAT(ids(node.update(r, cpu(2000)).now), ElementsAre(r.id()));
}

TEST(LeafFence, AMovedRankLeavesTheCoresThatAnotherGets) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit a = rank("a", 2);
  const Unit b = rank("b", 2);
  auto event = all_running({a, b});
  event.files = {{a.id(), {.cpus = cpus("2-3"), .mems = {}}},
                 {b.id(), {.cpus = cpus("4-7"), .mems = {}}}};
  (void)node.handle(event);  // b has two cores now and its file still says four
  const Unit c = rank("c", 2);
  node.create(c);
  ASSERT_TRUE(node.own(c).intersects(cpus("4-7"))) << node.own(c).to_string();
  const auto effects = node.tell(c, EventKind::kStart);
  EXPECT_THAT(ids(effects.now), testing::Contains(b.id()));
}

// --- tree

constexpr const char* kBurstable = "/kubepods/burstable";
constexpr const char* kBestEffort = "/kubepods/besteffort";

Unit burstable(const std::string& name) {
  const auto pod = test_support::make_pod(name, Qos::kBurstable);
  return {pod, test_support::make_container(pod, "main", cpu(500))};
}

// Shared, and beside the ranks: Guaranteed without whole CPUs.
Unit beside(const std::string& name) {
  const auto pod = test_support::make_pod(name);
  return {pod, test_support::make_container(pod, "main", cpu(500))};
}

TEST(TreeFence, ARankCostsAWriteForEachClassHoweverManyContainersThereAre) {
  Driver node(laptop(), FenceKind::kTree);
  for (int i = 0; i < 10; ++i) {
    node.run(shared("s" + std::to_string(i)));
    node.run(burstable("b" + std::to_string(i)));
  }
  const Unit third = beside("g");
  node.run(third);
  node.drain();
  const Unit r = rank("r", 2);
  node.create(r);
  const auto effects = node.tell(r, EventKind::kStart);
  EXPECT_THAT(ids(effects.now), ElementsAre(kBestEffort, kBurstable, third.id(), r.id()));
  for (const Enforce& piece : effects.now) {
    if (piece.id == r.id()) continue;
    EXPECT_EQ(piece.cpuset.cpus, node.engine.pool()) << piece.id;
    EXPECT_FALSE(piece.cpuset.cpus.intersects(node.own(r))) << piece.id;
  }
  node.obey(effects);
  EXPECT_THAT(node.drain(), IsEmpty());
  const Member& one = *node.engine.state().find(shared("s0").id());
  EXPECT_EQ(node.engine.target_of(one).cpus, cpus("0-7")) << "its own file is left alone";
  EXPECT_EQ(node.engine.kept_off(one, {}), node.own(r));

  node.end(r);
  EXPECT_THAT(node.drain(), ElementsAre(kBestEffort, kBurstable, third.id()));
}

// Its first pod may run while no agent does.
TEST(TreeFence, AGroupIsNarrowThoughNobodyIsInItYet) {
  Driver node(laptop(), FenceKind::kTree);
  const Unit r = rank("r", 2);
  node.create(r);
  const auto effects = node.tell(r, EventKind::kStart);
  EXPECT_THAT(ids(effects.now), ElementsAre(kBestEffort, kBurstable, r.id()));
  EXPECT_EQ(effects.now.at(1).cpuset.cpus, node.engine.pool());
  node.obey(effects);
  const Unit first = burstable("first");
  EXPECT_THAT(node.pod_event(first, PodEvent::Kind::kRun).now, IsEmpty());
  EXPECT_EQ(node.run(first), cpus("0-7"));
  EXPECT_THAT(node.pod_event(burstable("second"), PodEvent::Kind::kRun).now, IsEmpty());
  EXPECT_THAT(node.pod_event(rank("other", 1), PodEvent::Kind::kRun).now, IsEmpty());
}

TEST(TreeFence, SystemPodsKeepTheReservedCpusUnderStrictReservation) {
  Settings settings;
  settings.reserved = cpus("0-1");
  settings.strict_reservation = true;
  Driver node(laptop(), FenceKind::kTree, settings);
  Unit system = shared("system");
  system.pod.name_space = "kube-system";
  EXPECT_EQ(node.run(system), cpus("0-1"));
  EXPECT_EQ(node.run(shared("s")), cpus("2-7"));
  const Unit r = rank("r", 2);
  node.run(r);
  const QosGroup& group = node.engine.state().qos_groups.at(kBestEffort);
  EXPECT_EQ(group.applied, cpus("0-7") - node.own(r)) << "its file is for both of them";
}

// What a group's file was found to say, or why it could not be written.
Driver::Aftermath report(Driver& node, const std::string& found, const std::string& error = {}) {
  Enforced result;
  result.id = kBestEffort;
  result.cause = Cause::kAudit;
  result.found = Applied{.cpus = cpus(found), .mems = {}};
  result.written = error.empty();
  result.error = error;
  return node.report(result);
}

TEST(TreeFence, WhereAGroupCannotBeWrittenItsContainersAreFencedOneByOne) {
  Driver node(laptop(), FenceKind::kTree);
  const Unit noise = shared("s");
  node.run(noise);
  const Unit r = rank("r", 2);
  node.run(r);
  const auto after = report(node, "0-7", "write '2-7' to cpuset.cpus: Permission denied");
  EXPECT_THAT(ids(after.now), ElementsAre(noise.id()));
  EXPECT_EQ(after.now.at(0).cpuset.cpus, node.engine.pool());
  EXPECT_EQ(node.engine.counters().qos_groups_lost, 1U);
  node.obey(after.now.at(0));
  EXPECT_FALSE(node.run(shared("t")).intersects(node.own(r))) << "told what its file must say";

  (void)node.handle(all_running({noise, r}));
  EXPECT_TRUE(node.engine.state().qos_groups.at(kBestEffort).keeps) << "tried anew";
}

TEST(TreeFence, OneForeignWriteIsMendedTheNextGivesTheGroupUp) {
  Driver node(laptop(), FenceKind::kTree);
  const Unit noise = shared("s");
  node.run(noise);
  const Unit r = rank("r", 2);
  node.run(r);
  EXPECT_THAT(report(node, "0-7").now, IsEmpty());
  EXPECT_EQ(node.engine.counters().drift, 1U);
  EXPECT_EQ(node.engine.counters().repairs, 1U);
  EXPECT_TRUE(node.engine.state().qos_groups.at(kBestEffort).keeps);
  EXPECT_THAT(ids(report(node, "0-7").now), ElementsAre(noise.id()));
  const auto piece = node.engine.audit("");
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->id, kBestEffort);
  EXPECT_EQ(piece->cpuset.cpus, cpus("0-7")) << "it bounds nobody any more";
}

// What a group was found to say, within a limit.
Driver::Aftermath report_limit(Driver& node, const std::string& found, const std::string& limit,
                               const std::string& slice_error = {}) {
  Enforced result;
  result.id = kBestEffort;
  result.cause = Cause::kStart;
  result.found = Applied{.cpus = cpus(found), .mems = {}};
  if (!limit.empty()) result.limit = cpus(limit);
  result.slice_error = slice_error;
  return node.report(result);
}

TEST(TreeFence, AGroupHasWhatIsSharedWithinItsLimit) {
  Driver node(laptop(), FenceKind::kTree);
  const Unit noise = shared("s");
  node.run(noise);
  EXPECT_THAT(report_limit(node, "0-3", "0-3").now, IsEmpty());
  EXPECT_EQ(node.engine.counters().drift, 0U) << "a new limit is nobody's mistake";
  EXPECT_THAT(node.drain(), IsEmpty()) << "it is as it should be";
  const Unit r = rank("r", 2);
  node.create(r);
  const auto effects = node.tell(r, EventKind::kStart);
  ASSERT_THAT(ids(effects.now), ElementsAre(kBestEffort, kBurstable, r.id()));
  EXPECT_EQ(effects.now[0].cpuset.cpus, node.engine.pool()) << "the shell keeps to the limit";
  node.obey(effects.now[1]);
  node.obey(effects.now[2]);
  const CpuSet left = node.engine.pool() & cpus("0-3");
  (void)report_limit(node, left.to_string(), "0-3");
  EXPECT_THAT(node.drain(), IsEmpty()) << "it is as it should be";
  (void)report_limit(node, left.to_string(), "0-5");
  ASSERT_TRUE(node.engine.idle()) << "it may have more now";
  EXPECT_EQ(node.engine.idle()->id, kBestEffort);
}

TEST(TreeFence, WhereALimitLeavesNothingAGroupHasAllThatIsShared) {
  Driver node(laptop(), FenceKind::kTree);
  node.run(shared("s"));
  const Unit r = rank("r", 2);
  node.run(r);
  (void)report_limit(node, "0-7", node.own(r).to_string());
  const auto piece = node.engine.idle();
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->cpuset.cpus, node.engine.pool());
}

TEST(TreeFence, AGroupThatIsGivenUpKeepsItsLimitOnlyWhereTheFilesBelowHaveSomeOfIt) {
  Driver node(laptop(), FenceKind::kTree);
  node.run(shared("s"));
  const Unit r = rank("r", 2);
  node.run(r);
  (void)report(node, "0-7", "write '2-7' to cpuset.cpus: Permission denied");
  const State& state = node.engine.state();
  QosGroup group = state.qos_groups.at(kBestEffort);
  ASSERT_FALSE(group.keeps);
  EXPECT_EQ(group_target(state, kBestEffort, group, node.engine.pool()), cpus("0-7"));
  group.limit = node.own(r) | CpuSet{node.engine.pool().first()};
  EXPECT_EQ(group_target(state, kBestEffort, group, node.engine.pool()), *group.limit);
  group.limit = node.own(r);  // the kernel would put all below on the rank's cores
  EXPECT_EQ(group_target(state, kBestEffort, group, node.engine.pool()), cpus("0-7"));
}

TEST(TreeFence, AGroupThatIsGivenUpIsNoNarrowerThanAFileOfASmallerPoolAllows) {
  Driver node(laptop(), FenceKind::kTree);
  const Unit noise = shared("s");
  node.run(noise);
  const Unit large = rank("large", 4);
  node.run(large);
  for (const Enforce& piece : report(node, "0-7", "write to cpuset.cpus: Permission denied").now) {
    node.obey(piece);
  }
  const CpuSet small_pool = node.engine.pool();
  const CpuSet back = node.own(large);
  node.end(large);

  const auto group = node.engine.audit("");
  ASSERT_TRUE(group);
  EXPECT_EQ(within(back, group->cpuset.cpus, group->below), cpus("0-7"))
      << "the file still says " << small_pool.to_string()
      << ": its container would be on all of the limit, with the next rank there";
  EXPECT_THAT(node.drain(), ElementsAre(kBurstable, noise.id()));
  const auto later = node.engine.audit("");
  ASSERT_TRUE(later);
  EXPECT_EQ(within(back, later->cpuset.cpus, later->below), back) << "the file has grown";
}

TEST(TreeFence, ThatSystemdCannotBeToldIsSaidOnce) {
  Driver node(laptop(), FenceKind::kTree);
  node.run(shared("s"));
  const auto said = report_limit(node, "0-7", "0-7", "no answer within 250 ms").notes;
  ASSERT_THAT(said, testing::SizeIs(1));
  EXPECT_EQ(said[0].level, Note::Level::kWarn);
  EXPECT_EQ(said[0].fields.back().second, "no answer within 250 ms");
  EXPECT_THAT(report_limit(node, "0-7", "0-7", "no answer within 250 ms").notes, IsEmpty());
  EXPECT_THAT(report_limit(node, "0-7", "0-7").notes, IsEmpty());
  EXPECT_THAT(report_limit(node, "0-7", "0-7", "no answer within 250 ms").notes,
              testing::SizeIs(1));
}

// --- partition

TEST(PartitionFence, AStartWritesForNobodyElse) {
  Driver node(laptop(), FenceKind::kPartition);
  node.run(shared("a"));
  const Unit r = rank("r", 2);
  node.create(r);
  const auto effects = node.tell(r, EventKind::kStart);
  ASSERT_THAT(ids(effects.now), ElementsAre(r.id()));
  EXPECT_EQ(effects.now[0].partition,
            (Partition{.kind = Partition::Kind::kRoot, .cpus = node.own(r)}));
  node.obey(effects);
  EXPECT_TRUE(node.engine.pool().contains(node.own(r).first())) << "the kernel keeps them off";
  EXPECT_EQ(node.engine.guarded(), node.own(r));
  EXPECT_THAT(node.drain(), IsEmpty());
  EXPECT_EQ(node.engine.counters().guarded, 1U);
}

TEST(PartitionFence, WhereThereIsNoneTheOthersAreMovedBeforeTheProgramStarts) {
  Driver node(laptop(), FenceKind::kPartition);
  const Unit other = shared("other");
  node.run(other);
  node.no_partition = "root invalid (no)";
  const Unit r = rank("r", 2);
  node.create(r);
  EXPECT_THAT(node.obey(node.tell(r, EventKind::kStart).now.at(0)), ElementsAre(other.id()));
  EXPECT_FALSE(node.engine.pool().intersects(node.own(r)));
  EXPECT_EQ(node.engine.state().find(r.id())->unguarded_why, "root invalid (no)");
  EXPECT_THAT(node.drain(), IsEmpty()) << "left alone until the next audit";

  node.no_partition.clear();
  node.obey(*node.engine.audit(other.id()));
  EXPECT_EQ(node.engine.guarded(), node.own(r));
  EXPECT_THAT(node.drain(), ElementsAre(other.id())) << "its file says all CPUs again";
  EXPECT_EQ(node.engine.counters().unguarded, 1U);
}

TEST(PartitionFence, WhatStopsGivesItsPartitionBackBeforeAnybodyElseStarts) {
  Driver node(laptop(), FenceKind::kPartition);
  const Unit r = rank("r", 2);
  const CpuSet own = node.run(r);
  const auto effects = node.stop(r);
  ASSERT_EQ(effects.unguard.size(), 1U);
  EXPECT_EQ(effects.unguard[0],
            (Unguard{.cgroups_path = r.container.cgroups_path, .pid = 0, .cpus = own}));
  EXPECT_THAT(node.stop(r).unguard, IsEmpty());
}

TEST(PartitionFence, AResizeBringsThePartitionAlong) {
  Driver node(laptop(), FenceKind::kPartition);
  const Unit r = rank("r", 2);
  node.run(r);
  const auto effects = node.update(r, cpu(4000));
  ASSERT_THAT(ids(effects.now), ElementsAre(r.id()));
  EXPECT_EQ(effects.now[0].partition->cpus.count(), 4);
  node.obey(effects);
  EXPECT_EQ(node.engine.guarded(), node.own(r));
  EXPECT_THAT(node.update(r, cpu(500)).unguard, testing::SizeIs(1));
  EXPECT_TRUE(node.engine.guarded().empty());
}

TEST(PartitionFence, AfterARestartLivePartitionsAreKeptAndLostOnesMadeAnew) {
  Driver before(laptop(), FenceKind::kPartition);
  const Unit kept = rank("kept", 2);
  const Unit lost = rank("lost", 2);
  const Unit narrow = rank("narrow", 2);
  before.run(kept);
  before.run(lost);
  before.run(narrow);
  Driver node(laptop(), FenceKind::kPartition);
  auto event = all_running({kept, lost, narrow});
  const auto file = [&](const Unit& unit, Partition::Kind kind) {
    const CpuSet own = before.own(unit);
    const CpuSet held = kind == Partition::Kind::kNone ? CpuSet() : own;
    return Applied{.cpus = own, .mems = {}, .partition = {.kind = kind, .cpus = held}};
  };
  event.files[kept.id()] = file(kept, Partition::Kind::kRoot);
  event.files[lost.id()] = file(lost, Partition::Kind::kNone);
  event.files[narrow.id()] = file(narrow, Partition::Kind::kRoot);
  event.files[narrow.id()].partition.cpus = before.own(narrow).lowest(1);
  (void)node.handle(event);
  EXPECT_EQ(node.engine.guarded(), before.own(kept));
  EXPECT_THAT(node.drain(), testing::IsSupersetOf({lost.id(), narrow.id()}));
  EXPECT_EQ(node.engine.guarded(), before.own(kept) | before.own(lost) | before.own(narrow));
}

TEST(PartitionFence, IsolationIsByOptionOrWhereItMayBeAskedFor) {
  struct Case {
    PartitionKinds kinds;
    bool asks;
    Partition::Kind made;
  };
  using Kind = Partition::Kind;
  for (const Case& c : {Case{PartitionKinds::kAsked, false, Kind::kRoot},
                        Case{PartitionKinds::kAsked, true, Kind::kIsolated},
                        Case{PartitionKinds::kIsolated, false, Kind::kIsolated}}) {
    Settings settings;
    settings.partition_kinds = c.kinds;
    settings.defaults.privileges = {Privilege::kIsolated};
    Driver node(laptop(), FenceKind::kPartition, settings);
    Unit r = rank("r", 2);
    if (c.asks) r.pod.annotations["pinion.dev/isolation"] = "isolated";
    node.create(r);
    const auto effects = node.tell(r, EventKind::kStart);
    ASSERT_EQ(effects.now.size(), 1U);
    EXPECT_EQ(effects.now[0].partition->kind, c.made);
  }
  Settings settings;
  settings.defaults.privileges = {Privilege::kIsolated};
  Driver node(laptop(), FenceKind::kPartition, settings);
  Unit r = rank("r", 2);
  r.pod.annotations["pinion.dev/isolation"] = "isolated";
  node.create(r);
  EXPECT_EQ(node.tell(r, EventKind::kStart).now.at(0).partition->kind, Kind::kRoot)
      << "asked for where none is made";
}

// --- runtime

TEST(RuntimeFence, AWholeL3IsGivenUpSoThatTheNextCostsNothing) {
  Driver node(epyc_rome_256(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  const auto first = node.create(rank("a", 2));
  EXPECT_THAT(ids(first.reply.updates), ElementsAre(noise.id()));
  EXPECT_EQ(first.reply.updates[0].cpuset.cpus, node.engine.pool());
  EXPECT_EQ(node.engine.pool().count(), 248) << "four cores of two threads";
  const auto second = node.create(rank("b", 2));
  ASSERT_TRUE(second.reply.own);
  EXPECT_FALSE(second.reply.own->cpus.intersects(node.engine.pool()));
  EXPECT_THAT(second.reply.updates, IsEmpty());
  EXPECT_EQ(node.engine.counters().updates_told, 1U);
}

TEST(RuntimeFence, WhereDomainsAreScarceItGivesUpWhatIsTaken) {
  Driver node(laptop(), FenceKind::kRuntime);
  node.run(rank("a", 2));
  EXPECT_EQ(node.engine.pool().count(), 6) << "its one L3 is all there is";
}

TEST(RuntimeFence, GrowingWaitsUntilLessThanHalfIsUsed) {
  Driver node(epyc_rome_256(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  std::vector<Unit> ranks;
  for (int i = 0; i < 20; ++i) {
    ranks.push_back(rank("r" + std::to_string(i), 8));
    ASSERT_EQ(node.run(ranks.back()).count(), 8);
  }
  const int small = node.engine.pool().count();
  EXPECT_EQ(small, 256 - 160);
  int growths = 0;
  for (const Unit& unit : ranks) {
    const int before = node.engine.pool().count();
    EXPECT_EQ(node.end(unit).fatal, "");
    EXPECT_FALSE(node.engine.wants_resync());
    const auto answer = node.create(shared("after-" + unit.pod.name));
    const bool grown = node.engine.pool().count() > before;
    growths += grown ? 1 : 0;
    EXPECT_EQ(answer.reply.updates.size(), grown ? 1U : 0U) << "the next answer tells it";
    EXPECT_FALSE(node.engine.could_grow());
  }
  EXPECT_EQ(growths, 1) << "for twenty ends";
}

TEST(RuntimeFence, TheEndOfAPodHasNoAnswerToGrowIn) {
  Driver node(laptop(), FenceKind::kRuntime);
  node.run(shared("s"));
  const Unit r = rank("r", 5);
  node.run(r);
  const int small = node.engine.pool().count();
  EXPECT_EQ(node.end(r).fatal, "");
  EXPECT_EQ(node.engine.pool().count(), small);
  EXPECT_TRUE(node.engine.could_grow());
  EXPECT_FALSE(node.engine.wants_resync());
}

TEST(RuntimeFence, NothingIsToldTwice) {
  Driver node(two_core_vm(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  const Unit r = rank("r", 1);
  EXPECT_THAT(ids(node.create(r).reply.updates), ElementsAre(noise.id()));
  EXPECT_THAT(node.create(shared("t")).reply.updates, IsEmpty());
  EXPECT_THAT(node.update(r, cpu(1000, 5)).reply.updates, IsEmpty());
  EXPECT_THAT(ids(node.stop(r).reply.updates), ElementsAre()) << "half of two is enough";
  EXPECT_THAT(node.create(r).reply.updates, IsEmpty());
}

TEST(RuntimeFence, ItsOwnEntryIsNotRepeatedAmongTheUpdates) {
  Driver node(laptop(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  const Unit r = rank("r", 2);
  node.run(noise);
  node.run(r);
  const auto effects = node.update(r, cpu(4000));
  EXPECT_THAT(ids(effects.reply.updates), ElementsAre(noise.id()));
  ASSERT_TRUE(effects.reply.own);
  EXPECT_EQ(effects.reply.own->cpus.count(), 4);
}

TEST(RuntimeFence, WantsAResyncWhenAToldSetIsNotApplied) {
  Driver node(laptop(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  EXPECT_FALSE(node.engine.wants_resync());
  node.create(rank("r", 2));
  EXPECT_FALSE(node.engine.wants_resync()) << "told, and not seen otherwise";
  const auto piece = node.engine.audit("");
  ASSERT_TRUE(piece);
  Enforced lost;
  lost.id = noise.id();
  lost.cause = Cause::kAudit;
  lost.found = Applied{.cpus = cpus("0-7"), .mems = {}};
  (void)node.report(lost);
  EXPECT_TRUE(node.engine.wants_resync());
  auto event = all_running({noise});
  event.containers[0].resources.cpus = node.engine.pool().to_string();  // the record lies
  event.files = {{noise.id(), *lost.found}};
  event.pods.push_back(rank("r", 2).pod);
  event.containers.push_back(rank("r", 2).container);
  event.containers.back().resources.cpus = node.own(rank("r", 2)).to_string();
  EXPECT_THAT(ids(node.handle(event).reply.updates), ElementsAre(noise.id()));
  EXPECT_FALSE(node.engine.wants_resync());
}

TEST(RuntimeFence, CoresTakenWhereNoAnswerCanSaySoAreToldByAResync) {
  Driver node(laptop(), FenceKind::kRuntime);
  const Unit noise = shared("s");
  node.run(noise);
  const Unit late = rank("late", 2);
  const auto effects = node.tell(late, EventKind::kStart);
  EXPECT_THAT(effects.reply.updates, IsEmpty()) << "START's answer carries none";
  EXPECT_TRUE(node.engine.wants_resync());
}

TEST(RuntimeFence, ThePoolFollowsWhenOrdinaryCpusComeBack) {
  const auto machine = test_support::machine({.cores_per_l3 = 4, .isolated = cpus("2-3")});
  Settings settings;
  settings.reserved = cpus("2");
  Driver node(machine, FenceKind::kRuntime, settings);
  Unit r = rank("r", 2);
  node.run(r);
  EXPECT_FALSE(node.engine.pool().empty());
  const auto effects = node.stop(r);
  EXPECT_EQ(effects.fatal, "");
  EXPECT_TRUE(node.engine.pool().is_subset_of(node.engine.state().shared()))
      << node.engine.pool().to_string();
}

}  // namespace
}  // namespace pinion::engine
