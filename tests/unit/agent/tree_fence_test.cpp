// How everybody else is kept off by the files of the QoS groups.
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

}  // namespace
}  // namespace pinion::engine
