// On how many nodes a job may be, and what it is told of those that say nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cluster_core/scheduler_play.h"

namespace pinion::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(SchedulerTest, AGangWaitsForRoomOnAsManyNodesAsItMayUse) {
  for (const char* id : {"x", "y"}) job(id, {.cpus = 4});
  run();
  for (const char* id : {"x", "y"}) start(id);
  job("j", {.size = 2, .cpus = 3, .nodes = 1});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(why("j"),
            "needs 2 x 3 CPUs in one NUMA node, on at most 1 node; 2 nodes have such a hole, room "
            "for 2, of which 1 on so few nodes");
  end("x");
  EXPECT_THAT(run(), ElementsAre("j 2"));
  EXPECT_EQ(node_of("j-0"), node_of("j-1"));
  submit("j", {.size = 2, .nodes = 2});
  EXPECT_THAT(run(), ElementsAre("j: the job has changed", "j 2"));
}

class NodesTest : public SchedulerTest {
 protected:
  // A third node, and a job that runs on two; it may use so many.
  void runs_on_two(int nodes) {
    add_node("c");
    job("j", {.size = 2, .cpus = 5, .nodes = nodes});
    EXPECT_THAT(run(), ElementsAre("j 2"));
    start("j");
    EXPECT_EQ(nodes_of("j").size(), 2U);
  }
  std::set<std::string> nodes_of(const JobId& id) {
    std::set<std::string> nodes;
    for (const auto& [name, member] : core_.book().find(id)->members) {
      if (!member.node.empty()) nodes.insert(member.node);
    }
    return nodes;
  }
};

TEST_F(NodesTest, LateMembersComeToNoOtherNode) {
  runs_on_two(2);
  join("j", 2, 2);
  EXPECT_THAT(run(), ElementsAre("j 1")) << "beside one that runs";
  EXPECT_EQ(nodes_of("j").size(), 2U);
  join("j", 3, 4);
  EXPECT_THAT(run(), IsEmpty()) << "there is room on the third node alone";
  EXPECT_THAT(why("j"), HasSubstr("on at most 2 nodes (2 have some already)"));
  EXPECT_THAT(why("j"), HasSubstr("of which 0 on so few nodes"));
  submit("j", {.size = 2, .nodes = 3});
  EXPECT_THAT(run(), testing::Contains("j 1"));
}

TEST_F(NodesTest, WhoReplacesAMemberThatIsGoneMayTakeAnotherNodeInItsPlace) {
  runs_on_two(2);
  const std::string left = node_of("j-1");
  core_.leave("j-0", now_);
  job("other", {.cpus = 7});
  run();
  start("other");
  join("j", 2, 5);
  EXPECT_THAT(run(), ElementsAre("j 1"));
  EXPECT_EQ(nodes_of("j").size(), 2U);
  EXPECT_TRUE(nodes_of("j").contains(left));
}

TEST_F(NodesTest, AMemberWhoseNodesAgentIsGoneStillHasItsNode) {
  runs_on_two(2);
  core_.lost(node_of("j-0"), now_);
  join("j", 2, 5);
  EXPECT_THAT(run(), IsEmpty()) << "it may still run there";
  core_.leave("j-0", now_);
  EXPECT_THAT(run(), ElementsAre("j 1"));
}

TEST_F(NodesTest, WhoIsNominatedToOneNodeTooManyIsPlannedWithTheOthers) {
  job("j", {.size = 2, .cpus = 3, .nodes = 1});
  core_.prefer("j-0", "a");
  core_.prefer("j-1", "b");
  EXPECT_THAT(run(), ElementsAre("j 2"));
  EXPECT_EQ(nodes_of("j"), std::set<std::string>{"a"});
}

TEST_F(NodesTest, WhatAnotherSchedulerChoosesIsHeldToIt) {
  // Two jobs of the core whose requests name one job.
  for (const char* id : {"x", "y"}) {
    submit(id, {.nodes = 1});
    topology::Request request = request_of(std::string(id) + "/main", 2);
    request.job = "lone";
    ASSERT_TRUE(core_.join(id, std::string(id) + "-0", {request}, now_));
  }
  ASSERT_TRUE(core_.place_at("x-0", "a", now_).placed);
  EXPECT_EQ(core_.kept_to("y-0"), std::set<NodeIndex>{core_.fleet().find("a")});
  EXPECT_EQ(core_.place_at("y-0", "b", now_).why, kNodeLimit);
  EXPECT_TRUE(core_.place_at("y-0", "a", now_).placed);
}

TEST_F(NodesTest, WhatIsReservedGoesWhereOthersRunOnOtherNodesThanPlanned) {
  runs_on_two(2);
  core_.leave("j-0", now_);
  join("j", 2, 5);
  EXPECT_THAT(run(), ElementsAre("j 1"));
  const auto before = nodes_of("j");
  const std::string third = !before.contains("a") ? "a" : !before.contains("b") ? "b" : "c";
  join("j", 3, 1);
  core_.runs("j-3", third, now_);
  EXPECT_THAT(news(), ElementsAre("j: members of the job run on other nodes"));
}

TEST_F(NodesTest, RoomForTheFirstIsHeldOnAsManyNodesAsItMayUse) {
  for (const char* id : {"x", "y"}) job(id, {.cpus = 5, .run_ms = 1000});
  run();
  for (const char* id : {"x", "y"}) start(id);
  job("j", {.size = 2, .cpus = 3, .nodes = 1});
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_TRUE(core_.head_room());
  EXPECT_EQ(core_.head_room()->cpus.size(), 1U);
}

// As after a start of whoever tells of jobs, and of those that another scheduler has bound.
TEST_F(NodesTest, WhatAnAgentNamesBeforeItsMemberIsToldOfIsOfItsJob) {
  NodeReport report = report_of("a", machine_);
  report.generation = 2;
  report.claims = {claim_of("j-0/main", "1-3")};
  ASSERT_TRUE(core_.report(std::move(report), now_));
  job("j", {.size = 1, .cpus = 3, .nodes = 1});
  core_.runs("j-0", "a", now_);
  join("j", 1, 3);
  EXPECT_EQ(core_.kept_to("j-1"), std::set<NodeIndex>{core_.fleet().find("a")});
  EXPECT_THAT(run(), testing::Contains("j 1"));
  EXPECT_EQ(node_of("j-1"), "a");
}

TEST_F(NodesTest, MoreThanFitOnNodesOfOneKindGetTheRoomiestOfThem) {
  add_node("c");
  for (const char* id : {"x", "y", "z"}) job(id, {.cpus = *id == 'y' ? 2 : 4, .run_ms = 1000});
  run();
  for (const char* id : {"x", "y", "z"}) start(id);
  job("j", {.size = 4, .cpus = 3, .nodes = 2});
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_TRUE(core_.head_room());
  EXPECT_EQ(core_.head_room()->cpus.size(), 2U);
}

TEST_F(SchedulerTest, NodesWhoseAgentsAreMissingOrSilentAreNamedAsThat) {
  core_.exists("c", true, now_);
  core_.exists("closed", false, now_);
  core_.unlinked("b", now_);
  job("j", {.size = 2, .cpus = 4});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(why("j"),
              "needs 2 x 4 CPUs in one NUMA node; no agent speaks for 1 node; the agent of 1 node "
              "is silent; 1 node has such a hole, room for 1, largest elsewhere 0");
  core_.lost("c", now_);
  core_.place("j", nullptr, now_);
  EXPECT_THAT(why("j"), testing::Not(HasSubstr("no agent speaks")));
}

}  // namespace
}  // namespace pinion::cluster
