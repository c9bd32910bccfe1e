// What the engine makes of the files it is shown: late, drift, own change, gone, failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/engine/engine.h"
#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::cpus;
using test_support::Driver;
using test_support::laptop;
using test_support::mems;
using test_support::rank;
using test_support::shared;
using test_support::Unit;
using EventKind = ContainerEvent::Kind;

Enforced found(const Enforce& wanted, const std::string& list, bool written = true) {
  Enforced result;
  result.id = wanted.id;
  result.cause = wanted.cause;
  result.found = Applied{.cpus = cpus(list), .mems = wanted.cpuset.mems};
  result.written = written;
  return result;
}

// One rank on a laptop, created and at START; gives what is to be enforced for itself.
Enforce at_start(Driver& node, const Unit& unit) {
  node.create(unit);
  return node.tell(unit, EventKind::kStart).now.back();
}

TEST(Report, AFileAsToldIsNoNews) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Enforce wanted = at_start(node, rank("r", 2));
  EXPECT_TRUE(node.report(found(wanted, wanted.cpuset.cpus.to_string(), false)).notes.empty());
  EXPECT_EQ(node.engine.counters().late + node.engine.counters().drift, 0U);
  EXPECT_FALSE(node.engine.idle());
}

TEST(Report, AWrongFileAtStartIsLateAndRepaired) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Enforce wanted = at_start(node, rank("r", 2));
  EXPECT_EQ(node.report(found(wanted, "0-7")).notes.size(), 1U);
  EXPECT_EQ(node.engine.counters().late, 1U);
  EXPECT_EQ(node.engine.counters().drift, 0U);
  EXPECT_EQ(node.engine.counters().repairs, 1U);
  EXPECT_FALSE(node.engine.idle());
}

TEST(Report, AFileChangedLaterIsDriftAndRepaired) {
  Driver node(laptop(), FenceKind::kLeaf);
  node.run(rank("r", 2));
  const auto wanted = node.engine.audit("");
  ASSERT_TRUE(wanted);
  const auto notes = node.report(found(*wanted, "0-7")).notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].level, Note::Level::kWarn);
  EXPECT_EQ(node.engine.counters().drift, 1U);
  EXPECT_EQ(node.engine.counters().repairs, 1U);
}

TEST(Report, AnEmptyFileOfASharedContainerIsNobodysChange) {
  Driver node(laptop(), FenceKind::kLeaf);
  node.run(shared("s"));
  const auto wanted = node.engine.audit("");
  ASSERT_TRUE(wanted);
  Enforced inherits = found(*wanted, "3");
  inherits.inherits = true;
  EXPECT_TRUE(node.report(inherits).notes.empty());
  EXPECT_EQ(node.engine.counters().drift, 0U);
}

TEST(Report, AnEmptiedFileOfARankIsDrift) {
  Driver node(laptop(), FenceKind::kLeaf);
  node.run(rank("r", 2));
  Enforced inherits = found(*node.engine.audit(""), "0-7");
  inherits.inherits = true;
  EXPECT_EQ(node.report(inherits).notes.size(), 1U);
  EXPECT_EQ(node.engine.counters().drift, 1U);
}

TEST(Report, WhatTheRuntimeWritesAtAResizeIsLateAndNotDrift) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit unit = rank("r", 2);
  node.run(unit);
  const Enforce wanted = node.tell(unit, EventKind::kPostUpdate).now.back();
  const auto notes = node.report(found(wanted, "0-7")).notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].level, Note::Level::kInfo);
  EXPECT_EQ(node.engine.counters().drift, 0U);
  EXPECT_EQ(node.engine.counters().late, 1U);
  EXPECT_EQ(node.engine.counters().repairs, 1U);
}

TEST(Report, DriftThatCannotBeWrittenIsCountedOnceAndMendedLater) {
  Driver node(laptop(), FenceKind::kRuntime);
  node.run(rank("r", 2));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(node.report(found(*node.engine.audit(""), "0-7", false)).notes.size(),
              round == 0 ? 1U : 0U);
  }
  EXPECT_EQ(node.engine.counters().drift, 1U);
  EXPECT_EQ(node.engine.counters().repairs, 0U);
  EXPECT_TRUE(node.engine.wants_resync());
}

TEST(Report, TheFencesOwnChangeIsNotDrift) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit noise = shared("s");
  node.run(noise);
  const Unit r = rank("r", 2);
  node.create(r);
  const auto piece = node.engine.idle();
  ASSERT_TRUE(piece);
  EXPECT_TRUE(node.report(found(*piece, "0-7")).notes.empty());
  EXPECT_EQ(node.engine.counters().drift + node.engine.counters().late, 0U);
  EXPECT_EQ(node.engine.counters().repairs, 0U);
}

TEST(Report, SomebodyElsesChangeSeenByTheFenceIsDrift) {
  Driver node(laptop(), FenceKind::kLeaf);
  node.run(shared("s"));
  node.create(rank("r", 2));
  const auto piece = node.engine.idle();
  ASSERT_TRUE(piece);
  EXPECT_EQ(node.report(found(*piece, "3")).notes.size(), 1U);
  EXPECT_EQ(node.engine.counters().drift, 1U);
}

