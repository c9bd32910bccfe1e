// Who lends cores to whom, and in which order files follow.
#include "agent/engine/loans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/machine.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::engine {
namespace {

using test_support::borrower;
using test_support::cpu;
using test_support::cpus;
using test_support::Driver;
using test_support::laptop;
using test_support::lender;
using test_support::make_pod;
using test_support::rank;
using test_support::shared;
using test_support::Unit;
using testing::ElementsAre;

const Member& member(const Driver& node, const Unit& unit) {
  return *node.engine.state().find(unit.id());
}

CpuSet wanted(const Driver& node, const Unit& unit) {
  return node.engine.target_of(member(node, unit)).cpus;
}

NoLoan why(const Driver& node, const Unit& unit) {
  return loan_of(node.engine.state(), member(node, unit)).why;
}

std::vector<std::string> work_ids(const std::vector<Enforce>& work) {
  std::vector<std::string> ids;
  for (const Enforce& piece : work) ids.push_back(piece.id);
  return ids;
}

class LoansUnder : public testing::TestWithParam<FenceKind> {};

TEST_P(LoansUnder, TheBorrowerHasTheCoresAndNobodyElse) {
  Driver node(laptop(), GetParam());
  const Unit host = borrower("vc-1");
  const Unit other = shared("other");
  node.run(other);
  node.run(host);
  const CpuSet before = wanted(node, host);
  const Unit place = lender("p", 2);
  const CpuSet cores = node.run(place);
  ASSERT_EQ(cores.count(), 2);
  EXPECT_EQ(wanted(node, host) & cores, cores);
  EXPECT_FALSE(wanted(node, place).intersects(cores));
  EXPECT_FALSE(node.engine.pool().intersects(cores));
  EXPECT_EQ(node.own(place), cores) << "they stay claimed";
  EXPECT_TRUE(node.engine.target_of(member(node, host)).mems.empty()) << "all memory, as before";

  node.obey(node.stop(place));
  node.obey(node.end(place));
  node.drain();
  EXPECT_EQ(wanted(node, host), before);
}

TEST_P(LoansUnder, TheLenderHasThemBackWhenTheBorrowerDies) {
  Driver node(laptop(), GetParam());
  const Unit host = borrower("vc-1");
  node.run(host);
  const Unit place = lender("p", 2);
  const CpuSet cores = node.run(place);
  const auto died = node.stop(host);
  node.obey(died);
  EXPECT_THAT(work_ids(died.now), testing::Contains(place.id()));
  EXPECT_EQ(wanted(node, place), cores);
  EXPECT_EQ(why(node, place), NoLoan::kNoPod);
}

TEST_P(LoansUnder, ABorrowerThatComesLaterGetsThemWhenItStarts) {
  Driver node(laptop(), GetParam());
  const Unit place = lender("p", 2);
  const CpuSet cores = node.run(place);
  EXPECT_EQ(wanted(node, place), cores);
  const Unit host = borrower("vc-1");
  const CpuSet told = node.create(host).reply.own->cpus;
  EXPECT_FALSE(told.intersects(cores) && GetParam() != FenceKind::kPartition);
  EXPECT_EQ(why(node, place), NoLoan::kNotRunning);
  const auto started = node.tell(host, ContainerEvent::Kind::kStart);
  const auto order = work_ids(started.now);
  ASSERT_GE(order.size(), 2U);
  EXPECT_EQ(order.back(), host.id()) << "the lender leaves before it comes";
  EXPECT_EQ(order[order.size() - 2], place.id());
  EXPECT_EQ(started.now.back().cause, Cause::kStart);
  EXPECT_TRUE(cores.is_subset_of(started.now.back().cpuset.cpus));
  const bool guarded = GetParam() == FenceKind::kPartition;
  EXPECT_EQ(started.unguard.size(), guarded ? 1U : 0U) << "a partition would keep it off";

  engine::Enforced done;
  done.id = host.id();
  done.cause = Cause::kStart;
  done.found.emplace().cpus = told;
  done.written = true;
  EXPECT_THAT(node.engine.report(done), testing::IsEmpty()) << "it is as the runtime was told";
  EXPECT_EQ(node.engine.counters().late, 0U);
  EXPECT_EQ(node.engine.counters().repairs, 0U);
}

TEST_P(LoansUnder, SeveralLendToOne) {
  Driver node(laptop(), GetParam());
  const Unit host = borrower("vc-1");
  node.run(host);
  const CpuSet first = node.run(lender("p", 1));
  const Unit second = lender("q", 2, "vc-1/main");
  const CpuSet more = node.run(second);
  EXPECT_EQ(borrowed(node.engine.state(), member(node, host)), first | more);
  node.obey(node.stop(second));
  EXPECT_EQ(borrowed(node.engine.state(), member(node, host)), first);
}

INSTANTIATE_TEST_SUITE_P(Fences, LoansUnder,
                         testing::Values(FenceKind::kLeaf, FenceKind::kTree,
                                         FenceKind::kPartition));

TEST(Loans, WhyNot) {
  struct Case {
    const char* name;
    void (*change)(Unit& place, Unit& host);
    NoLoan why;
  };
  const Case cases[] = {
      {"agreed", [](Unit&, Unit&) {}, NoLoan::kNone},
      {"another pod",
       [](Unit& place, Unit&) { place.pod.annotations["pinion.dev/lend-to"] = "vd-*/main"; },
       NoLoan::kNoPod},
      {"a prefix said as a name",
       [](Unit& place, Unit&) { place.pod.annotations["pinion.dev/lend-to"] = "vc-/main"; },
       NoLoan::kNoPod},
      {"another namespace", [](Unit& place, Unit&) { place.pod.name_space = "other"; },
       NoLoan::kNoPod},
      {"another container",
       [](Unit& place, Unit&) { place.pod.annotations["pinion.dev/lend-to"] = "vc-1/side"; },
       NoLoan::kNoContainer},
      {"for that container of the pod alone",
       [](Unit& place, Unit&) { place.pod.annotations["pinion.dev/lend-to.main"] = "x/side"; },
       NoLoan::kNoPod},
      {"does not agree", [](Unit&, Unit& host) { host.pod.annotations.erase("pinion.dev/borrow"); },
       NoLoan::kDoesNotBorrow},
      {"agrees for another container",
       [](Unit&, Unit& host) { host.pod.annotations["pinion.dev/borrow.main"] = "false"; },
       NoLoan::kDoesNotBorrow},
      {"burstable",
       [](Unit&, Unit& host) {
         host.pod.cgroup_parent = make_pod("x", Qos::kBurstable).cgroup_parent;
       },
       NoLoan::kNotGuaranteed},
      {"has cores", [](Unit&, Unit& host) { host.container.resources = cpu(1000); },
       NoLoan::kNotShared},
      {"the lender has none",
       [](Unit& place, Unit&) { place.pod.annotations["pinion.dev/cpus"] = "shared"; },
       NoLoan::kNotExclusive},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Driver node(laptop(), FenceKind::kLeaf);
    Unit place = lender("p", 1);
    Unit host = borrower("vc-1");
    c.change(place, host);
    node.run(host);
    node.run(place);
    EXPECT_EQ(word_of(why(node, place), kNoLoanWords), word_of(c.why, kNoLoanWords));
    EXPECT_EQ(wanted(node, host).intersects(node.own(place)), c.why == NoLoan::kNone);
  }
}

TEST(Loans, ADoubledNameEndsIt) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit host = borrower("vc-1");
  const Unit place = lender("p", 1);
  node.run(host);
  const CpuSet cores = node.run(place);
  const Unit twin = borrower("vc-2");
  const auto created = node.create(twin);
  EXPECT_THAT(work_ids(created.now), ElementsAre(host.id(), place.id()))
      << "the borrower leaves first";
  EXPECT_EQ(why(node, place), NoLoan::kSeveral);
  EXPECT_EQ(wanted(node, place), cores);
  node.obey(node.end(twin));
  EXPECT_EQ(why(node, place), NoLoan::kNone);
}

