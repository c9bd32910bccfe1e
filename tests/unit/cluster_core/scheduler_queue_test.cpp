// Who is tried next, what is held for the first of the queue, and what a more urgent job takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cluster_core/scheduler_play.h"

namespace pinion::cluster {
namespace {

using State = Member::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

// Four and two CPUs beside each other, on each of two nodes.
TEST_F(SchedulerTest, RoomIsHeldForMembersOfSeveralContainers) {
  job("one", {.size = 1, .cpus = 3, .run_ms = 10'000});
  job("two", {.size = 1, .cpus = 3, .run_ms = 30'000});
  run();
  for (const char* id : {"one", "two"}) start(id);
  ASSERT_EQ(node_of("one-0"), node_of("two-0"));
  submit("large", {.size = 2});
  for (const char* member : {"l0", "l1"}) {
    const std::string id = member;
    core_.join("large", id, {request_of(id + "/main", 4), request_of(id + "/side", 2)}, now_);
  }
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_TRUE(core_.head_room());
  EXPECT_EQ(core_.head_room()->job, "large");
  EXPECT_GE(core_.head_room()->from_ms, 30'000) << "both containers need both to be over";
  int held = 0;
  for (const auto& [node, cpus] : core_.head_room()->cpus) held += cpus.count();
  EXPECT_EQ(held, 12);
  job("endless", {.size = 1, .cpus = 2});
  EXPECT_THAT(run(), IsEmpty()) << "one CPU on each node is not held";
  job("small", {.size = 1, .cpus = 1});
  EXPECT_THAT(run(), ElementsAre("small 1"));
  end("one");
  EXPECT_THAT(run(), IsEmpty());
  end("two");
  EXPECT_THAT(run(), ElementsAre("large 2"));
}

TEST_F(SchedulerTest, WhatIsHeldStaysWhileAContainerOutlivesItsPod) {
  job("runs", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("runs 1"));
  const std::string node = node_of("runs-0");
  start("runs");
  tell(node, 2, {claim_of("runs-0/main", "1-7")});
  job("large", {.size = 2, .cpus = 7});
  job("small", {.size = 1, .cpus = 3});
  EXPECT_THAT(run(), IsEmpty());
  end("runs");
  EXPECT_THAT(run(), IsEmpty()) << "its container runs on";
  tell(node, 3, {claim_of("runs-0/main", "1-7")});
  EXPECT_THAT(run(), IsEmpty());
  tell(node, 4, {});
  EXPECT_THAT(run(), ElementsAre("large 2"));
  for (const char* id : {"large", "small"}) end(id);
  job("runs", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("runs 1")) << "its name may come again";
}

TEST_F(SchedulerTest, WhatIsHeldStaysWhileAContainerIsToldOfAfterItsEnd) {
  job("runs", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("runs 1"));
  const std::string node = node_of("runs-0");
  start("runs");
  job("large", {.size = 2, .cpus = 7});
  job("small", {.size = 1, .cpus = 3});
  EXPECT_THAT(run(), IsEmpty());
  end("runs");
  tell(node, 2, {claim_of("runs-0/main", "1-7")});
  EXPECT_THAT(run(), IsEmpty()) << "its agent has been slower than all others";
  ASSERT_TRUE(core_.head_room());
  EXPECT_EQ(core_.head_room()->cpus.size(), 2U);
  tell(node, 3, {});
  EXPECT_THAT(run(), ElementsAre("large 2"));
}

// As after a start that was given up.
TEST_F(SchedulerTest, WhatIsHeldStaysWhileOneRunsThatWasNotStarted) {
  job("early", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("early 1"));
  tell(node_of("early-0"), 2, {claim_of("early-0/main", "1-7")});
  end("early");
  job("large", {.size = 2, .cpus = 7});
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_TRUE(core_.head_room());
  EXPECT_EQ(core_.head_room()->cpus.size(), 2U);
}

// Two agents may name one container, as where a pod was made again elsewhere.
TEST_F(SchedulerTest, ANodeThatForgetsAContainerForgetsNothingOfAnothers) {
  job("runs", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("runs 1"));
  const std::string node = node_of("runs-0");
  const std::string other = node == "a" ? "b" : "a";
  start("runs");
  tell(node, 2, {claim_of("runs-0/main", "1-7")});
  tell(other, 2, {claim_of("runs-0/main", "1-7")});
  tell(other, 3, {});
  job("large", {.size = 2, .cpus = 7});
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_TRUE(core_.head_room());
  EXPECT_EQ(core_.head_room()->cpus.size(), 2U);
}

// Nobody knows whether they ever end.
TEST_F(SchedulerTest, WhoIsNoMemberIsWaitedForLast) {
  tell("a", 2, {claim_of("by-hand/main", "1-5")});
  job("service", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("service 1"));
  start("service");
  job("large", {.size = 1, .cpus = 6});
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_TRUE(core_.head_room());
  EXPECT_EQ(core_.head_room()->cpus.begin()->first, core_.fleet().find("b"));
  tell("a", 3, {});
  EXPECT_THAT(run(), ElementsAre("large 1"));
  tell("a", 4, {claim_of("by-hand/main", "1"), claim_of("large-0/main", "2-7")});
  core_.lost("a", now_);
  job("next", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), ElementsAre("large: a node of its plan is gone"));
  EXPECT_TRUE(core_.head_room());
}

TEST_F(SchedulerTest, WhoEndsEarlyBringsTheTimeOfTheFirstForward) {
  job("long", {.size = 1, .cpus = 3, .run_ms = 1'000'000});
  EXPECT_THAT(run(), ElementsAre("long 1"));
  start("long");
  job("other node", {.size = 1, .cpus = 7});
  job("short", {.size = 1, .cpus = 2, .run_ms = 20'000});
  EXPECT_THAT(run(), ElementsAre("other node 1", "short 1"));
  for (const char* id : {"other node", "short"}) start(id);
  ASSERT_EQ(node_of("short-0"), node_of("long-0"));
  job("large", {.size = 1, .cpus = 7});
  EXPECT_THAT(run(), IsEmpty());
  end("long");
  job("longer", {.size = 1, .cpus = 2, .run_ms = 900'000});
  EXPECT_THAT(run(), IsEmpty()) << "the large one can start when the short one is over";
  end("short");
  EXPECT_THAT(run(), ElementsAre("large 1"));
}

TEST_F(SchedulerTest, TheFirstIsNotPutOffByThoseThatStartLate) {
  job("base", {.size = 1, .cpus = 4, .run_ms = 600'000});
  EXPECT_THAT(run(), ElementsAre("base 1"));
  start("base");
  job("large", {.size = 2, .cpus = 7});
  EXPECT_THAT(run(), IsEmpty());
  const std::int64_t promised = core_.head_room()->promised_ms;
  job("passes", {.size = 1, .cpus = 1, .run_ms = promised - now_ - 5000});
  EXPECT_THAT(run(), ElementsAre("passes 1"));
  now_ += 15'000;  // gates, a cycle of the scheduler, a binding
  start("passes");
  core_.place("large", nullptr, now_);
  EXPECT_GT(core_.head_room()->from_ms, promised);
  job("next", {.size = 1, .cpus = 1, .run_ms = core_.head_room()->from_ms - now_ - 5000});
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(SchedulerTest, AJobIsOverWithTheLastOfItsMembers) {
  job("runs", {.size = 1, .cpus = 4, .run_ms = 10'000});
  EXPECT_THAT(run(), ElementsAre("runs 1"));
  start("runs");
  job("other", {.size = 1, .cpus = 4, .run_ms = 10'000});
  EXPECT_THAT(run(), ElementsAre("other 1"));
  start("other");
  job("large", {.size = 2, .cpus = 7});
  EXPECT_THAT(run(), IsEmpty());
  const auto pair = [&](const JobId& id, std::int64_t first_ms, std::int64_t second_ms) {
    submit(id, {.size = 2});
    join(id, 0, 1, first_ms);
    join(id, 1, 1, second_ms);
    return run();
  };
  EXPECT_THAT(pair("longer", 2000, 20'000), IsEmpty());
  EXPECT_THAT(pair("endless", 2000, 0), IsEmpty());
  EXPECT_THAT(pair("short", 2000, 1000), ElementsAre("short 2"));
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
  EXPECT_THAT(why("huge"), HasSubstr("no node could give that even with nothing running"));
  EXPECT_FALSE(core_.queue().contains("huge"));
  ASSERT_TRUE(core_.report(
      report_of("c", machine_of({.cores_per_l3 = 16, .memory_per_node = 64 * kGiB})), now_));
  EXPECT_THAT(run(), ElementsAre("huge 1"));
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
    return core.run_some(jobs, now_, [] { return true; }) != kNeverDue;
  };
  while (passes < 30 && core.queue().contains("small")) EXPECT_TRUE(pass(true));
  EXPECT_LE(passes, 12) << "whatever changes meanwhile";
  while (passes < 30 && pass(false)) continue;
  EXPECT_LT(passes, 30) << "all have been looked at, and nothing has changed since";
}

// Else whoever changes a large job again and again has the scheduler do nothing but plan it.
TEST_F(SchedulerTest, AJobThatChangesAfterEachRefusalIsTriedMoreAndMoreSeldom) {
  Scheduler core({.keep_ms = kUnknownTime, .head_after_ms = kUnknownTime});
  for (const char* node : {"a", "b"}) ASSERT_TRUE(core.report(report_of(node, machine_), now_));
  const auto join = [&](const JobId& id, const MemberId& member) {
    core.join(id, member, {request_of(member + "/main", 7)}, now_);
  };
  core.submit("runs", {}, now_);
  join("runs", "runs-0");
  ASSERT_TRUE(core.place("runs", nullptr, now_).placed);
  JobSpec two;
  two.size = 2;
  core.submit("j", two, now_);
  for (const char* member : {"j-0", "j-1"}) join("j", member);
  const auto pass = [&] {
    now_ += 100;
    core.take_changed();
    return core.run_some({"j"}, now_, [] { return true; });
  };
  const std::uint64_t before = core.counters().refused;
  for (int i = 0; i < 300; ++i) {
    core.leave("j-1", now_);
    join("j", "j-1");
    pass();
  }
  EXPECT_GE(core.counters().refused - before, 3U);
  EXPECT_LE(core.counters().refused - before, 7U) << "300 changes in 30 s";
  core.end("runs", now_);
  int passes = 0;
  while (core.queue().contains("j") && ++passes < 400) {
    const std::int64_t due_ms = pass();
    EXPECT_TRUE(!core.queue().contains("j") || due_ms != kNeverDue);
  }
  EXPECT_LT(passes, 400) << "it has its turn";
}

// kube-scheduler asks about each member of a gang.
TEST_F(SchedulerTest, TheSameQuestionIsAnsweredWithoutALookWhileNothingIsGivenBack) {
  Scheduler core({.keep_ms = kUnknownTime, .head_after_ms = kUnknownTime});
  for (const char* node : {"a", "b"}) ASSERT_TRUE(core.report(report_of(node, machine_), now_));
  const std::vector<NodeIndex> all{core.fleet().find("a"), core.fleet().find("b")};
  const std::vector<NodeIndex> one{all.front()};
  const std::vector<NodeIndex> reversed(all.rbegin(), all.rend());
  const auto job = [&](const JobId& id, int size, int cpus) {
    JobSpec spec;
    spec.size = size;
    core.submit(id, spec, now_);
    for (int i = 0; i < size; ++i) {
      const MemberId member = id + "-" + std::to_string(i);
      core.join(id, member, {request_of(member + "/main", cpus)}, now_);
    }
  };
  job("runs", 1, 7);
  ASSERT_TRUE(core.place("runs", nullptr, now_).placed);
  job("j", 2, 7);
  core.take_changed();
  const auto asked = [&](const MemberId& member, const std::vector<NodeIndex>& among) {
    const std::uint64_t before = core.counters().again;
    EXPECT_FALSE(core.place_member(member, &among, now_).placed);
    EXPECT_NE(core.book().find("j")->why, "");
    return core.counters().again > before;
  };
  EXPECT_FALSE(asked("j-0", all));
  const std::string why = core.book().find("j")->why;
  EXPECT_TRUE(asked("j-1", all));
  EXPECT_TRUE(asked("j-1", reversed)) << "kube-scheduler names them in any order";
  EXPECT_EQ(core.book().find("j")->why, why);
  EXPECT_FALSE(asked("j-0", one)) << "among other nodes";
  EXPECT_FALSE(asked("j-1", all));
  core.prefer("j-1", "b");
  EXPECT_FALSE(asked("j-1", all)) << "it prefers a node now";
  core.nodes_changed(now_);
  EXPECT_FALSE(asked("j-0", all)) << "nodes have changed";
  core.take_changed();
  EXPECT_FALSE(asked("j-0", all)) << "and so it may still be";
  EXPECT_TRUE(asked("j-0", all));
  core.end("runs", now_);
  EXPECT_TRUE(core.place_member("j-0", &all, now_).placed);
}

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
    spec.service = service;
    limited_.submit(id, spec, now_);
    limited_.join(id, id, {request_of(id + "/main", 3)}, now_, {.run_ms = run_ms});
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
  // The time of the head passes, each time twice as long, and then that of the others.
  void pass_over() {
    now_ += std::exchange(held_ms_, 2 * held_ms_) - 1;
    limited_.tick(now_);
    EXPECT_TRUE(limited_.head_room());
    limited_.tick(++now_);
    EXPECT_FALSE(limited_.head_room());
    now_ += 10'000;
  }

  Scheduler limited_{SchedulerSettings{.keep_ms = kUnknownTime, .head_ms = 10'000}};
  std::int64_t held_ms_ = 10'000;
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

TEST_F(HeldNodeTest, WhoIsToldOfAgainEndsNoLater) {
  const auto end = now_ + 10'000;
  runs("one", "a", 10'000);
  runs("two", "b", 50'000);
  now_ += 9000;
  ASSERT_TRUE(limited_.runs("one", "a", now_));
  limited_.lost("a", now_);
  ASSERT_TRUE(limited_.report(report_of("a", machine_), now_));
  limited_.still_runs("one", kNoExpiry);
  EXPECT_EQ(held(), "a");
  EXPECT_EQ(limited_.head_room()->from_ms, end);
}

TEST_F(HeldNodeTest, WhoIsNoMemberIsNotWaitedForAgainBeforeTheOthersEither) {
  NodeReport report = report_of("a", machine_);
  report.generation = 2;
  report.claims = {claim_of("by-hand/main", "1-3")};
  ASSERT_TRUE(limited_.report(std::move(report), now_));
  runs("web", "b", 0, true);
  EXPECT_EQ(held(), "a");
  pass_over();
  EXPECT_EQ(held(), "b");
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
