// A job from its first member to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cluster_core/scheduler_play.h"

namespace pinion::cluster {
namespace {

using State = Member::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(SchedulerTest, AJobIsPlacedWhenAllOfItsMembersExistAndNotBefore) {
  submit("j", {.size = 3});
  join("j", 0, 3);
  join("j", 1, 3);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(core_.fleet().promises(), 0U) << "a lone member holds nothing";
  EXPECT_FALSE(core_.place("j", nullptr, now_).placed);
  EXPECT_EQ(why("j"), "2 of the 3 that start together exist");
  join("j", 2, 3);
  EXPECT_THAT(run(), ElementsAre("j 3"));
  EXPECT_EQ(core_.fleet().promises(), 3U);
}

TEST_F(SchedulerTest, NobodyJoinsAJobThatIsNotKnown) {
  EXPECT_FALSE(core_.join("j", "j-0", {}, now_));
  EXPECT_EQ(core_.book().member("j-0"), nullptr);
  job("j", {.size = 1, .cpus = 3});
  end("j");
  EXPECT_FALSE(core_.join("j", "j-1", {}, now_)) << "it has ended";
  EXPECT_EQ(core_.book().member("j-1"), nullptr);
}

TEST_F(SchedulerTest, JobsOfOneNameAreTwoJobs) {
  job("first", {.size = 2, .cpus = 3, .name = "wind"});
  job("second", {.size = 2, .cpus = 3, .name = "wind", .name_space = "other"});
  EXPECT_THAT(run(), ElementsAre("first 2", "second 2"));
  EXPECT_EQ(node_of("first-0"), node_of("first-1"));
  EXPECT_NE(node_of("first-0"), node_of("second-0")) << "each is whole in the tightest hole";
  end("first");
  job("again", {.size = 1, .cpus = 7, .name = "wind"});
  EXPECT_THAT(run(), ElementsAre("again 1"));
}

TEST_F(SchedulerTest, AMemberThatGoesBeforeTheStartTakesTheReservationWithIt) {
  job("j", {.size = 2, .cpus = 3});
  EXPECT_THAT(run(), ElementsAre("j 2"));
  EXPECT_TRUE(core_.leave("j-1", now_));
  EXPECT_THAT(news(), ElementsAre("j: a member of the job is gone"));
  EXPECT_EQ(core_.fleet().promises(), 0U);
  join("j", 7, 3);
  EXPECT_THAT(run(), ElementsAre("j 2"));
  start("j");
  EXPECT_TRUE(core_.leave("j-0", now_));
  EXPECT_EQ(core_.fleet().promises(), 1U) << "the others run on";
  join("j", 8, 7);
  EXPECT_THAT(run(), ElementsAre("j 1")) << "who comes later goes by itself";
}

TEST_F(SchedulerTest, TheSizeFollowsItsOwner) {
  job("j", {.size = 4, .cpus = 3});
  EXPECT_THAT(run(), ElementsAre("j 4"));
  submit("j", {.size = 2});
  EXPECT_THAT(run(), ElementsAre("j: the job has changed", "j 2"));
  start("j");
  EXPECT_TRUE(core_.book().find("j")->started);
  EXPECT_THAT(run(), ElementsAre("j 1", "j 1")) << "the others come as they may";
  submit("k", {.size = 20});
  for (int i = 0; i < 2; ++i) join("k", i, 1);
  EXPECT_THAT(run(), IsEmpty());
  submit("k", {.size = 2});
  EXPECT_THAT(run(), ElementsAre("k 2"));
}

TEST_F(SchedulerTest, AJobThatShrinksToThoseOnTheirWayHasStarted) {
  job("j", {.size = 3, .cpus = 3});
  EXPECT_THAT(run(), ElementsAre("j 3"));
  ASSERT_TRUE(core_.start("j-0", now_));
  ASSERT_TRUE(core_.start("j-1", now_));
  submit("j", {.size = 1});
  EXPECT_TRUE(core_.book().find("j")->started);
  core_.started("j-0", true, now_);
  core_.started("j-1", false, now_);
  EXPECT_EQ(core_.book().member("j-1")->state, State::kReserved) << "by itself now";
  EXPECT_THAT(run(), ElementsAre("j: the job has changed", "j started", "j 1"));
}

TEST_F(SchedulerTest, AReservationThatNobodyStartsEnds) {
  job("j", {.size = 2, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("j 2"));
  now_ += 4990;
  core_.tick(now_);
  EXPECT_THAT(news(), IsEmpty());
  now_ += 10;
  core_.tick(now_);
  EXPECT_THAT(news(), ElementsAre("j: nobody has started it"));
  EXPECT_EQ(core_.fleet().promises(), 0U);
}

// As where a start was given up that has landed.
TEST_F(SchedulerTest, AReservationEndsWithAContainerThatHasRunUntold) {
  job("j", {.size = 2, .cpus = 4});
  EXPECT_THAT(run(), ElementsAre("j 2"));
  NodeReport report = report_of(node_of("j-0"), machine_);
  report.claims = {claim_of("j-0/main", "1-4")};
  ASSERT_TRUE(core_.report(report, now_));
  EXPECT_THAT(news(), IsEmpty());
  report.claims.clear();
  ASSERT_TRUE(core_.report(report, now_));
  EXPECT_THAT(news(), ElementsAre("j: a container of the job has run before it was started"));
  EXPECT_THAT(run(), ElementsAre("j 2"));
}

TEST_F(SchedulerTest, AStartThatFailsMayBeTriedAgainAndOneThatLandedStays) {
  job("j", {.size = 2, .cpus = 3});
  run();
  ASSERT_TRUE(core_.start("j-0", now_));
  EXPECT_FALSE(core_.start("j-0", now_));
  core_.started("j-0", false, now_);
  EXPECT_EQ(core_.book().member("j-0")->state, State::kReserved);
  ASSERT_TRUE(core_.start("j-0", now_));
  ASSERT_TRUE(core_.start("j-1", now_));
  core_.started("j-1", true, now_);
  // The answer is lost, and the owner's system says that it runs.
  EXPECT_TRUE(core_.runs("j-0", node_of("j-0"), now_));
  EXPECT_EQ(core_.book().member("j-0")->state, State::kRunning);
  now_ += 20'000;
  core_.tick(now_);
  EXPECT_EQ(core_.fleet().promises(), 1U) << "of j-1 neither its owner nor an agent has told";
}

TEST_F(SchedulerTest, WhatRunsElsewhereThanPlannedIsAtHomeThere) {
  job("j", {.size = 1, .cpus = 3});
  run();
  const std::string other = node_of("j-0") == "a" ? "b" : "a";
  EXPECT_TRUE(core_.runs("j-0", other, now_));
  EXPECT_EQ(node_of("j-0"), other);
  EXPECT_EQ(core_.fleet().promises(), 1U);
  job("k", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("j: a member of the job was started elsewhere", "k 1"));
}

TEST_F(SchedulerTest, MembersOfOneJobGoIntoBalancedTaskGroups) {
  job("j", {.size = 4, .cpus = 3, .groups = 2});
  EXPECT_THAT(run(), ElementsAre("j 4"));
  std::map<std::string, std::set<std::string>> nodes;
  for (const auto& [name, member] : core_.book().find("j")->members) {
    nodes[member.requests.front().task_group].insert(member.node);
  }
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes["j-0"].size(), 1U);
  EXPECT_EQ(nodes["j-1"].size(), 1U);
  EXPECT_NE(nodes["j-0"], nodes["j-1"]);
}

TEST_F(SchedulerTest, SeveralContainersOfOneMemberGoTogether) {
  submit("j", {});
  ASSERT_TRUE(core_.join("j", "m", {request_of("m/x", 4), request_of("m/y", 3)}, now_));
  EXPECT_THAT(run(), ElementsAre("j 1"));
  EXPECT_EQ(core_.fleet().promises(), 2U);
  submit("k", {});
  ASSERT_TRUE(core_.join("k", "n", {request_of("n/x", 4), request_of("n/y", 4)}, now_));
  EXPECT_THAT(run(), ElementsAre("k never"));
  EXPECT_EQ(core_.fleet().promises(), 2U);
}

TEST_F(SchedulerTest, ANodeThatIsLostTakesTheReservationsOnItAlong) {
  job("j", {.size = 2, .cpus = 7});
  run();
  core_.lost("a", now_);
  EXPECT_THAT(news(), ElementsAre("j: a node of its plan is gone"));
  EXPECT_EQ(core_.fleet().promises(), 0U);
  add_node("a");
  EXPECT_THAT(run(), ElementsAre("j 2"));
}

TEST_F(SchedulerTest, PlacingAMemberWhereItsOwnSystemWantsIt) {
  job("j", {.size = 1, .cpus = 3});
  EXPECT_FALSE(core_.place_at("j-0", "unknown", now_).placed);
  EXPECT_TRUE(core_.place_at("j-0", "b", now_).placed);
  EXPECT_EQ(node_of("j-0"), "b");
  job("k", {.size = 1, .cpus = 5});
  EXPECT_EQ(core_.place_at("k-0", "b", now_).why, "needs 5 CPUs in one NUMA node, taken meanwhile");
  bool seen = false;
  core_.see_as("k-0", now_,
               [&] { seen = core_.fleet().fits(core_.fleet().find("a"), request_of("x", 5)); });
  EXPECT_TRUE(seen);
}

TEST_F(SchedulerTest, WhoMayHaveBeenStartedWaitsAgainWhenNobodyTellsOfIt) {
  job("j", {.size = 1, .cpus = 5});
  run();
  start("j");
  now_ += 9000;
  core_.tick(now_);
  EXPECT_EQ(core_.fleet().promises(), 0U);
  EXPECT_THAT(run(), ElementsAre("j: nobody has told of its start", "j 1"));
}

// What an adapter needs whose own system asks for members one by one.
TEST_F(SchedulerTest, AMemberIsPlacedWithAllThatStartTogether) {
  job("j", {.size = 2, .cpus = 3});
  join("j", 2, 3);
  const std::vector<NodeIndex> b{core_.fleet().find("b")};
  EXPECT_TRUE(core_.place_member("j-0", &b, now_).placed);
  EXPECT_EQ(node_of("j-1"), "b");
  const PlaceAnswer third = core_.place_member("j-2", &b, now_);
  EXPECT_EQ(third.why, "its job has all of the 2 that start together");
  EXPECT_TRUE(third.never) << "room would not help";
  start("j");
  EXPECT_FALSE(core_.place_member("j-2", &b, now_).placed) << "b has 1 CPU left";
  EXPECT_TRUE(core_.place_member("j-2", nullptr, now_).placed);
  EXPECT_EQ(node_of("j-2"), "a");
}

TEST_F(SchedulerTest, MembersThatCannotStartWhereTheyAreArePlacedAnewOrNobodyIs) {
  job("j", {.size = 2, .cpus = 3});
  run();
  const std::string first = node_of("j-0");
  const std::string other = first == "a" ? "b" : "a";
  const std::vector<NodeIndex> elsewhere{core_.fleet().find(other)};
  EXPECT_TRUE(core_.place_anew({"j-1"}, &elsewhere, "cordoned", now_).placed);
  EXPECT_EQ(node_of("j-0"), first) << "the other keeps its place";
  EXPECT_EQ(node_of("j-1"), other);
  EXPECT_THAT(news(), ElementsAre("j 1"));
  job("k", {.size = 1, .cpus = 4});
  const std::vector<NodeIndex> back{core_.fleet().find(first)};
  ASSERT_TRUE(core_.place("k", &back, now_).placed);
  news();
  EXPECT_FALSE(core_.place_anew({"j-1"}, &back, "cordoned", now_).placed);
  EXPECT_THAT(news(), ElementsAre("j: cordoned"));
  EXPECT_EQ(core_.fleet().promises(), 1U) << "of k";
}

TEST_F(SchedulerTest, MembersGoWhereTheyPreferIfAllHaveRoomThen) {
  job("j", {.size = 3, .cpus = 3});
  core_.prefer("j-2", "b");
  core_.prefer("j-0", "a");
  EXPECT_THAT(run(), ElementsAre("j 3"));
  EXPECT_EQ(node_of("j-0"), "a");
  EXPECT_EQ(node_of("j-2"), "b");
  end("j");
  // With 4 CPUs of each node gone, the large one has room only where the small one would be.
  job("k", {.size = 1, .cpus = 4});
  ASSERT_TRUE(core_.place_at("k-0", "a", now_).placed);
  submit("l", {.size = 2});
  join("l", 0, 2);
  join("l", 1, 7);
  core_.prefer("l-0", "b");
  EXPECT_THAT(run(), ElementsAre("l 2"));
  EXPECT_EQ(node_of("l-0"), "a") << "a wish that would leave others out is not granted";
}

TEST_F(SchedulerTest, WhetherAJobWouldBePlacedReservesNothing) {
  job("j", {.size = 2, .cpus = 7});
  EXPECT_TRUE(core_.would_place("j", now_));
  EXPECT_EQ(core_.fleet().promises(), 0U);
  run();
  EXPECT_TRUE(core_.would_place("j", now_)) << "it is";
  job("k", {.size = 1, .cpus = 1});
  EXPECT_FALSE(core_.would_place("k", now_));
  submit("l", {.size = 2});
  EXPECT_FALSE(core_.would_place("l", now_)) << "nobody of it exists";
}

TEST_F(SchedulerTest, AReservationFallsWithItsNodesAgent) {
  job("j", {.size = 2, .cpus = 7});
  run();
  core_.heard("a", 50'000);
  core_.tick(50'200);
  EXPECT_THAT(news(), ElementsAre("j: a node of its plan is silent"));
  core_.heard("b", 50'200);
  EXPECT_THAT(run(), ElementsAre("j 2"));
  // The agent reports somebody else on those CPUs.
  NodeReport report = report_of("a", machine_);
  report.generation = 9;
  report.claims.push_back(claim_of("stranger/main", "1-7"));
  const auto lost = core_.report(std::move(report), now_);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->size(), 1U);
  EXPECT_THAT(news(), ElementsAre("j: its room on a node is gone"));
  EXPECT_EQ(core_.fleet().promises(), 0U);
}

TEST_F(SchedulerTest, WhoStillRunsGetsItsRoomBeforeAnybodyElse) {
  job("j", {.size = 1, .cpus = 5});
  run();
  start("j");
  const std::string node = node_of("j-0");
  const std::string other = node == "a" ? "b" : "a";
  const auto report = [&](std::uint64_t generation, const std::string& cpus) {
    NodeReport node_report = report_of(node, machine_);
    node_report.generation = generation;
    if (!cpus.empty()) node_report.claims.push_back(claim_of("j-0/main", cpus));
    ASSERT_TRUE(core_.report(std::move(node_report), now_));
  };
  report(8, "1-5");
  job("large", {.size = 2, .cpus = 7});
  job("small", {.size = 1, .cpus = 7});
  ASSERT_TRUE(core_.place_at("small-0", other, now_).placed);
  ASSERT_FALSE(core_.place("large", nullptr, now_).placed);
  ASSERT_TRUE(core_.head_room());
  report(9, "");  // its container is started again
  EXPECT_FALSE(core_.fleet().knows("j-0/main")) << "all of the node is held for the head";
  EXPECT_TRUE(core_.still_runs("j-0", now_ + 9000));
  EXPECT_TRUE(core_.fleet().knows("j-0/main"));
  EXPECT_TRUE(core_.still_runs("j-0", now_ + 9000)) << "it has them";
}

TEST_F(SchedulerTest, AJobWaitsForANodeToOpenAndLeavesOneThatCloses) {
  core_.terms("a", {.open = false}, now_);
  core_.terms("b", {.open = false}, now_);
  job("j", {.size = 2, .cpus = 3});
  EXPECT_THAT(run(), ElementsAre("j never")) << "for good, as far as is known";
  core_.terms("b", {.open = true}, now_);
  EXPECT_THAT(run(), ElementsAre("j 2"));
  EXPECT_EQ(node_of("j-0"), "b");
  core_.terms("a", {.open = true}, now_);
  core_.terms("b", {.open = false}, now_);
  EXPECT_THAT(news(), ElementsAre("j: a node of its plan is closed"));
  EXPECT_THAT(run(), ElementsAre("j 2"));
  EXPECT_EQ(node_of("j-0"), "a");
  start("j");
  core_.terms("a", {.open = false}, now_);
  EXPECT_THAT(news(), IsEmpty()) << "who has started stays";
}

TEST_F(SchedulerTest, SharesAreTakenFromThePlanToTheEnd) {
  const ResourceList capacity{.milli_cpus = 5000, .memory = 100, .members = 10};
  for (const char* node : {"a", "b"}) core_.terms(node, {.capacity = capacity}, now_);
  const auto spare = [&](const char* node) {
    return core_.fleet().node(core_.fleet().find(node)).spare;
  };
  const auto sharing = [&](const JobId& id, int size, const ResourceList& each) {
    submit(id, {.size = size});
    for (int i = 0; i < size; ++i) {
      const MemberId member = id + "-" + std::to_string(i);
      EXPECT_TRUE(core_.join(id, member, {request_of(member + "/main", 1)}, now_,
                             {.requests = each, .nodes = nullptr}));
    }
  };
  const ResourceList half{.milli_cpus = 2500, .memory = 50, .members = 1};
  sharing("j", 3, half);
  EXPECT_THAT(run(), ElementsAre("j 3"));
  sharing("k", 2, half);
  EXPECT_THAT(run(), IsEmpty()) << "one place is left";
  sharing("l", 1, half);
  EXPECT_THAT(run(), ElementsAre("l 1"));
  EXPECT_EQ(spare("a"), (ResourceList{.milli_cpus = 0, .memory = 0, .members = 8}));
  EXPECT_EQ(spare("b"), spare("a"));
  core_.lost("a", now_);
  add_node("a");
  core_.terms("a", {.capacity = capacity}, now_);
  news();
  end("l");
  end("j");
  end("k");
  EXPECT_EQ(spare("a"), capacity);
  EXPECT_EQ(spare("b"), capacity);
}

TEST_F(SchedulerTest, AJobIsPlannedAnewWhenAMemberAsksSomethingElseOfItsNode) {
  const ResourceList capacity{.milli_cpus = 5000, .memory = 100, .members = 10};
  for (const char* node : {"a", "b"}) core_.terms(node, {.capacity = capacity}, now_);
  job("j", {.size = 2, .cpus = 1});
  const auto ask = [&](const std::vector<std::string>& nodes, std::int64_t memory) {
    auto set = std::make_shared<NodeSet>();
    for (const std::string& node : nodes) set->set(core_.fleet().find(node), true);
    core_.change_terms("j-0", {.requests = {.memory = memory}, .nodes = std::move(set)}, now_);
  };
  EXPECT_THAT(run(), ElementsAre("j 2"));
  EXPECT_EQ(node_of("j-0"), "a");
  ask({}, 60);
  EXPECT_THAT(run(), ElementsAre("j: a member of the job may use other nodes", "j never"));
  ask({"b"}, 60);
  EXPECT_THAT(run(), ElementsAre("j 2"));
  EXPECT_EQ(node_of("j-0"), "b");
  ask({"b"}, 30);
  EXPECT_THAT(run(), ElementsAre("j: a member of the job may use other nodes", "j 2"));
  EXPECT_EQ(core_.fleet().node(core_.fleet().find("b")).spare.memory, 70);
  end("j");
  EXPECT_EQ(core_.fleet().node(core_.fleet().find("b")).spare, capacity);
}

TEST_F(SchedulerTest, OnlyALaterEndOfAMemberHasItsJobPlannedAnew) {
  job("j", {.size = 2, .cpus = 1});
  const auto end_within = [&](std::int64_t run_ms) {
    core_.change_terms("j-0", {.run_ms = run_ms}, now_);
  };
  EXPECT_THAT(run(), ElementsAre("j 2"));
  for (const std::int64_t run_ms : {9000, 8000}) {
    end_within(run_ms);
    EXPECT_THAT(run(), IsEmpty()) << run_ms;
  }
  end_within(8001);
  EXPECT_THAT(run(), ElementsAre("j: a member of the job runs for longer", "j 2"));
  end_within(0);
  EXPECT_THAT(run(), ElementsAre("j: a member of the job runs for longer", "j 2"));
}

TEST_F(SchedulerTest, MembersOfSeveralContainersStartTogether) {
  submit("j", {.size = 2, .groups = 2});
  for (int i = 0; i < 2; ++i) {
    const MemberId member = "j-" + std::to_string(i);
    core_.join("j", member, {request_of(member + "/x", 3), request_of(member + "/y", 3)}, now_);
  }
  EXPECT_THAT(run(), ElementsAre("j 2"));
  EXPECT_NE(node_of("j-0"), node_of("j-1"));
  EXPECT_EQ(core_.fleet().promises(), 4U);
  for (const auto& request : core_.book().member("j-1")->requests) {
    EXPECT_EQ(request.task_group, "j-1");
  }
  start("j");
  EXPECT_TRUE(core_.leave("j-0", now_));
  EXPECT_EQ(core_.fleet().promises(), 2U);
}

// One of three runs on each of two nodes; who is late, or alone at last, finds no third node.
TEST_F(SchedulerTest, MembersThatWantToBeApartStaySoWhenTheyComeLate) {
  submit("j", {.size = 2});
  const auto join_apart = [&](const MemberId& member) {
    core_.join("j", member, {request_of(member + "/main", 1)}, now_, {.apart = true});
  };
  join_apart("j-0");
  join_apart("j-1");
  EXPECT_THAT(run(), ElementsAre("j 2"));
  start("j");
  EXPECT_NE(core_.book().member("j-0")->node, core_.book().member("j-1")->node);
  join_apart("j-2");
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_FALSE(core_.would_place("j", now_));
  core_.leave("j-0", now_);
  EXPECT_TRUE(core_.would_place("j", now_));
  EXPECT_THAT(run(), ElementsAre("j 1"));
  EXPECT_NE(core_.book().member("j-1")->node, core_.book().member("j-2")->node);
}

// What is held for the first of the queue is one place on each node, too.
// Agents say with each report what machine they are on.
// After a start the owners' system tells of members before their nodes' agents do.
// Half of it has started: without its other half it would run for nothing.
// More gangs than one pass looks at find no room; the last of the queue would.
// All are refused, pass after pass, and rest; then CPUs for one are given back, at any moment.
// The head has been refused although what is reserved would go for it.
// Its agent tells of it after its start was given up: no other node is to start it too.
TEST_F(SchedulerTest, WhoRunsWhereItsStartWasGivenUpGetsNoSecondPlace) {
  job("j", {.size = 2, .cpus = 4});
  EXPECT_THAT(run(), ElementsAre("j 2"));
  start("j");
  now_ += 9000;
  core_.tick(now_);
  ASSERT_EQ(core_.book().member("j-0")->state, State::kWaiting);
  news();
  NodeReport late = report_of("a", machine_);
  late.generation = 2;
  late.claims = {claim_of("j-0/main", "1-4")};
  ASSERT_TRUE(core_.report(std::move(late), now_));
  EXPECT_FALSE(core_.would_place("j", now_));
  EXPECT_FALSE(core_.place_at("j-0", "b", now_).placed);
  EXPECT_THAT(core_.place("j", nullptr, now_).why, HasSubstr("runs already"));
  EXPECT_EQ(core_.book().member("j-0")->state, State::kWaiting);
  EXPECT_FALSE(core_.head_room());
  EXPECT_TRUE(core_.runs("j-0", "a", now_));
}

// Which of nodes a and b is held for a job that needs a whole one.
// On each node one of two jobs with two members: that of the same job is not waited for next.

}  // namespace
}  // namespace pinion::cluster
