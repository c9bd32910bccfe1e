// pinion-extender between a real kube-scheduler, a real API server and agents that really stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/crd.h"
#include "tests/e2e/scene.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

class Placing : public Scene {
 protected:
  // The nodes of each task group.
  std::map<int, std::set<std::string>> nodes_of_groups(const Gang& gang) {
    std::map<int, std::set<std::string>> nodes;
    for (int i = 0; i < gang.size; ++i) {
      nodes[i % gang.groups].insert(node_of_pod(member(gang, i).name));
    }
    return nodes;
  }
  // Each group is on one node, and no other group is there.
  void expect_groups_apart(const Gang& gang) {
    std::set<std::string> taken;
    for (const auto& [group, nodes] : nodes_of_groups(gang)) {
      EXPECT_THAT(nodes, SizeIs(1)) << "group " << group;
      for (const std::string& node : nodes) EXPECT_TRUE(taken.insert(node).second) << node;
    }
  }
};

TEST_F(Placing, AGuaranteedPodGetsItsCores) {
  start(2);
  add(PodShape{.name = "one", .milli_cpus = 4000});
  add(PodShape{.name = "noise", .milli_cpus = 500, .burstable = true});
  ASSERT_TRUE(run({"one"}));
  EXPECT_EQ(nodes().held().at("one").cpus.count(), 4);
  EXPECT_TRUE(pods().wait_for("noise", [](const auto& pod) { return !node_of(pod).empty(); }));
}

// The paper's jobs of 16 tasks on four nodes: policy `scale` makes four workers of four tasks, each
// a group of its own; `granularity` sixteen workers of one in four groups.
TEST_F(Placing, GroupsLandAsAlgorithm4Says) {
  start(4);
  for (const Gang& gang : {Gang{.job = "scale", .size = 4, .cpus = 4, .groups = 4},
                           Gang{.job = "granularity", .size = 16, .cpus = 1, .groups = 4}}) {
    add(gang);
    ASSERT_TRUE(run(names(gang))) << gang.job;
    expect_groups_apart(gang);
  }
}

TEST_F(Placing, AGangThatDoesNotFitWaitsAndStartsWholeLater) {
  start(4);
  const auto fillers = fill_nodes(4);
  const Gang gang{.job = "large", .size = 8, .cpus = 8};
  add(gang);
  ASSERT_TRUE(wait_in_vain(names(gang)));
  EXPECT_TRUE(pods().wait_for("large-0", [](const auto& pod) {
    return why_unscheduled(pod).find("needs 8 x 8 CPUs") != std::string::npos;
  }));
  // Each filler's end makes room for two, so three are one too few. What comes later and fits shows
  // that the scheduler has been round.
  remove({fillers[0], fillers[1], fillers[2]});
  add(PodShape{.name = "small", .milli_cpus = 500});
  ASSERT_TRUE(pods().wait_for("small", [](const auto& pod) { return !node_of(pod).empty(); }));
  ASSERT_TRUE(wait_in_vain(names(gang)));
  remove({fillers[3]});
  EXPECT_TRUE(run(names(gang)));
}

TEST_F(Placing, TwoGangsThatEachCouldTakeHalfDoNotBlockEachOther) {
  start(4);  // eight holes of 16
  const Gang a{.job = "a", .size = 6, .cpus = 12};
  const Gang b{.job = "b", .size = 6, .cpus = 12};
  for (int i = 0; i < a.size; ++i) {
    add(member(a, i));
    add(member(b, i));
  }
  const bool one = nodes().wait([&] { return nodes().held().size() >= 6; });
  ASSERT_TRUE(one);
  const bool a_runs = nodes().held().contains("a-0");
  const Gang& first = a_runs ? a : b;
  const Gang& second = a_runs ? b : a;
  ASSERT_TRUE(run(names(first)));
  ASSERT_TRUE(wait_in_vain(names(second)));
  remove(names(first));
  EXPECT_TRUE(run(names(second)));
}

