// Whose CFS quota is taken away, and what it is when it comes back.
#include "agent/engine/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::all_running;
using test_support::cpu;
using test_support::cpus;
using test_support::Driver;
using test_support::make_container;
using test_support::make_pod;
using test_support::rank;
using test_support::shared;
using test_support::Unit;
using test_support::xeon_snc2;

TEST(Quota, Stated) {
  struct Case {
    const char* name;
    std::optional<std::int64_t> quota;
    std::optional<std::uint64_t> period;
    std::optional<std::uint64_t> shares;
    std::optional<CpuQuota> stated;
  };
  const Case cases[] = {
      {"as the kubelet writes it", 250'000, 100'000, 2560, CpuQuota{250'000, 100'000}},
      {"another period", 50'000, 10'000, 5120, CpuQuota{50'000, 10'000}},
      {"no period", 250'000, {}, 2560, CpuQuota{250'000, 100'000}},
      {"a period that cannot be", 250'000, 2'000'000, 2560, CpuQuota{250'000, 100'000}},
      {"taken away", -1, 100'000, 2048, CpuQuota{200'000, 100'000}},
      {"taken away, no shares", -1, 100'000, {}, {}},
      {"never had one", {}, 100'000, 2048, {}},
      {"not stated", 0, 100'000, 2048, {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Resources resources;
    resources.quota = c.quota;
    resources.period = c.period;
    resources.shares = c.shares;
    EXPECT_EQ(stated_quota(resources), c.stated);
  }
}

std::optional<std::int64_t> told(Driver& node, const Unit& unit) {
  const auto effects = node.create(unit);
  EXPECT_FALSE(effects.reply.refusal);
  return effects.reply.own_quota;
}

TEST(Quota, OnlyAnExclusiveContainerLosesIt) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  EXPECT_EQ(told(node, rank("r", 2)), CpuQuota::kNone);
  EXPECT_EQ(told(node, shared("s")), std::nullopt);
  Unit part = rank("part", 2);
  part.container.resources = cpu(1500);
  EXPECT_EQ(told(node, part), std::nullopt);
  Unit without = rank("without", 2);
  without.container.resources.quota.reset();
  EXPECT_EQ(told(node, without), std::nullopt) << "cpuCFSQuota: false in the kubelet";
  Unit unknown = rank("unknown", 2);
  unknown.container.resources.shares.reset();
  EXPECT_EQ(told(node, unknown), std::nullopt) << "nothing would say what to put back";
}

// The file work of the last event for the unit.
std::optional<QuotaTarget> target(const Driver::Answer& effects, const Unit& unit) {
  for (const Enforce& piece : effects.now) {
    if (piece.id == unit.id()) return piece.quota;
  }
  return std::nullopt;
}

// The quota files of the unit were looked at.
Enforced looked_at(const Unit& unit) {
  Enforced seen;
  seen.id = unit.id();
  seen.quota_seen = true;
  return seen;
}

TEST(Quota, ThePodsGoesWhereAllOfItIsExclusive) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  const auto pod = make_pod("p");
  const Unit first{pod, make_container(pod, "a", cpu(2000))};
  const Unit second{pod, make_container(pod, "b", cpu(4000))};
  const Unit side{pod, make_container(pod, "c", cpu(500))};
  node.create(first);
  const auto one = target(node.start(first), first);
  ASSERT_TRUE(one);
  EXPECT_EQ(*one, (QuotaTarget{.own = {},
                               .pod = {.exclusive = 2, .stated = CpuQuota{200'000}},
                               .stated = CpuQuota{200'000}}));
  node.create(second);
  const auto both = target(node.start(second), second);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->pod, (PodQuota{.exclusive = 6, .stated = CpuQuota{600'000}}));
  node.create(side);
  EXPECT_EQ(target(node.start(side), side), std::nullopt) << "its own quota is the runtime's";
  const auto audit = node.engine.audit("");
  ASSERT_TRUE(audit && audit->quota);
  EXPECT_EQ(audit->quota->pod, (PodQuota{.exclusive = 0, .stated = CpuQuota{650'000}}))
      << "`c` is shared";
}

// The kubelet caps its shares, so the runtime's record must keep the quota.
TEST(Quota, Of256CpusOnlyTheFilesHaveNone) {
  const auto machine = test_support::machine({.packages = 2, .cores_per_l3 = 160});
  Driver node(machine, FenceKind::kLeaf);
  Unit unit = rank("r", 256);
  EXPECT_EQ(unit.container.resources.shares, 262'144U);
  EXPECT_EQ(told(node, unit), std::nullopt);
  const QuotaTarget none{.own = {},
                         .pod = {.exclusive = 256, .stated = CpuQuota{25'600'000}},
                         .stated = CpuQuota{25'600'000}};
  EXPECT_EQ(target(node.start(unit), unit), none);
  EXPECT_EQ(node.update(unit, cpu(255'000)).reply.own_quota, CpuQuota::kNone);
  EXPECT_EQ(node.update(unit, cpu(256'000)).reply.own_quota, std::nullopt);

  Driver later(machine, FenceKind::kLeaf);
  unit.container.state = ContainerState::kRunning;
  unit.container.resources.cpus = "0-255";
  (void)later.handle(Synchronize{.pods = {unit.pod}, .containers = {unit.container}, .files = {}});
  const auto audit = later.engine.audit("");
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->quota, none);
}

// As only a hostile container states them, more than its pod has.
TEST(Quota, OfHugeNumbersThePodsStaysSane) {
  Resources huge;
  huge.shares = 262'144;
  huge.quota = std::int64_t{1} << 44;
  huge.period = 1;
  for (const bool whole : {true, false}) {
    SCOPED_TRACE(whole ? "the pod states its CPUs" : "it does not");
    Driver node(xeon_snc2(), FenceKind::kLeaf);
    Unit unit = rank("p", 2);
    if (!whole) unit.pod.resources = {};
    const Unit beside{unit.pod, make_container(unit.pod, "beside", huge)};
    node.run(unit);
    EXPECT_TRUE(node.update(unit, huge).reply.refusal);
    EXPECT_EQ(node.handle(all_running({unit, beside})).fatal, "");
    const auto limit = [&]() -> std::int64_t {
      const auto audit = node.engine.audit(beside.id());
      return audit && audit->quota && audit->quota->pod.stated ? audit->quota->pod.stated->limit
                                                               : -1;
    };
    EXPECT_EQ(limit(), whole ? 200'000 : std::int64_t{1} << 40);
    EXPECT_EQ(node.update(beside, cpu(500)).fatal, "");
    EXPECT_EQ(limit(), 250'000);
    EXPECT_TRUE(node.update(beside, huge).reply.refusal);
    EXPECT_EQ(limit(), 250'000);
  }
}

TEST(Quota, ItComesBackWhenTheContainerGivesUpItsCores) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  const Unit unit = rank("r", 2);
  node.run(unit);
  Enforced seen = looked_at(unit);
  seen.pod_quota_before = CpuQuota{222'000};
  EXPECT_TRUE(node.report(seen).notes.empty());

  const auto part = node.update(unit, cpu(1500));
  EXPECT_EQ(part.reply.own_quota, 150'000);
  const auto restored = target(part, unit);
  ASSERT_TRUE(restored);
  EXPECT_EQ(*restored,
            (QuotaTarget{.own = CpuQuota{150'000},
                         .pod = {.exclusive = 0, .stated = CpuQuota{222'000}, .seen = true}}));
  node.obey(part);  // done: from now on its quota is the runtime's
  EXPECT_EQ(node.update(unit, cpu(1200)).reply.own_quota, std::nullopt);
  EXPECT_EQ(node.update(unit, cpu(2000)).reply.own_quota, CpuQuota::kNone);
}

TEST(Quota, ItComesBackWhenTheCoresGoOffline) {
  Settings settings;
  settings.reserved = cpus("0");
  Driver node(test_support::two_core_vm(), FenceKind::kLeaf, settings);
  const Unit unit = rank("r", 1);
  node.run(unit);
  const auto smaller = test_support::machine({.cores_per_l3 = 1});
  const auto effects = node.handle(MachineChanged{smaller});
  const auto restored = target(effects, unit);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->own, CpuQuota{100'000});
  EXPECT_EQ(restored->pod, (PodQuota{.exclusive = 0, .stated = CpuQuota{100'000}}));
}

TEST(Quota, ARestartedAgentKnowsThatItWasTakenAway) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  Unit unit = rank("r", 2);
  unit.container.state = ContainerState::kRunning;
  unit.container.resources.quota = -1;
  unit.container.resources.cpus = "0,48";
  std::ignore =
      node.handle(Synchronize{.pods = {unit.pod}, .containers = {unit.container}, .files = {}});
  ASSERT_EQ(node.own(unit), cpus("0,48"));
  const auto audit = node.engine.audit("");
  ASSERT_TRUE(audit && audit->quota);
  EXPECT_EQ(audit->quota->own, CpuQuota());
  EXPECT_EQ(node.update(unit, cpu(1500)).reply.own_quota, 150'000);
}

// Another container of its pod waits to be started again.
TEST(Quota, ARestartedAgentTakesThePodsFromThePod) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  Unit unit = rank("r", 2);
  unit.pod.resources = cpu(3000);
  unit.container.state = ContainerState::kRunning;
  unit.container.resources.quota = -1;
  unit.container.resources.cpus = "0,48";
  std::ignore =
      node.handle(Synchronize{.pods = {unit.pod}, .containers = {unit.container}, .files = {}});
  const auto part = target(node.update(unit, cpu(1500)), unit);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->pod, (PodQuota{.exclusive = 0, .stated = CpuQuota{250'000}}));
}

TEST(Quota, ASharedContainerBesideBringsThePodsBack) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  Unit first = rank("r", 2);
  first.pod.resources = cpu(2000);
  first.pod.annotations["pinion.dev/cpus.second"] = "shared";
  const auto alone = target(node.start(first), first);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->pod.exclusive, 2);
  const Unit second{first.pod, test_support::make_container(first.pod, "second", cpu(2000))};
  const auto beside = target(node.create(second), first);
  ASSERT_TRUE(beside) << "at once";
  EXPECT_EQ(beside->pod, (PodQuota{.exclusive = 0, .stated = CpuQuota{200'000}}));
}

TEST(Quota, AFailureIsSaidOnce) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  const Unit unit = rank("r", 2);
  node.run(unit);
  Enforced failed = looked_at(unit);
  failed.quota_error = "write cpu.max: EACCES";
  ASSERT_EQ(node.report(failed).notes.size(), 1U);
  EXPECT_TRUE(node.report(failed).notes.empty());
  EXPECT_EQ(node.engine.counters().write_failures, 2U);
}

// What is found by the next look at its files.
Enforced found(const Unit& unit, const CpuQuota& quota, Cause cause = Cause::kAudit) {
  Enforced seen = looked_at(unit);
  seen.cause = cause;
  seen.quota_found = quota;
  return seen;
}

TEST(Quota, AForeignQuotaIsTakenAwayAgainAndCounted) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  const Unit unit = rank("r", 2);
  node.run(unit);
  const CpuQuota foreign{50'000};
  EXPECT_TRUE(node.report(found(unit, {})).notes.empty());
  for (const std::uint64_t times : {1U, 2U}) {
    const auto notes = node.report(found(unit, foreign)).notes;
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].level, Note::Level::kWarn);
    EXPECT_EQ(notes[0].text, "CPU quota was changed by somebody else");
    using Field = std::pair<std::string, std::string>;
    EXPECT_THAT(notes[0].fields,
                testing::IsSupersetOf({Field("at", "audit"), Field("found", "50000 100000"),
                                       Field("wanted", "max 100000")}));
    EXPECT_EQ(node.engine.counters().drift, times);
    EXPECT_EQ(node.engine.counters().repairs, times);
  }
  Driver later(xeon_snc2(), FenceKind::kLeaf);
  later.handle(all_running({unit}));
  EXPECT_TRUE(later.report(found(unit, foreign)).notes.empty())
      << "whose it is, nobody knows who has not seen it before";
}

// The pod's own was taken away.
Enforced taken(const Unit& unit, const CpuQuota& quota) {
  Enforced seen = looked_at(unit);
  seen.pod_quota_before = quota;
  return seen;
}

TEST(Quota, AForeignQuotaOfThePodIsCountedAndDoesNotComeBack) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  const Unit unit = rank("r", 2);
  node.run(unit);
  const CpuQuota own{200'000};
  const CpuQuota foreign{50'000};
  const auto notes_of = [&](const CpuQuota& quota) {
    return node.report(taken(unit, quota)).notes;
  };
  EXPECT_TRUE(notes_of(own).empty());
  EXPECT_TRUE(notes_of(own).empty()) << "systemd writes it again";
  for (const std::uint64_t times : {1U, 2U}) {
    const auto notes = notes_of(foreign);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].text, "CPU quota of its pod was changed by somebody else");
    using Field = std::pair<std::string, std::string>;
    EXPECT_THAT(notes[0].fields,
                testing::IsSupersetOf({Field("at", "audit"), Field("found", "50000 100000"),
                                       Field("wanted", "max 100000")}));
    EXPECT_EQ(node.engine.counters().drift, times);
    EXPECT_EQ(node.engine.counters().repairs, times);
  }
  const auto stated = [&] { return node.engine.audit("")->quota->pod; };
  EXPECT_EQ(stated(), (PodQuota{.exclusive = 2, .stated = own, .seen = true, .trusted = true}));

  node.update(unit, cpu(2000, 1 << 20));
  EXPECT_EQ(notes_of(foreign).size(), 1U) << "a resize of its memory alone";
  node.update(unit, cpu(4000));
  EXPECT_FALSE(stated().trusted);
  EXPECT_TRUE(notes_of({400'000}).empty()) << "the kubelet has resized the pod";
  EXPECT_EQ(notes_of(foreign).size(), 1U);
  Unit listed = unit;
  listed.container.resources = cpu(4000);
  node.handle(all_running({listed}));
  EXPECT_TRUE(notes_of({300'000}).empty()) << "what was done meanwhile, nobody knows";
  EXPECT_EQ(stated().stated, CpuQuota{300'000});
}

TEST(Quota, WhatTheRuntimeWritesIsNobodyElses) {
  Driver node(xeon_snc2(), FenceKind::kLeaf);
  const Unit unit = rank("r", 2);
  node.run(unit);
  const CpuQuota other{50'000};
  for (const Cause cause : {Cause::kStart, Cause::kPostStart, Cause::kPostUpdate}) {
    EXPECT_TRUE(node.report(found(unit, other, cause)).notes.empty());
  }
  node.update(unit, cpu(4000));
  EXPECT_TRUE(node.report(found(unit, other)).notes.empty()) << "it resizes the container now";
  // Of so many CPUs its record has the quota.
  Driver large(test_support::machine({.packages = 2, .cores_per_l3 = 160}), FenceKind::kLeaf);
  const Unit many = rank("many", 256);
  large.run(many);
  EXPECT_TRUE(large.report(found(many, {25'600'000})).notes.empty());
  EXPECT_EQ(large.report(found(many, other)).notes.size(), 1U);
  EXPECT_EQ(node.engine.counters().drift, 0U);
}

}  // namespace
}  // namespace pinion::engine
