// Jobs that would not fit even with nothing running.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cluster_core/scheduler_play.h"

namespace pinion::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct NeverRow {
  const char* name;
  std::vector<int> cpus;  // of the members, on two nodes of one NUMA node with 7 CPUs each
  bool apart;
  int nodes;
  const char* why;  // empty: it starts
};

class NeverTest : public SchedulerTest, public testing::WithParamInterface<NeverRow> {};

// Whose members all fit, but not together. Somebody else has all CPUs meanwhile.
TEST_P(NeverTest, IsToldAtOnceAndHoldsNobodyUp) {
  const NeverRow& row = GetParam();
  for (const char* id : {"x", "y"}) job(id, {.cpus = 7});
  run();
  for (const char* id : {"x", "y"}) start(id);
  const auto size = static_cast<int>(row.cpus.size());
  submit("j", {.size = size, .priority = 9, .nodes = row.nodes});
  for (int i = 0; i < size; ++i) {
    const MemberId member = "j-" + std::to_string(i);
    const int cpus = row.cpus[static_cast<std::size_t>(i)];
    core_.join("j", member, {request_of(member + "/main", cpus)}, now_, {.apart = row.apart});
  }
  const bool never = *row.why != 0;
  if (never) {
    EXPECT_THAT(run(), ElementsAre("j never"));
    EXPECT_EQ(why("j"), row.why);
    EXPECT_FALSE(core_.head_room());
    EXPECT_TRUE(core_.place("j", nullptr, now_).never) << "also when it is asked about again";
    EXPECT_FALSE(core_.would_place("j", now_));
  } else {
    EXPECT_THAT(run(), IsEmpty());
  }
  EXPECT_EQ(core_.queue().contains("j"), !never);
  for (const char* id : {"x", "y"}) end(id);
  job("next", {.cpus = 7});
  EXPECT_THAT(run().front(), never ? "next 1" : "j " + std::to_string(size));
  if (!never) return;
  for (const char* node : {"c", "d", "e"}) {
    ASSERT_TRUE(core_.report(
        report_of(node, machine_of({.cores_per_l3 = 16, .memory_per_node = 64 * kGiB})), now_));
  }
  EXPECT_THAT(run(), ElementsAre("j " + std::to_string(size))) << "on larger nodes";
}

INSTANTIATE_TEST_SUITE_P(
    Table, NeverTest,
    testing::Values(
        NeverRow{"fits", {7, 7}, false, 0, ""}, NeverRow{"fits_unlike", {4, 3, 7}, false, 0, ""},
        NeverRow{"too_many",
                 {7, 7, 7},
                 false,
                 0,
                 "needs 3 x 7 CPUs in one NUMA node; even with nothing running there is room for "
                 "2"},
        NeverRow{"too_many_in_pieces",
                 {4, 4, 4},
                 false,
                 0,
                 "needs 3 x 4 CPUs in one NUMA node; even with nothing running there is room for "
                 "2"},
        NeverRow{"unlike_that_do_not_go_together",
                 {6, 5, 2},
                 false,
                 1,
                 "needs 1 x 6 CPUs in one NUMA node, on at most 1 node; even with nothing running "
                 "there is room for these, but not for all workers of the job"},
        NeverRow{"fits_on_one_node", {4, 3}, false, 1, ""},
        NeverRow{"node_limit",
                 {4, 4},
                 false,
                 1,
                 "needs 2 x 4 CPUs in one NUMA node, on at most 1 node; even with nothing running "
                 "there is room for 1"},
        NeverRow{"apart",
                 {1, 1, 1},
                 true,
                 0,
                 "needs 3 x 1 CPU in one NUMA node, each on another node; even with nothing "
                 "running there is room for 2"}),
    [](const auto& row) { return std::string(row.param.name); });

// It would have fitted when it was first looked at.
TEST_F(SchedulerTest, WhatNeverFitsOnAFleetThatHasShrunkIsToldThen) {
  for (const bool cordoned : {true, false}) {
    SCOPED_TRACE(cordoned);
    for (const char* id : {"x", "y"}) job(id, {.cpus = 7});
    run();
    for (const char* id : {"x", "y"}) start(id);
    job("j", {.size = 2, .cpus = 7});
    EXPECT_THAT(run(), IsEmpty());
    if (cordoned) {
      core_.terms("b", {.open = false}, now_);
    } else {
      core_.lost("b", now_);
    }
    EXPECT_THAT(run(), ElementsAre("j never"));
    for (const char* id : {"x", "y", "j"}) end(id);
    core_.terms("b", {}, now_);
  }
}