TEST(Loans, NotUnderTheRuntimeFence) {
  Driver node(laptop(), FenceKind::kRuntime);
  node.run(borrower("vc-1"));
  const Unit place = lender("p", 1);
  const CpuSet cores = node.run(place);
  EXPECT_EQ(why(node, place), NoLoan::kFence);
  EXPECT_EQ(wanted(node, place), cores);
}

TEST(Loans, WhyNotIsSaidOnce) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit place = lender("p", 1);
  node.create(place);
  const auto said = [](const std::vector<Note>& notes) {
    return std::count_if(notes.begin(), notes.end(),
                         [](const Note& line) { return line.text == "does not lend its cores"; });
  };
  EXPECT_EQ(said(node.tell(place, ContainerEvent::Kind::kStart).notes), 1);
  EXPECT_EQ(said(node.tell(place, ContainerEvent::Kind::kPostStart).notes), 0);
}

TEST(Loans, ARestartedAgentFindsWhoseCoresTheyAre) {
  Driver node(laptop(), FenceKind::kLeaf);
  Unit host = borrower("vc-1");
  Unit one = lender("p", 1);
  Unit two = lender("q", 1);
  node.run(host);
  const CpuSet first = node.run(one);
  const CpuSet second = node.run(two);
  Synchronize all;
  for (Unit* unit : {&two, &host, &one}) {
    const Member& known = member(node, *unit);
    unit->container.resources.cpus = known.told->cpus.to_string();
    unit->container.state = ContainerState::kRunning;
    all.pods.push_back(unit->pod);
    all.containers.push_back(unit->container);
    all.files[unit->id()] = {.cpus = wanted(node, *unit), .mems = {}};
  }
  Driver again(laptop(), FenceKind::kLeaf);
  const auto effects = again.handle(all);
  EXPECT_EQ(again.own(one), first);
  EXPECT_EQ(again.own(two), second);
  EXPECT_EQ(wanted(again, host), wanted(node, host));
  for (const Enforce& piece : effects.now) {
    EXPECT_EQ(piece.cpuset.cpus, all.files[piece.id].cpus) << "nothing is to be written";
  }
  EXPECT_EQ(again.engine.counters().moved, 0U);
  EXPECT_EQ(again.engine.counters().drift, 0U);
}

