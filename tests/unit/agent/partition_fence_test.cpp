// How everybody else is kept off by the kernel, with partitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/engine/engine.h"
#include "tests/support/machine.h"
#include "tests/unit/agent/fence_ids.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::all_running;
using test_support::cpu;
using test_support::cpus;
using test_support::Driver;
using test_support::laptop;
using test_support::rank;
using test_support::shared;
using test_support::Unit;
using testing::ElementsAre;
using testing::IsEmpty;
using EventKind = ContainerEvent::Kind;

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
  const auto answer = node.handle(event);
  EXPECT_EQ(node.engine.guarded(), before.own(kept));
  node.obey(answer);
  EXPECT_EQ(node.engine.guarded(), before.own(kept) | before.own(narrow));
  EXPECT_THAT(node.drain(), testing::Contains(lost.id()));
  EXPECT_EQ(node.engine.guarded(), before.own(kept) | before.own(lost) | before.own(narrow));
}

// It was resized while no agent heard of it: what its partition has besides is anybody's, and what
// it lacks may be lent before a quiet moment comes.
TEST(PartitionFence, AfterARestartAPartitionOfAnotherSizeIsMadeAnewAtOnce) {
  for (const char* found : {"2-7", "2"}) {
    Driver node(laptop(), FenceKind::kPartition);
    const Unit r = rank("r", 2);
    auto event = all_running({r});
    event.files[r.id()] = {.cpus = cpus("2-3"),
                           .mems = {},
                           .partition = {.kind = Partition::Kind::kRoot, .cpus = cpus(found)}};
    const auto answer = node.handle(event);
    ASSERT_THAT(ids(answer.now), ElementsAre(r.id()));
    EXPECT_EQ(answer.now[0].partition,
              (Partition{.kind = Partition::Kind::kRoot, .cpus = cpus("2-3")}));
  }
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

}  // namespace
}  // namespace pinion::engine
