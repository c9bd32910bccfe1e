// Jobs, members and nodes brought to the core one event at a time. Two nodes of one NUMA node with
// 7 CPUs to give each.
#include "cluster/core/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using State = Member::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SchedulerTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* node : {"a", "b"}) add_node(node);
  }

  void add_node(const std::string& node) {
    ASSERT_TRUE(core_.report(report_of(node, machine_), now_));
  }

  struct Of {
    int size = 1;
    int cpus = 1;
    std::int32_t priority = 0;
    std::int64_t run_ms = 0;
    std::string name{};  // where it is not the id
    std::string name_space = "team";
    int groups = 0;
  };
  void submit(const JobId& id, const Of& of) {
    JobSpec spec;
    spec.owner = {
        .name_space = of.name_space, .kind = "Job", .name = of.name.empty() ? id : of.name};
    spec.priority = of.priority;
    spec.size = of.size;
    spec.run_ms = of.run_ms;
    spec.task_groups = of.groups;
    core_.submit(id, spec, now_++);
  }
  void join(const JobId& id, int number, int cpus) {
    const MemberId member = id + "-" + std::to_string(number);
    EXPECT_TRUE(core_.join(id, member, {request_of(member + "/main", cpus)}, now_));
  }
  void job(const JobId& id, const Of& of) {
    submit(id, of);
    for (int i = 0; i < of.size; ++i) join(id, i, of.cpus);
  }
  // One pass over the queue; "RESERVED ..." and "withdrawn: ..." in order.
  std::vector<std::string> run() {
    now_ += 1000;  // whoever was refused is tried again
    core_.run(now_);
    return news();
  }
  std::vector<std::string> news() {
    std::vector<std::string> texts;
    for (const JobNews& each : core_.take_news()) {
      switch (each.kind) {
        case JobNews::Kind::kReserved:
          texts.push_back(each.job + " " + std::to_string(each.members));
          break;
        case JobNews::Kind::kStarted:
          texts.push_back(each.job + " started");
          break;
        case JobNews::Kind::kWithdrawn:
          texts.push_back(each.job + ": " + each.why);
          break;
        case JobNews::Kind::kHopeless:
          texts.push_back(each.job + " never");
      }
    }
    return texts;
  }
  // All members that have CPUs start.
  void start(const JobId& id) {
    for (const auto& [name, member] : core_.book().find(id)->members) {
      if (!core_.start(name, now_)) continue;
      core_.started(name, true, now_);
    }
    core_.take_news();
  }
  void end(const JobId& id) {
    core_.end(id, now_);
    core_.take_news();
  }
  const std::string& why(const JobId& id) { return core_.book().find(id)->why; }
  std::string node_of(const MemberId& member) { return core_.book().member(member)->node; }

  const MachinePtr machine_ = machine_of({.cores_per_l3 = 8, .memory_per_node = 64 * kGiB});
  Scheduler core_{SchedulerSettings{.keep_ms = 5000, .confirm_ms = 9000}};
  std::int64_t now_ = 100;
};

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

TEST_F(SchedulerTest, WhatALessUrgentJobMerelyHoldsGoesBeforeAnythingThatRuns) {
  job("runs", {.size = 1, .cpus = 7});
  run();
  start("runs");
  job("holds", {.size = 1, .cpus = 5});
  job("small", {.size = 1, .cpus = 2});
  EXPECT_THAT(run(), ElementsAre("holds 1", "small 1"));
  job("urgent", {.size = 1, .cpus = 4, .priority = 1});
  EXPECT_THAT(run(), ElementsAre("holds: a more urgent job needs its room", "urgent 1"))
      << "the small one fits beside it";
  EXPECT_EQ(core_.book().member("small-0")->state, State::kReserved);
  EXPECT_EQ(core_.book().member("runs-0")->state, State::kRunning);
}

