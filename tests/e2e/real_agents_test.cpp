// Both halves together: pinion-extender plans, and real agents are asked over NRI by a runtime.
// Every container has the cores that were planned for it, whatever comes between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/scene.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

class RealAgents : public Scene {
 protected:
  // By the pod's name.
  std::map<std::string, std::string> places() {
    std::map<std::string, std::string> places;
    for (const auto& [name, held] : nodes().held()) {
      places[name] = held.node + " " + held.cpus.to_string();
    }
    return places;
  }
};

TEST_F(RealAgents, GangsAndPodsRunOnTheCoresPlanned) {
  start(3);
  const Gang gang{.job = "ring", .size = 6, .cpus = 7, .groups = 3};
  add(gang);
  add(PodShape{.name = "one", .milli_cpus = 4000, .sides = {2000, 500}});
  add(PodShape{.name = "noise", .milli_cpus = 500, .burstable = true});
  ASSERT_TRUE(run(names(gang)));
  ASSERT_TRUE(run({"one"}));
  ASSERT_TRUE(nodes().wait([&] { return agents().started() == 10; }));
  EXPECT_EQ(nodes().held().at("one").cpus.count(), 6);
  EXPECT_EQ(agents().difference(), "");

  remove({"one"});
  ASSERT_TRUE(ok(admin().ask_pod_to_end("ring-0")));
  ASSERT_TRUE(nodes().wait([&] { return nodes().running() == 6; }));
  EXPECT_TRUE(pods().wait_until_gone("ring-0"));
  EXPECT_THAT(nodes().held(), SizeIs(5));
  EXPECT_GE(agents().compared(), 8);
}

// An init container of a pod runs on CPUs of the main one, whichever of them wants more.
TEST_F(RealAgents, InitContainersRunWhereTheMainOneWill) {
  start(1);
  add(PodShape{.name = "small-first", .milli_cpus = 6000, .inits = {2000, 500, 4000}});
  add(PodShape{.name = "large-first", .milli_cpus = 2000, .sides = {2000}, .inits = {4000}});
  add(PodShape{
      .name = "beside", .milli_cpus = 2000, .sidecars = {2000, 500}, .inits = {1000, 2000}});
  ASSERT_TRUE(run({"small-first", "large-first", "beside"}));
  ASSERT_TRUE(nodes().wait([&] { return agents().compared() == 10; }));
  const auto held = nodes().held();
  EXPECT_EQ(held.at("small-first").cpus.count(), 6);
  EXPECT_EQ(held.at("large-first").cpus.count(), 4);
  EXPECT_EQ(held.at("beside").cpus.count(), 4);
  EXPECT_EQ(agents().difference(), "");
}

TEST_F(RealAgents, ARefusedContainerIsShownToTheApiServer) {
  start(1);
  const auto pod = admin().add_pod({.name = "wide",
                                    .milli_cpus = 20'000,
                                    .annotations = {{"pinion.dev/job", "wide"}},
                                    .scheduler = "nobody"});
  ASSERT_TRUE(ok(pod));
  ASSERT_TRUE(ok(kube::bind_pod(admin().api(), *pod, "node-0")));
  ASSERT_TRUE(pods().wait_for("wide", [](const json& now) {
    const json& statuses = kube::json_at(now, "status", "containerStatuses");
    return statuses.is_array() && !statuses.empty();
  }));
  const json now = pods().now().at("wide");
  const json& waiting =
      kube::json_at(kube::json_at(now, "status", "containerStatuses").at(0), "state", "waiting");
  EXPECT_EQ(kube::json_text(waiting, "reason"), "CreateContainerError");
  EXPECT_THAT(kube::json_text(waiting, "message"), HasSubstr("NUMA"));
  EXPECT_THAT(nodes().take_bounced(), SizeIs(1));
  remove({"wide"});
}

TEST_F(RealAgents, AKilledAgentFindsAllAsItWas) {
  start(3);
  const auto fillers = fill_nodes(3);
  const auto before = places();
  agents().kill_agent("node-0");
  const std::string ended = *std::find_if(fillers.begin(), fillers.end(), [&](const auto& name) {
    return node_of_pod(name) == "node-0";
  });
  remove({ended});
  ASSERT_TRUE(nodes().wait([&] { return nodes().running() == 5; }));
  ASSERT_TRUE(ok(agents().restart_agent("node-0")));
  auto kept = before;
  kept.erase(ended);
  EXPECT_EQ(places(), kept);
  EXPECT_EQ(agents().difference(), "");

  // Only there is room for it.
  add(PodShape{.name = "next", .milli_cpus = 14'000, .annotations = {{"pinion.dev/job", "next"}}});
  ASSERT_TRUE(run({"next"}));
  EXPECT_EQ(node_of_pod("next"), "node-0");
}

// What starts while there is no agent runs anywhere, and is where it was planned when there is one.
TEST_F(RealAgents, AnAgentThatComesLateFindsTheirCores) {
  start(1, {}, {"--agent-silence", "10m"});  // however slow the machine
  add(PodShape{.name = "first", .milli_cpus = 5000});
  ASSERT_TRUE(run({"first"}));
  const Gang gang{.job = "late", .size = 3, .cpus = 6, .groups = 1};
  ASSERT_TRUE(begin(gang));
  agents().kill_agent("node-0");
  finish(gang);
  ASSERT_TRUE(nodes().wait([&] { return agents().started() == 4; }));
  EXPECT_THAT(nodes().held(), SizeIs(1));
  ASSERT_TRUE(ok(agents().restart_agent("node-0")));
  EXPECT_TRUE(run(names(gang)));
}

}  // namespace
}  // namespace pinion::e2e