TEST(Report, GoneTwiceInAuditsIsALostStop) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit r = rank("r", 2);
  node.run(r);
  Enforced gone;
  gone.id = r.id();
  gone.gone = true;
  gone.cause = Cause::kFence;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(node.report(gone).notes.empty());
  EXPECT_EQ(node.taken().count(), 2) << "only audits count";
  gone.cause = Cause::kAudit;
  EXPECT_TRUE(node.report(gone).notes.empty());
  (void)node.report(found(*node.engine.audit(""), node.own(r).to_string(), false)).notes;
  EXPECT_TRUE(node.report(gone).notes.empty()) << "it was there in between";
  EXPECT_EQ(node.report(gone).notes.size(), 1U);
  EXPECT_EQ(node.engine.counters().lost_stops, 1U);
  EXPECT_TRUE(node.taken().empty());
}

TEST(Report, TheCoresOfOneThatIsGoneGoToWhoWaitsForThem) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit ended = rank("ended", 6);
  node.run(ended);
  const Unit late = rank("late", 4);
  (void)node.handle(test_support::all_running({ended, late}));
  ASSERT_EQ(node.engine.state().find(late.id())->role, Role::kWaiting);
  Enforced gone;
  gone.id = ended.id();
  gone.gone = true;
  (void)node.report(gone);
  const auto after = node.report(gone);
  EXPECT_EQ(node.engine.state().find(late.id())->role, Role::kExclusive);
  EXPECT_EQ(node.taken().count(), 4);
  ASSERT_EQ(after.notes.size(), 2U);
  EXPECT_EQ(after.notes.back().text, "got cores that it was waiting for");
  ASSERT_FALSE(after.now.empty());
  EXPECT_EQ(after.now.back().id, late.id());
}

TEST(Report, AFailedWriteIsSaidOnceAndDoesNotSpin) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit noise = shared("s");
  node.run(noise);
  node.create(rank("r", 2));
  const auto piece = node.engine.idle();
  ASSERT_TRUE(piece);
  Enforced failed = found(*piece, "0-7", false);
  failed.error = "write: Device or resource busy";
  EXPECT_EQ(node.report(failed).notes.size(), 1U);
  EXPECT_FALSE(node.engine.idle()) << "left alone until the next audit";
  EXPECT_EQ(node.engine.counters().write_failures, 1U);
  const auto again = node.engine.audit("");
  ASSERT_TRUE(again);
  failed.cause = Cause::kAudit;
  EXPECT_TRUE(node.report(failed).notes.empty()) << "the same trouble is not news";
  EXPECT_FALSE(node.engine.idle());
  (void)node.report(found(*node.engine.audit(""), "0-7")).notes;
  EXPECT_EQ(node.engine.state().find(noise.id())->trouble, "");
}

TEST(Report, GroupsInsideThatRemainAreGoneOnWithInQuietMomentsInTurns) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit many = shared("many");
  const Unit some = shared("some");
  for (const Unit& unit : {many, some}) node.run(unit);
  const auto remain = [&](const Enforce& wanted) {
    EXPECT_FALSE(wanted.put_off);
    Enforced result = found(wanted, "0-7", false);
    result.unfinished = true;
    return node.report(result).notes;
  };
  const Unit first = rank("r", 2);
  node.create(first);
  for (const Enforce& wanted : node.tell(first, EventKind::kStart).now) {
    if (wanted.id == first.id()) {
      node.obey(wanted);
    } else {
      EXPECT_TRUE(remain(wanted).empty());
    }
  }
  const engine::Member& member = *node.engine.state().find(many.id());
  EXPECT_NE(member.trouble, "");
  EXPECT_EQ(member.applied->cpus, cpus("0-7")) << "some may be there still";
  EXPECT_FALSE(node.engine.idle()) << "they are for later";

  const auto next = [&] { return node.engine.put_off().value_or(Enforce()); };
  Enforce piece = next();
  EXPECT_EQ(piece.id, many.id());
  EXPECT_EQ(piece.halfway, (std::vector{cpus("0-7"), piece.cpuset.cpus}));
  ASSERT_EQ(remain(piece).size(), 1U) << "it is said that they are many";
  piece = next();
  EXPECT_EQ(piece.id, some.id()) << "each has its turn";
  (void)node.report(found(piece, "0-7"));
  piece = next();
  EXPECT_EQ(piece.id, many.id());
  EXPECT_TRUE(remain(piece).empty()) << "said once";
  (void)node.report(found(next(), "0-7"));
  EXPECT_EQ(member.trouble, "");
  EXPECT_EQ(member.applied->cpus, node.engine.pool());
  EXPECT_FALSE(node.engine.put_off());

  const Unit second = rank("q", 2);
  node.create(second);
  const auto start = node.tell(second, EventKind::kStart);
  ASSERT_EQ(start.now.size(), 3U);
  EXPECT_TRUE(start.now[0].put_off) << "no start waits for them any more";
  EXPECT_FALSE(start.now[1].put_off);
}

TEST(Report, AFileThatCannotBeReadDoesNotSpin) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit noise = shared("s");
  node.create(noise);
  const auto effects = node.tell(noise, EventKind::kStart);
  Enforced failed;
  failed.id = noise.id();
  failed.cause = Cause::kStart;
  failed.error = "open: Permission denied";
  EXPECT_EQ(node.report(failed).notes.size(), 1U);
  EXPECT_FALSE(node.engine.idle());
}

TEST(Report, MemsAreComparedWhereTheyAreOurs) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit r = test_support::bound_rank("r", 2, 1 << 20);
  const Enforce wanted = at_start(node, r);
  ASSERT_FALSE(wanted.cpuset.mems.empty());
  Enforced result = found(wanted, wanted.cpuset.cpus.to_string());
  result.found->mems = mems("0-1");
  (void)node.report(result).notes;
  EXPECT_EQ(node.engine.counters().late, 1U);
  EXPECT_FALSE(node.engine.idle());
}

}  // namespace
}  // namespace pinion::engine