// The runtime has done a resize of which nobody heard, so it was given up, and another rank runs on
// cores that the record says.
TEST(Loans, ARestartMovesNobodyForTheStaleRecordOfALender) {
  for (const bool saved : {true, false}) {
    SCOPED_TRACE(saved ? "saved" : "not saved");
    Driver node(laptop(), FenceKind::kLeaf);
    Unit host = borrower("vc-1");
    Unit place = lender("p", 1);
    Unit other = rank("r", 2);
    node.run(host);
    const CpuSet cores = node.run(place);
    const auto asked = node.ask(place, cpu(3000));
    ASSERT_TRUE(asked.reply.own);
    const CpuSet told = asked.reply.own->cpus;
    node.obey(node.handle(UpdateOverdue{place.id()}));
    const CpuSet its = node.run(other);
    ASSERT_TRUE(its.intersects(told));
    place.container.resources = cpu(3000);
    place.container.resources.cpus = told.to_string();
    Synchronize all = test_support::all_running({place, host, other});
    for (const Unit* unit : {&place, &host, &other}) {
      all.files[unit->id()] = {.cpus = wanted(node, *unit), .mems = {}};
    }
    Driver again(laptop(), FenceKind::kLeaf);
    if (saved) again.engine.restore(node.engine.kept());
    EXPECT_EQ(again.handle(all).fatal, "");
    EXPECT_EQ(again.own(other), its);
    EXPECT_EQ(again.own(place).count(), 3);
    EXPECT_EQ(borrowed(again.engine.state(), member(again, host)), again.own(place));
    if (!saved) continue;
    EXPECT_TRUE(cores.is_subset_of(again.own(place))) << "a job of the borrower's runs there";
    EXPECT_EQ(again.engine.counters().moved, 0U);
  }
}

// It lends to nobody, and runs where the pool was when a shared container was made.
TEST(Loans, ARestartMovesNoLenderForTheRecordOfOneThatHasNotStarted) {
  const Unit place = lender("p", 2);
  const Unit made = test_support::shared("s");
  Synchronize all = test_support::all_running({place, made});
  all.files[place.id()] = {.cpus = cpus("4-5"), .mems = {}};
  all.containers[1].state = ContainerState::kCreated;
  all.containers[1].resources.cpus = "4-5";
  Driver node(laptop(), FenceKind::kLeaf);
  EXPECT_EQ(node.handle(all).fatal, "");
  EXPECT_EQ(node.own(place), cpus("4-5"));
}