TEST(SchedulerWithoutBackfillTest, WhoNeverFitsAnyMoreHoldsNobodyUp) {
  const MachinePtr machine = machine_of({.cores_per_l3 = 8, .memory_per_node = 64 * kGiB});
  Scheduler core({.backfill = false});
  for (const char* node : {"a", "b"}) ASSERT_TRUE(core.report(report_of(node, machine), 1));
  const auto job = [&](const std::string& id, int size) {
    JobSpec spec;
    spec.size = size;
    core.submit(id, spec, 1);
    for (int i = 0; i < size; ++i) {
      const MemberId member = id + "-" + std::to_string(i);
      ASSERT_TRUE(core.join(id, member, {request_of(member + "/main", 7)}, 1));
    }
  };
  job("x", 1);
  core.run(2);
  job("j", 2);
  core.run(1002);
  core.lost(core.book().member("x-0")->node == "a" ? "b" : "a", 1003);
  job("next", 1);
  core.run(2003);
  core.end("x", 2004);
  core.run(3005);
  EXPECT_EQ(core.book().member("next-0")->state, Member::State::kReserved);
}

// Its node is closed to others since it has begun; it stays.
TEST_F(SchedulerTest, AGangOfWhichSomeHaveBegunIsNotSaidToNeverFit) {
  job("j", {.size = 2, .cpus = 5});
  run();
  core_.start("j-0", now_);
  core_.started("j-0", true, now_);
  core_.leave("j-1", now_);
  core_.take_news();
  core_.terms(node_of("j-0"), {.open = false}, now_);
  job("x", {.cpus = 7, .priority = 9});
  EXPECT_THAT(run(), testing::Contains("x 1"));
  start("x");
  join("j", 2, 5);
  EXPECT_THAT(run(), IsEmpty());
  end("x");
  EXPECT_THAT(run(), testing::Contains("j 1"));
}

// The first one goes to the larger node, and nothing is taken back: that is the job's own policy.
TEST_F(SchedulerTest, WhatNeverFitsIsSaidOfTheJobsOwnPolicy) {
  core_.lost("b", now_);
  ASSERT_TRUE(core_.report(
      report_of("c", machine_of({.cores_per_l3 = 7, .memory_per_node = 64 * kGiB})), now_));
  for (const auto placement : {PlacementPolicy::kHoles, PlacementPolicy::kFirstFit}) {
    const JobId id(to_string(placement));
    JobSpec spec;
    spec.size = 2;
    spec.placement = placement;
    core_.submit(id, spec, now_);
    join(id, 0, 6);
    join(id, 1, 7);
  }
  EXPECT_THAT(run(), ElementsAre("holes 2", "first-fit never"));
}

// That no plan was found for as many is no proof that there is none.
TEST_F(SchedulerTest, OfManyMembersNotHavingFoundAPlanIsNotSaidToBeNever) {
  submit("j", {.size = 9});
  for (int i = 0; i < 9; ++i) join("j", i, i < 2 ? 4 : 1);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(why("j"), HasSubstr("but not for all workers of this job together"));
}

// Whoever starts them has looked at the nodes himself, and asks about none.
TEST_F(SchedulerTest, WhoIsRefusedElsewhereIsToldWhereNoIdleNodeWouldDo) {
  job("x", {.cpus = 7});
  run();
  start("x");
  job("large", {.cpus = 8});
  job("waits", {.size = 2, .cpus = 7});
  submit("lacks one", {.size = 2});
  join("lacks one", 0, 8);
  const auto refuse = [&](const MemberId& member) {
    core_.refused_elsewhere(member);
    return news();
  };
  EXPECT_THAT(refuse("waits-0"), IsEmpty()) << "when x has ended they fit";
  EXPECT_THAT(refuse("lacks one-0"), IsEmpty());
  EXPECT_THAT(refuse("x-0"), IsEmpty());
  EXPECT_THAT(refuse("large-0"), ElementsAre("large never"));
  EXPECT_EQ(why("large"),
            "needs 1 x 8 CPUs in one NUMA node; no node could give that even with nothing running, "
            "largest 7");
  EXPECT_FALSE(core_.queue().contains("large"));
  EXPECT_THAT(refuse("large-0"), IsEmpty()) << "it is told";
  add_node("c");
  EXPECT_TRUE(core_.queue().contains("large"));
  core_.exists("d", true, now_);
  for (const char* node : {"a", "b", "c"}) core_.heard(node, now_ + 50'000);
  core_.tick(now_ + 50'000);
  ASSERT_FALSE(core_.fleet().awaits());
  (void)news();  // of what was reserved for so long
  EXPECT_THAT(refuse("large-0"), IsEmpty()) << "nobody knows how large d is";
}

TEST_F(SchedulerTest, WhatNeverFitsIsNotSaidWhileAnAgentIsAwaited) {
  core_.exists("c", true, now_);
  job("j", {.size = 3, .cpus = 7});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(why("j"), HasSubstr("no agent speaks for 1 node; "));
  core_.tick(now_ + 10'000);
  EXPECT_THAT(run(), IsEmpty());
  for (const char* node : {"a", "b"}) core_.heard(node, now_ + 60'000);
  core_.tick(now_ + 60'000);
  EXPECT_THAT(run(), ElementsAre("j never")) << "of that one nothing is heard any more";
  core_.exists("d", true, now_);
  add_node("c");
  EXPECT_THAT(run(), ElementsAre("j 3"));
}

}  // namespace
}  // namespace pinion::cluster
