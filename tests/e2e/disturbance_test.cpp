// Parts that are killed, cut off or asked to make room, while gangs are on their way.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/binding_gate.h"
#include "tests/e2e/scene.h"
#include "tests/e2e/tunnel.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

class Disturbance : public Scene {
 protected:
  const Gang gang_{.job = "gang", .size = 4, .cpus = 6, .groups = 2};

  void begin_gang() {
    ASSERT_TRUE(begin(gang_));
    ASSERT_EQ(bound(names(gang_)), 0);
  }
  void end_gang() {
    finish(gang_);
    EXPECT_TRUE(run(names(gang_)));
  }

  // The path of the extender's, but with another address of the API server.
  std::string kubeconfig_through(const std::string& address) {
    const auto text = lab::read_file(cluster().kubeconfig(kExtenderUser));
    EXPECT_TRUE(ok(text));
    nlohmann::json config = nlohmann::json::parse(*text);
    config["clusters"][0]["cluster"]["server"] = "https://" + address;
    std::string path = cluster().folder() + "/through.kubeconfig";
    EXPECT_TRUE(ok(lab::write_file(path, config.dump())));
    return path;
  }

  // Nodes with one of these pods, of 12 CPUs, in each NUMA node; and a priority above theirs.
  void start_full(const std::vector<std::string>& low) {
    start(static_cast<int>(low.size()) / 2);
    for (const std::string& name : low) add(PodShape{.name = name, .milli_cpus = 12'000});
    ASSERT_TRUE(run(low));
    ASSERT_TRUE(ok(admin().add_priority_class("urgent", 1000)));
  }
  void add_urgent(PodShape pod) {
    pod.priority_class = "urgent";
    // Admission knows a new class a moment later.
    ASSERT_TRUE(lab::eventually(lab::Milliseconds(kPatience),
                                [&] { return admin().add_pod(pod).has_value(); }));
  }
};

TEST_F(Disturbance, TheExtenderIsKilledWhileItHoldsAGang) {
  start(4);
  begin_gang();
  extender().kill();
  // The scheduler is told so, and nobody has been bound.
  ASSERT_TRUE(
      pods().wait_for("gang-0", [](const auto& pod) { return !why_unscheduled(pod).empty(); }));
  EXPECT_EQ(bound(names(gang_)), 0);
  ASSERT_TRUE(ok(extender().restart()));
  end_gang();
}

// All have been let go, some are bound, and the calls for the others end with the process. A gang
// of which a part runs is made whole, whoever else would like to have the room.
TEST_F(Disturbance, TheExtenderIsKilledBetweenTheBindingsOfAGang) {
  start(4);
  const auto gate = BindingGate::start(cluster(), admin());
  ASSERT_TRUE(ok(gate));
  for (const int before : {1, 7}) {
    const Gang gang{.job = "half-" + std::to_string(before), .size = 8, .cpus = 12, .groups = 2};
    (*gate)->let_pass(before);
    add(gang);
    ASSERT_TRUE((*gate)->wait_for_held(gang.size - before));
    ASSERT_TRUE(lab::eventually(kPatience, [&] { return bound(names(gang)) == before; }));
    extender().kill();
    (*gate)->open();
    EXPECT_EQ(bound(names(gang)), before);
    std::vector<std::string> others;
    for (int i = before; i < gang.size; ++i) {
      others.push_back("other-" + std::to_string(before) + "-" + std::to_string(i));
      add(PodShape{.name = others.back(), .milli_cpus = 12'000});
    }
    ASSERT_TRUE(ok(extender().restart()));
    ASSERT_TRUE(run(names(gang)));
    EXPECT_TRUE(agents_and_extender_agree());
    EXPECT_EQ(bound(others), 0);
    remove(names(gang));
    EXPECT_TRUE(run(others));
    remove(others);
  }
}

// The API server has bound them, and the connection breaks before it can say so: the extender asks
// again, and gives nobody else their cores.
TEST_F(Disturbance, TheAnswersToTheBindingsOfAGangAreLost) {
  start_nodes(1);
  const auto tunnel = Tunnel::start(cluster().api_port());
  ASSERT_TRUE(ok(tunnel));
  start_extender({"--kubeconfig", kubeconfig_through((*tunnel)->address())});
  start_scheduler({});
  const auto gate = BindingGate::start(cluster(), admin());
  ASSERT_TRUE(ok(gate));
  (*gate)->let_pass(0);
  const Gang gang{.job = "gang", .size = 2, .cpus = 12};
  add(gang);
  ASSERT_TRUE((*gate)->wait_for_held(gang.size));
  (*tunnel)->lose_answers();
  (*gate)->open_for_held();
  ASSERT_TRUE(lab::eventually(kPatience, [&] { return bound(names(gang)) == gang.size; }));
  // Room for it would be only where the gang is.
  add(PodShape{.name = "other", .milli_cpus = 12'000});
  (*tunnel)->cut();
  ASSERT_TRUE(run(names(gang)));
  ASSERT_TRUE(wait_in_vain({"other"}));
  EXPECT_TRUE(lab::eventually(kPatience, [&] {
    return extender().figure(R"(pinion_extender_binds_total{result="bound"})") == gang.size;
  }));
  EXPECT_EQ(extender().figure(R"(pinion_extender_binds_total{result="refused"})"), 0);
  remove(names(gang));
  EXPECT_TRUE(run({"other"}));
}

// `ignorable: true`: the scheduler goes on by itself, and the extender finds out what it has done.
TEST_F(Disturbance, WhereItMayBeIgnoredTheSchedulerBindsWithoutTheExtender) {
  start(1, {.extender = ExtenderCall{.url = {}, .ignorable = true}});
  extender().kill();
  add(PodShape{.name = "plain", .milli_cpus = 500, .burstable = true});
  EXPECT_TRUE(pods().wait_for("plain", [](const auto& pod) { return !node_of(pod).empty(); }));
  agents().expect_no_plan("pinned");
  add(PodShape{.name = "pinned", .milli_cpus = 12'000});
  EXPECT_TRUE(run({"pinned"}));
  ASSERT_TRUE(ok(extender().restart()));
  EXPECT_TRUE(agents_and_extender_agree());
  add(PodShape{.name = "after", .milli_cpus = 12'000});
  EXPECT_TRUE(run({"after"}));
}

TEST_F(Disturbance, WhereItMustNotBeIgnoredEveryPodWaitsForTheExtender) {
  start(1, {.extender = ExtenderCall{.url = {}, .ignorable = false}});
  extender().kill();
  const std::vector<std::string> names{"plain", "pinned"};
  add(PodShape{.name = "plain", .milli_cpus = 500, .burstable = true});
  add(PodShape{.name = "pinned", .milli_cpus = 12'000});
  ASSERT_TRUE(wait_in_vain(names));
  ASSERT_TRUE(ok(extender().restart()));
  EXPECT_TRUE(run({"pinned"}));
  EXPECT_TRUE(pods().wait_for("plain", [](const auto& pod) { return !node_of(pod).empty(); }));
}

// What was bound before must not be promised to others by a new process.
TEST_F(Disturbance, AnExtenderThatBeginsAnewKnowsWhatIsBound) {
  start(1);
  add(PodShape{.name = "before", .milli_cpus = 12'000});
  ASSERT_TRUE(run({"before"}));
  agents().kill_agent("node-0");
  extender().kill();
  ASSERT_TRUE(ok(extender().restart(false)));
  ASSERT_TRUE(ok(agents().restart_agent("node-0")));
  add(PodShape{.name = "after-0", .milli_cpus = 12'000, .annotations = {{"pinion.dev/job", "a"}}});
  ASSERT_TRUE(run({"after-0"}));
  EXPECT_FALSE(nodes().held().at("before").cpus.intersects(nodes().held().at("after-0").cpus));
}

TEST_F(Disturbance, TheApiServerIsKilledWhileAGangIsHeld) {
  start(4);
  begin_gang();
  cluster().kill_api_server();
  ASSERT_TRUE(ok(cluster().restart_api_server()));
  end_gang();
}

TEST_F(Disturbance, AllAgentsAreKilledWhileAGangIsHeld) {
  start(4);
  begin_gang();
  for (const auto& [node, address] : nodes().addresses()) agents().kill_agent(node);
  for (const auto& [node, address] : nodes().addresses()) {
    ASSERT_TRUE(ok(agents().restart_agent(node)));
  }
  end_gang();
}

TEST_F(Disturbance, AnUrgentPodMovesOthersAwayWhereThatMakesAHole) {
  const std::vector<std::string> low{"low-0", "low-1", "low-2", "low-3"};
  start_full(low);
  const PodShape urgent{
      .name = "urgent", .milli_cpus = 14'000, .annotations = {{"pinion.dev/job", "urgent"}}};
  add_urgent(urgent);
  ASSERT_TRUE(run({"urgent"}));
  // One had to go, and was enough.
  EXPECT_TRUE(pods().wait([&](const auto& all) { return all.size() == 4; }));
  EXPECT_EQ(bound(low), 3);
}

// A gang that waits for one of its own, and whose priority is lower, keeps no urgent pod waiting;
// who runs stays.
TEST_F(Disturbance, AnUrgentPodHasThePlaceOfAGangThatMerelyHoldsIt) {
  start_full({"low-0", "low-1", "low-2", "low-3"});
  remove({"low-1", "low-2", "low-3"});
  const Gang held{.job = "held", .size = 3, .cpus = 12};
  ASSERT_TRUE(begin(held));
  const PodShape urgent{.name = "urgent", .milli_cpus = 14'000};
  add_urgent(urgent);
  ASSERT_TRUE(run({"urgent"}));
  EXPECT_EQ(bound({"low-0"}), 1);
  finish(held);
  EXPECT_TRUE(wait_in_vain(names(held)));
  remove({"urgent", "low-0"});
  EXPECT_TRUE(run(names(held)));
}

// Of 14 CPUs there is room for eight where eight of 12 go; a ninth has none, whoever goes.
TEST_F(Disturbance, AnUrgentGangMovesOthersAwayOnlyWhereAllOfItFits) {
  std::vector<std::string> low;
  for (int i = 0; i < 8; ++i) low.push_back("low-" + std::to_string(i));
  start_full(low);
  const auto add_gang = [&](const Gang& gang) {
    for (int i = 0; i < gang.size; ++i) add_urgent(member(gang, i));
  };
  const auto preempts = [&] {
    return extender().figure(
        R"(pinion_extender_http_calls_total{verb="preempt",result="answered"})");
  };
  const Gang nine{.job = "nine", .size = 9, .cpus = 14};
  add_gang(nine);
  ASSERT_TRUE(wait_in_vain(names(nine)));
  ASSERT_TRUE(
      lab::eventually(lab::Milliseconds(kPatience), [&] { return preempts() >= nine.size; }));
  EXPECT_EQ(bound(low), 8);
  remove(names(nine));
  const Gang two{.job = "two", .size = 2, .cpus = 14};
  add_gang(two);
  EXPECT_TRUE(run(names(two)));
  EXPECT_EQ(bound(low), 6) << "no more had to go";
  remove(names(two));
  const Gang eight{.job = "eight", .size = 8, .cpus = 14};
  add_gang(eight);
  EXPECT_TRUE(run(names(eight)));
}

// What shares the other cores has requests too, which only the scheduler counts. It is there before
// both who plan, as each would hear of it in its own time. The node where it is:
class BesideNoise : public Disturbance, public testing::WithParamInterface<const char*> {};

TEST_P(BesideNoise, AGangGoesWhereTheSchedulerHasRoomForAllOfIt) {
  start_nodes(2);
  nlohmann::json noise = pod_object({.name = "noise", .milli_cpus = 20'000, .burstable = true});
  noise["spec"]["nodeName"] = GetParam();
  ASSERT_TRUE(ok(admin().api().create("/api/v1/namespaces/default/pods", noise)));
  start_extender({});
  start_scheduler({});
  const Gang gang{.job = "gang", .size = 4, .cpus = 8};
  add(gang);
  EXPECT_TRUE(run(names(gang)));
  EXPECT_EQ(extender().figure("pinion_extender_nominated_total"), 0);
}

INSTANTIATE_TEST_SUITE_P(Disturbance, BesideNoise, testing::Values("node-0", "node-1"),
                         [](const auto& one) { return "Node" + std::string(one.param + 5); });

}  // namespace
}  // namespace pinion::e2e