// Somebody has bound the borrower to the memory of another node than the lent cores'.
TEST(Loans, TheMemoryOfLentCoresIsTheBorrowersToo) {
  Driver node(test_support::xeon_snc2(), FenceKind::kLeaf);
  const Unit host = borrower("vc-1");
  node.run(host);
  const Unit place = lender("p", 2);
  const topology::NodeSet own = node.engine.state().topology.nodes_of(node.run(place));
  ASSERT_EQ(own.count(), 1);
  const auto bind = [&](const char* mems) {
    Enforced seen;
    seen.id = host.id();
    seen.found = Applied{.cpus = wanted(node, host), .mems = test_support::mems(mems)};
    (void)node.report(seen);
    return node.engine.target_of(member(node, host)).mems;
  };
  const auto other = own == test_support::mems("1") ? "2" : "1";
  EXPECT_EQ(bind(other), own | test_support::mems(other));
  EXPECT_TRUE(bind("0-3").empty()) << "left as it is";
  bind(other);
  node.drain();
  EXPECT_EQ(member(node, host).applied->mems, own | test_support::mems(other));
  node.obey(node.stop(place));
  EXPECT_TRUE(node.engine.target_of(member(node, host)).mems.empty()) << "no page is moved";
}

TEST(Loans, WhatIsLentIsSavedAsLongAsItIs) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit host = borrower("vc-1");
  const Unit place = lender("p", 2);
  const CpuSet cores = node.run(place);
  EXPECT_TRUE(node.engine.kept().empty()) << "its own file says where it is";
  const auto before = node.engine.state().kept_revision();
  node.run(host);
  EXPECT_NE(node.engine.state().kept_revision(), before);
  const auto kept = node.engine.kept();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.front().cpus, cores);
  EXPECT_EQ(kept.front().count, 2);
  const auto lent = node.engine.state().kept_revision();
  node.stop(host);
  EXPECT_NE(node.engine.state().kept_revision(), lent);
  EXPECT_TRUE(node.engine.kept().empty());
}

TEST(Loans, TheRecordOfALenderKeepsItsCoresInAResize) {
  Driver node(laptop(), FenceKind::kLeaf);
  node.run(borrower("vc-1"));
  const Unit place = lender("p", 1);
  const CpuSet cores = node.run(place);
  const auto resized = node.update(place, cpu(1000, std::int64_t{1} << 30));
  ASSERT_TRUE(resized.reply.own);
  EXPECT_EQ(resized.reply.own->cpus, cores);
  const auto after = node.tell(place, ContainerEvent::Kind::kPostUpdate);
  ASSERT_THAT(work_ids(after.now), ElementsAre(place.id()));
  EXPECT_FALSE(after.now.front().cpuset.cpus.intersects(cores));
}

TEST(Loans, ABorrowerIsNotThrottled) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit host = borrower("vc-1");
  node.run(host);
  const Unit place = lender("p", 1);
  node.create(place);
  EXPECT_EQ(why(node, place), NoLoan::kNotStarted);
  const auto quota = [&](const Driver::Answer& answer) -> std::optional<QuotaTarget> {
    for (const Enforce& piece : answer.now) {
      if (piece.id == host.id()) return piece.quota;
    }
    return std::nullopt;
  };
  const auto lent = node.tell(place, ContainerEvent::Kind::kStart);
  node.obey(lent);
  ASSERT_TRUE(quota(lent));
  EXPECT_EQ(quota(lent)->own, CpuQuota());
  EXPECT_TRUE(quota(lent)->pod.borrows);

  const auto back = node.stop(place);
  ASSERT_TRUE(quota(back));
  EXPECT_EQ(quota(back)->own, CpuQuota{50'000});
  EXPECT_EQ(quota(back)->pod, (PodQuota{.exclusive = 0, .stated = CpuQuota{50'000}}));
  node.obey(back);
  const auto audit = node.engine.audit("");
  ASSERT_TRUE(audit);
  EXPECT_FALSE(audit->quota) << "from now on its quota is the runtime's";
}

TEST(Loans, ARestartPutsBackAQuotaWhoseLoanEndedMeanwhile) {
  Driver node(laptop(), FenceKind::kLeaf);
  const Unit host = borrower("vc-1");
  node.handle(test_support::all_running({host}));
  const auto audit = node.engine.audit("");
  ASSERT_TRUE(audit && audit->quota);
  EXPECT_EQ(audit->quota->own, CpuQuota{50'000});
}

}  // namespace
}  // namespace pinion::engine