// One of each of five gangs exists, and would fill a NUMA node: there are four.
TEST_F(Placing, LoneMembersOfGangsHoldNothing) {
  start(2);
  std::vector<std::string> lone;
  for (int i = 0; i < 5; ++i) {
    const Gang gang{.job = "gang-" + std::to_string(i), .size = 2, .cpus = 15};
    add(member(gang, 0));
    lone.push_back(names(gang).front());
  }
  ASSERT_TRUE(wait_in_vain(lone));
  ASSERT_TRUE(run(fill_cores({15, 15, 15, 15}))) << "nobody waits for who holds nothing";
  EXPECT_TRUE(wait_in_vain(lone));
}

// A PodGroup as the MPI operator makes one: the launcher counts, and asks for no whole CPU here.
TEST_F(Placing, APodGroupStartsTogetherAndMoreOfItLater) {
  ASSERT_TRUE(ok(add_crd(admin().api(), kPodGroup)));
  start(1);  // two holes of 16
  const auto of_group = [](PodShape pod) {
    pod.labels = {{"scheduling.x-k8s.io/pod-group", "j1"}};
    return pod;
  };
  add(PodShape{.name = "filler", .milli_cpus = 12'000});
  ASSERT_TRUE(run({"filler"}));
  add(of_group({.name = "launcher", .milli_cpus = 500, .burstable = true}));
  const std::vector<std::string> workers{"worker-0", "worker-1", "worker-2"};
  for (const std::string& name : workers) add(of_group({.name = name, .milli_cpus = 8000}));
  ASSERT_TRUE(wait_in_vain(workers));
  EXPECT_THAT(why_unscheduled(pods().now().at("worker-0")), HasSubstr("waits for its PodGroup j1"));

  const json group = {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                      {"kind", "PodGroup"},
                      {"metadata", {{"name", "j1"}, {"namespace", "default"}}},
                      {"spec", {{"minMember", 4}}}};
  ASSERT_TRUE(ok(admin().api().create(path_of(kPodGroup), group)));
  ASSERT_TRUE(pods().wait_for("worker-0", [](const auto& pod) {
    return why_unscheduled(pod).find("needs 3 x 8 CPUs") != std::string::npos;
  }));
  EXPECT_EQ(bound(workers), 0) << "two of them have room";
  remove({"filler"});
  ASSERT_TRUE(run(workers));
  add(of_group({.name = "worker-3", .milli_cpus = 4000}));
  EXPECT_TRUE(run({"worker-3"})) << "one more than the group needs";
}

// Gangs whose pods wait at the extender's gate.
class Gates : public Placing {
 protected:
  // Questions to which the answer was no node.
  double refused() {
    return extender().figure(R"(pinion_extender_filters_total{result="refused"})");
  }
};

TEST_F(Gates, AreTakenOffWhenAllAreThereAndHaveTheirPlaces) {
  start(4);
  const Gang gang{.job = "gang", .size = 6, .cpus = 12, .groups = 2, .gates = true};
  for (int i = 0; i + 1 < gang.size; ++i) add(member(gang, i));
  ASSERT_TRUE(told(names(gang), "5 of 6 pods of its gang exist"));
  EXPECT_EQ(bound(names(gang)), 0);
  add(member(gang, gang.size - 1));
  ASSERT_TRUE(run(names(gang)));
  EXPECT_EQ(refused(), 0) << "nobody was asked about before it could start";
}

TEST_F(Gates, OfTwoGangsThatEachCouldTakeHalfOnesAreTakenOff) {
  start(4);  // eight holes of 16
  const Gang a{.job = "a", .size = 6, .cpus = 12, .gates = true};
  const Gang b{.job = "b", .size = 6, .cpus = 12, .gates = true};
  for (int i = 0; i < a.size; ++i) {
    add(member(a, i));
    add(member(b, i));
  }
  ASSERT_TRUE(nodes().wait([&] { return nodes().held().size() >= 6; }));
  const bool a_runs = nodes().held().contains("a-0");
  const Gang& first = a_runs ? a : b;
  const Gang& second = a_runs ? b : a;
  ASSERT_TRUE(run(names(first)));
  ASSERT_TRUE(told(names(second), "needs 6 x 12 CPUs"));
  EXPECT_EQ(bound(names(second)), 0);
  remove(names(first));
  EXPECT_TRUE(run(names(second)));
  EXPECT_EQ(refused(), 0);
}

// What is on the pods is all that the next one knows.
TEST_F(Gates, ThatAreOffInPartWhenTheExtenderIsKilledGoOn) {
  start(4);
  const Gang gang{.job = "gang", .size = 8, .cpus = 12, .gates = true};
  for (int i = 0; i < 2; ++i) {
    PodShape open = member(gang, i);
    open.gang_gate = false;
    add(open);
  }
  ASSERT_TRUE(wait_in_vain({"gang-0", "gang-1"}));
  extender().kill();
  for (int i = 2; i < gang.size; ++i) add(member(gang, i));
  ASSERT_TRUE(ok(extender().restart()));
  ASSERT_TRUE(run(names(gang)));
  remove(names(gang));

  const Gang next{.job = "next", .size = 8, .cpus = 12, .gates = true};
  add(next);
  ASSERT_TRUE(pods().wait([](const Collection::Objects& all) {
    return std::any_of(all.begin(), all.end(), [](const auto& entry) {
      return entry.first.starts_with("next-") &&
             kube::json_at(entry.second, "spec", "schedulingGates").is_null();
    });
  }));
  extender().kill();
  ASSERT_TRUE(ok(extender().restart()));
  EXPECT_TRUE(run(names(next)));
}

// Wherever it is planned first.
TEST_F(Gates, OfAGangThatIsPlannedOnACordonedNodeAreOffWhenItGoesElsewhere) {
  start(2);
  ASSERT_TRUE(ok(admin().api().patch("/api/v1/nodes/node-0", kube::PatchKind::kMerge,
                                     {{"spec", {{"unschedulable", true}}}})));
  const Gang gang{.job = "gang", .size = 2, .cpus = 12, .gates = true};
  add(gang);
  ASSERT_TRUE(run(names(gang)));
  EXPECT_EQ(node_of_pod("gang-0") + node_of_pod("gang-1"), "node-1node-1");
}

// The scheduler evicts only for those that it is asked to place.
TEST_F(Gates, AreNoObstacleToEvictions) {
  start(1);
  const Gang gang{.job = "gang", .size = 2, .cpus = 12, .gates = true};
  add(gang);
  ASSERT_TRUE(run(names(gang)));
  ASSERT_TRUE(ok(admin().add_priority_class("urgent", 1000)));
  for (int i = 0; i < 2; ++i) {
    PodShape urgent = member({.job = "urgent", .size = 2, .cpus = 14, .gates = true}, i);
    urgent.priority_class = "urgent";
    // Admission knows a new class a moment later.
    ASSERT_TRUE(lab::eventually(lab::Milliseconds(kPatience),
                                [&] { return admin().add_pod(urgent).has_value(); }));
  }
  EXPECT_TRUE(run({"urgent-0", "urgent-1"}));
}

TEST_F(Placing, ANodeLosesItsStartupTaintOnceItsAgentIsReady) {
  start_nodes(2);
  ASSERT_TRUE(ok(admin().add_node("lonely", {})));
  const json ours = {{"key", "pinion.dev/agent-not-ready"}, {"effect", "NoSchedule"}};
  const json other = {{"key", "example.com/other"}, {"effect", "PreferNoSchedule"}};
  const json tainted = {{"spec", {{"taints", json::array({other, ours})}}}};
  for (const char* node : {"node-0", "node-1", "lonely"}) {
    ASSERT_TRUE(ok(admin().api().patch(std::string("/api/v1/nodes/") + node,
                                       kube::PatchKind::kMerge, tainted)));
  }
  ASSERT_TRUE(ok(admin().let_extender({"patch"}, "nodes")));
  start_extender({"--startup-taint", "true"});
  start_scheduler({});
  const std::vector<std::string> names{"one", "two", "three"};  // more than one node holds
  for (const std::string& name : names) add(PodShape{.name = name, .milli_cpus = 15'000});
  ASSERT_TRUE(run(names));
  const auto taints = [&](const char* node) {
    const auto now = admin().api().get(std::string("/api/v1/nodes/") + node);
    return now ? kube::json_at(*now, "spec", "taints") : json(now.error().text);
  };
  EXPECT_EQ(taints("node-0"), json::array({other}));
  EXPECT_EQ(taints("node-1"), json::array({other}));
  EXPECT_EQ(taints("lonely").size(), 2U) << "it has no agent";
}

}  // namespace
}  // namespace pinion::e2e