TEST_F(SchedulerTest, TheFirstOfTheQueueIsNotPassedByThoseThatWouldDelayIt) {
  job("one", {.size = 1, .cpus = 4, .run_ms = 10'000});
  job("two", {.size = 1, .cpus = 4, .run_ms = 30'000});
  run();
  for (const char* id : {"one", "two"}) start(id);
  ASSERT_NE(node_of("one-0"), node_of("two-0"));
  job("large", {.size = 2, .cpus = 7});
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_TRUE(core_.head_room());
  EXPECT_EQ(core_.head_room()->job, "large");
  EXPECT_GE(core_.head_room()->from_ms, 30'000);
  // Endless small ones come: without a time they would keep it out for ever.
  job("endless", {.size = 1, .cpus = 3});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(why("endless"), HasSubstr("needs 1 x 3 CPUs"));
  job("short", {.size = 1, .cpus = 3, .run_ms = 20'000});
  EXPECT_THAT(run(), ElementsAre("short 1")) << "it is over when the large one can start";
  job("long", {.size = 1, .cpus = 3, .run_ms = 40'000});
  EXPECT_THAT(run(), IsEmpty());
  job("urgent", {.size = 1, .cpus = 3, .priority = 1});
  EXPECT_THAT(run(), ElementsAre("urgent 1")) << "it is before it";
  end("urgent");
  end("short");
  end("one");
  EXPECT_THAT(run(), IsEmpty()) << "what is free there is held";
  end("two");
  EXPECT_THAT(run(), ElementsAre("large 2"));
  EXPECT_EQ(core_.head_room()->job, "endless");
  end("large");
  EXPECT_THAT(run(), ElementsAre("endless 1", "long 1"));
  EXPECT_FALSE(core_.head_room());
}

TEST_F(SchedulerTest, WithoutBackfillNobodyPassesAnybody) {
  Scheduler core{SchedulerSettings{.backfill = false}};
  ASSERT_TRUE(core.report(report_of("a", machine_), 0));
  for (const char* id : {"first", "second"}) {
    JobSpec spec;
    spec.owner = {.name_space = "n", .kind = "Job", .name = id};
    core.submit(id, spec, ++now_);
  }
  core.join("second", "s", {request_of("s/main", 1)}, now_);
  core.run(now_);
  EXPECT_EQ(core.take_news().size(), 1U) << "the first one has no member yet: it does not wait";
  core.join("first", "f", {request_of("f/main", 7)}, now_);
  JobSpec spec;
  spec.owner = {.name_space = "n", .kind = "Job", .name = "third"};
  core.submit("third", spec, ++now_);
  core.join("third", "t", {request_of("t/main", 1)}, now_);
  core.run(now_);
  EXPECT_TRUE(core.take_news().empty());
  EXPECT_EQ(core.book().find("third")->why, "n/first is before it in the queue");
}

TEST_F(SchedulerTest, WhoIsLargerThanTheIdleFleetWaitsForAnotherNodeAndBlocksNobody) {
  job("huge", {.size = 1, .cpus = 8});
  job("small", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("huge never", "small 1"));
  EXPECT_THAT(why("huge"), HasSubstr("no node could ever give that"));
  EXPECT_FALSE(core_.queue().contains("huge"));
  ASSERT_TRUE(core_.report(
      report_of("c", machine_of({.cores_per_l3 = 16, .memory_per_node = 64 * kGiB})), now_));
  EXPECT_THAT(run(), ElementsAre("huge 1"));
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
  EXPECT_THAT(run(), IsEmpty());
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
  EXPECT_EQ(core_.age(50'000, 30'000), 1);
  EXPECT_THAT(news(), ElementsAre("j: a node of its plan is silent"));
  core_.heard("b", 50'000);
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

TEST_F(SchedulerTest, RoomIsHeldForTheHeadAfterAWhileAndNotForEver) {
  Scheduler core({.keep_ms = kUnknownTime, .head_after_ms = 60'000, .head_ms = 600'000});
  ASSERT_TRUE(core.report(report_of("a", machine_), 0));
  const auto submit = [&](const JobId& id, int cpus, std::int64_t now) {
    core.submit(id, {}, now);
    core.join(id, id, {request_of(id + "/main", cpus)}, now);
    return core.place(id, nullptr, now).placed;
  };
  ASSERT_TRUE(submit("runs", 3, 0));
  EXPECT_FALSE(submit("large", 7, 0));
  EXPECT_TRUE(submit("passes", 1, 59'000)) << "it has not waited long";
  EXPECT_FALSE(core.place("large", nullptr, 60'000).placed);
  EXPECT_FALSE(submit("waits", 1, 61'000)) << "what is free is held";
  core.tick(659'000);
  EXPECT_TRUE(core.head_room());
  core.tick(660'000);
  EXPECT_FALSE(core.head_room()) << "nothing came free for so long";
  EXPECT_FALSE(core.place("large", nullptr, 661'000).placed);
  EXPECT_TRUE(core.place("waits", nullptr, 662'000).placed);
  EXPECT_FALSE(core.place("large", nullptr, 1'260'000).placed);
  EXPECT_TRUE(core.head_room()) << "its turn again";
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

TEST_F(SchedulerTest, AMoreUrgentJobTakesTheShareOfWhatIsMerelyReserved) {
  const ResourceList capacity{.milli_cpus = 4000, .memory = 100, .members = 10};
  core_.terms("a", {.capacity = capacity}, now_);
  core_.terms("b", {.open = false}, now_);
  const auto one = [&](const JobId& id, std::int32_t priority) {
    submit(id, {.priority = priority});
    core_.join(id, id + "-0", {request_of(id + "-0/main", 1)}, now_,
               {.requests = {.milli_cpus = 3000, .memory = 1, .members = 1}, .nodes = nullptr});
  };
  one("low", 0);
  EXPECT_THAT(run(), ElementsAre("low 1"));
  one("high", 5);
  EXPECT_THAT(run(), ElementsAre("low: a more urgent job needs its room", "high 1"));
  EXPECT_EQ(core_.fleet().node(core_.fleet().find("a")).spare.milli_cpus, 1000);
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
TEST_F(SchedulerTest, HeadRoomOfMembersThatWantToBeApartIsOnDifferentNodes) {
  job("long", {.size = 1, .cpus = 7, .run_ms = 1'000'000});
  job("short", {.size = 1, .cpus = 5, .run_ms = 10'000});
  EXPECT_THAT(run(), ElementsAre("long 1", "short 1"));
  start("long");
  start("short");
  submit("j", {.size = 2});
  for (const char* member : {"j-0", "j-1"}) {
    core_.join("j", member, {request_of(std::string(member) + "/main", 2)}, now_, {.apart = true});
  }
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_TRUE(core_.head_room());
  EXPECT_EQ(core_.head_room()->cpus.size(), 2U);
}

// Agents say with each report what machine they are on.
TEST_F(SchedulerTest, WhoNeverFitsIsToldSoOnceAndPlannedAgainForAnotherMachineOnly) {
  job("huge", {.size = 1, .cpus = 8});
  EXPECT_THAT(run(), ElementsAre("huge never"));
  const std::uint64_t refused = core_.counters().refused;
  add_node("a");
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(core_.counters().refused, refused) << "nor is it looked at";
  ASSERT_TRUE(core_.report(
      report_of("a", machine_of({.cores_per_l3 = 16, .memory_per_node = 64 * kGiB})), now_));
  EXPECT_THAT(run(), ElementsAre("huge 1"));
}

// After a start the owners' system tells of members before their nodes' agents do.
TEST_F(SchedulerTest, RoomOfThoseThatAgentsTellOfLaterIsHeldForTheHead) {
  const auto report = [&] {
    NodeReport node = report_of("c", machine_);
    node.claims.push_back(claim_of("old-0/main", "1-5"));
    ASSERT_TRUE(core_.report(std::move(node), now_));
  };
  job("old", {.size = 1, .cpus = 5});
  EXPECT_FALSE(core_.runs("old-0", "c", now_)) << "its agent has not spoken yet";
  report();
  job("large", {.size = 3, .cpus = 7});
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_TRUE(core_.head_room());
  EXPECT_EQ(core_.head_room()->cpus.size(), 3U);
  core_.lost("c", now_);
  EXPECT_FALSE(core_.head_room());
  report();
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_TRUE(core_.head_room()) << "the node is back";
}

TEST_F(SchedulerTest, RoomOfOneThatItsAgentDoesNotNameYetIsHeldForTheHead) {
  job("old", {.size = 1, .cpus = 5});
  EXPECT_FALSE(core_.runs("old-0", "c", now_));
  add_node("c");
  EXPECT_TRUE(core_.still_runs("old-0", kNoExpiry));
  job("large", {.size = 3, .cpus = 7});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_TRUE(core_.head_room());
}

// Half of it has started: without its other half it would run for nothing.
TEST_F(SchedulerTest, AMoreUrgentJobTakesNothingFromOneThatHasBegunToStart) {
  job("half", {.size = 2, .cpus = 5});
  EXPECT_THAT(run(), ElementsAre("half 2"));
  ASSERT_TRUE(core_.start("half-0", now_));
  core_.started("half-0", true, now_);
  job("urgent", {.size = 1, .cpus = 4, .priority = 1});
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_TRUE(core_.start("half-1", now_));
  core_.started("half-1", true, now_);
  news();
  join("half", 2, 2);
  EXPECT_THAT(run(), ElementsAre("half 1"));
  end("urgent");
  job("other", {.size = 1, .cpus = 2, .priority = 1});
  job("next", {.size = 1, .cpus = 1, .priority = 1});
  EXPECT_THAT(run(), ElementsAre("other 1", "half: a more urgent job needs its room", "next 1"))
      << "what is beyond its size is a job of its own";
}

// 7 and 6 CPUs are free in two NUMA nodes, into which 4 + 3 and 3 + 3 go, and in another order not.
TEST_F(SchedulerTest, AMoreUrgentJobThatIsRefusedLeavesAllWhereTheyAre) {
  Scheduler core{SchedulerSettings()};
  const MachinePtr two = machine_of({.packages = 2, .cores_per_l3 = 8, .memory_per_node = kGiB});
  ASSERT_TRUE(core.report(report_of("n", two, topology::CpuSet{0, 8, 9}), now_));
  const auto gang = [&](const JobId& id, std::int32_t priority, const std::vector<int>& cpus) {
    JobSpec spec;
    spec.priority = priority;
    spec.size = static_cast<int>(cpus.size());
    core.submit(id, spec, now_);
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      const MemberId member = id + "-" + std::to_string(i);
      core.join(id, member, {request_of(member + "/main", cpus[i])}, now_);
    }
    return core.place(id, nullptr, now_).placed;
  };
  ASSERT_TRUE(gang("low", 0, {4, 3, 3, 3}));
  EXPECT_FALSE(gang("urgent", 1, {7, 7}));
  core.take_news();
  EXPECT_EQ(core.book().find("low")->count(State::kReserved), 4);
}

// More gangs than one pass looks at find no room; the last of the queue would.
TEST_F(SchedulerTest, WhoIsBehindManyThatHaveNoRoomGetsItsTurn) {
  Scheduler core(
      {.depth = 4, .retry_ms = 0, .keep_ms = kUnknownTime, .head_after_ms = kUnknownTime});
  for (const char* node : {"a", "b"}) ASSERT_TRUE(core.report(report_of(node, machine_), now_));
  std::vector<JobId> jobs;
  const auto gang = [&](const JobId& id, int cpus) {
    JobSpec two;
    two.size = 2;
    core.submit(id, two, ++now_);
    for (const char* member : {"-0", "-1"}) {
      core.join(id, id + member, {request_of(id + member + "/main", cpus)}, now_);
    }
    jobs.push_back(id);
  };
  gang("runs", 4);
  ASSERT_TRUE(core.place("runs", nullptr, now_).placed);
  for (int i = 0; i < 20; ++i) gang("large-" + std::to_string(i), 4);
  gang("small", 3);
  int passes = 0;
  const auto pass = [&](bool change) {
    EXPECT_LT(++passes, 30);
    now_ += 250;
    if (change) core.nodes_changed(now_);
    core.take_changed();
    return core.run_some(jobs, now_, [] { return true; });
  };
  while (passes < 30 && core.queue().contains("small")) EXPECT_TRUE(pass(true));
  EXPECT_LE(passes, 12) << "whatever changes meanwhile";
  while (passes < 30 && pass(false)) continue;
  EXPECT_LT(passes, 30) << "all have been looked at, and nothing has changed since";
}

// All are refused, pass after pass, and rest; then CPUs for one are given back, at any moment.
TEST_F(SchedulerTest, WhatIsGivenBackWhileManyRestIsForTheFirstOfThem) {
  for (int moment = 0; moment < 10; ++moment) {
    Scheduler core({.depth = 4, .keep_ms = kUnknownTime, .head_after_ms = kUnknownTime});
    ASSERT_TRUE(core.report(report_of("a", machine_), now_));
    std::vector<JobId> jobs;
    const auto add = [&](const JobId& id, int cpus, std::int32_t priority = 0) {
      JobSpec spec;
      spec.priority = priority;
      core.submit(id, spec, ++now_);
      core.join(id, id + "-0", {request_of(id + "/main", cpus)}, now_);
    };
    for (const char* id : {"runs-0", "runs-1"}) {
      add(id, 3);
      ASSERT_TRUE(core.place(id, nullptr, now_).placed);
    }
    core.take_news();
    for (int i = 10; i < 22; ++i) {
      jobs.push_back("waits-" + std::to_string(i));
      add(jobs.back(), i == 10 ? 7 : 3);  // the first is tried in each pass
    }
    std::vector<JobId> placed;
    const auto passes = [&](int count) {
      for (int i = 0; i < count; ++i) {
        now_ += 100;
        core.nodes_changed(now_);
        core.take_changed();
        core.run_some(jobs, now_, [] { return true; });
        for (const JobNews& each : core.take_news()) {
          if (each.kind != JobNews::Kind::kReserved) continue;
          placed.push_back(each.job);
          EXPECT_TRUE(core.start(each.job + "-0", now_));
        }
      }
    };
    passes(30 + moment);
    EXPECT_THAT(placed, IsEmpty());
    core.end("runs-0", now_);
    passes(20);
    core.end("runs-1", now_);
    for (int i = 0; i < 30;
         ++i) {  // more urgent ones, for which there is no room, come all the time
      jobs.push_back("large-" + std::to_string(i));
      add(jobs.back(), 7, 1 + i);
      passes(1);
    }
    EXPECT_EQ(placed.at(0), "waits-11") << moment;
    EXPECT_EQ(placed.size(), 2U) << moment;
  }
}

TEST_F(SchedulerTest, OthersAreTriedWhenRoomIsHeldForAnotherHead) {
  job("runs", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("runs 1"));
  start("runs");
  job("low", {.size = 2, .cpus = 5});
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_EQ(core_.head_room()->job, "low");
  job("urgent", {.size = 2, .cpus = 6, .priority = 1});
  core_.take_changed();
  EXPECT_FALSE(core_.place("urgent", nullptr, now_).placed);
  EXPECT_EQ(core_.head_room()->job, "urgent");
  EXPECT_TRUE(core_.take_changed()) << "what was held for the other one may be free";
  EXPECT_FALSE(core_.place("urgent", nullptr, now_).placed);
  EXPECT_FALSE(core_.take_changed());
}

// The head has been refused although what is reserved would go for it.
TEST_F(SchedulerTest, WhatALessUrgentJobHoldsAndTheHeadWaitsForIsForNobodyBehindIt) {
  job("runs", {.size = 1, .cpus = 3});
  EXPECT_THAT(run(), ElementsAre("runs 1"));
  start("runs");
  job("low", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("low 1"));
  job("head", {.size = 2, .cpus = 7, .priority = 1});
  job("behind", {.size = 1, .cpus = 7, .priority = 1});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(core_.head_room()->job, "head");
  end("runs");
  EXPECT_THAT(run(), ElementsAre("low: a more urgent job needs its room", "head 2"));
}

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
class HeldNodeTest : public SchedulerTest {
 protected:
  void SetUp() override {
    for (const char* node : {"a", "b"}) {
      ASSERT_TRUE(limited_.report(report_of(node, machine_), now_));
    }
  }
  void runs(const JobId& id, const std::string& node, std::int64_t run_ms = 0,
            bool service = false) {
    JobSpec spec;
    spec.run_ms = run_ms;
    spec.service = service;
    limited_.submit(id, spec, now_);
    limited_.join(id, id, {request_of(id + "/main", 3)}, now_);
    ASSERT_TRUE(limited_.runs(id, node, now_));
  }
  std::string held() {
    if (limited_.book().find("large") == nullptr) {
      limited_.submit("large", {}, now_);
      limited_.join("large", "large", {request_of("large/main", 7)}, now_);
    }
    EXPECT_FALSE(limited_.place("large", nullptr, now_).placed);
    const auto& head = limited_.head_room();
    return head ? limited_.fleet().node(head->cpus.begin()->first).name : std::string();
  }
  // The time of the head passes, and then that of the others.
  void pass_over() {
    now_ += 10'000;
    limited_.tick(now_);
    EXPECT_FALSE(limited_.head_room());
    now_ += 10'000;
  }

  Scheduler limited_{SchedulerSettings{.keep_ms = kUnknownTime, .head_ms = 10'000}};
};

TEST_F(HeldNodeTest, WhoDidNotEndIsNotWaitedForAgainBeforeTheOthers) {
  runs("old", "a");
  runs("new", "b");
  EXPECT_EQ(held(), "a");
  pass_over();
  EXPECT_EQ(held(), "b");
  pass_over();
  EXPECT_EQ(held(), "a");
}

TEST_F(HeldNodeTest, WhoRunsLongerThanSaidIsWaitedForLikeThoseThatSayNothing) {
  runs("late", "a", 5000);
  runs("slow", "b", 60'000);
  EXPECT_EQ(held(), "a");
  pass_over();
  EXPECT_EQ(held(), "b");
  pass_over();
  EXPECT_EQ(held(), "b") << "its time has not come";
}

// On each node one of two jobs with two members: that of the same job is not waited for next.
TEST_F(HeldNodeTest, WhoseJobDidNotEndIsNotWaitedForEither) {
  ASSERT_TRUE(limited_.report(report_of("c", machine_), now_));
  JobSpec two;
  two.size = 2;
  limited_.submit("wide", two, now_);
  for (const char* id : {"wide-0", "wide-1"}) {
    limited_.join("wide", id, {request_of(std::string(id) + "/main", 3)}, now_);
  }
  ASSERT_TRUE(limited_.runs("wide-0", "a", now_));
  ASSERT_TRUE(limited_.runs("wide-1", "b", now_));
  runs("other", "c");
  EXPECT_EQ(held(), "a");
  pass_over();
  EXPECT_EQ(held(), "c");
}

TEST_F(HeldNodeTest, ServicesAreWaitedForLast) {
  runs("web", "a", 0, true);
  runs("job", "b");
  EXPECT_EQ(held(), "b");
  pass_over();
  EXPECT_EQ(held(), "b");
}

}  // namespace
}  // namespace pinion::cluster
