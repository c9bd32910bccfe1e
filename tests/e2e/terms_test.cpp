// What decides beside free cores: cordons, taints, what all pods on a node request, and a quota
// that lets only a part of a gang exist.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/quota.h"
#include "tests/e2e/scene.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class Terms : public Scene {
 protected:
  void change_node(const std::string& node, const json& spec) {
    ASSERT_TRUE(ok(
        admin().api().patch("/api/v1/nodes/" + node, kube::PatchKind::kMerge, {{"spec", spec}})));
  }
  void cordon(const std::string& node, bool closed) {
    change_node(node, {{"unschedulable", closed}});
  }
  // Pods without whole CPUs, whom the scheduler has placed before.
  void add_noise(const std::string& node, int cpus) {
    json noise =
        pod_object({.name = "noise-on-" + node, .milli_cpus = cpus * 1000, .burstable = true});
    noise["spec"]["nodeName"] = node;
    ASSERT_TRUE(ok(admin().api().create(kPods, noise)));
  }
  std::set<std::string> nodes_of(const Gang& gang) {
    std::set<std::string> found;
    for (const std::string& name : names(gang)) found.insert(node_of_pod(name));
    return found;
  }
  // The plan alone decided: kube-scheduler asked about nobody in vain, and took whom it was asked
  // to take. Not after a change, of which each of the two hears in its own time.
  void expect_right_at_once() {
    EXPECT_EQ(extender().figure(R"(pinion_extender_filters_total{result="refused"})"), 0);
    expect_none_given_up();
    EXPECT_EQ(extender().figure("pinion_extender_nominated_total"), 0);
  }
  void expect_none_given_up() {
    EXPECT_EQ(extender().figure(R"(pinion_extender_gang_plans_total{result="given_up"})"), 0);
  }
  bool is_gated(const std::string& name) {
    return !kube::json_at(pods().now().at(name), "spec", "schedulingGates").is_null();
  }
  void expect_gated(const Gang& gang) {
    for (const std::string& name : names(gang)) EXPECT_TRUE(is_gated(name)) << name;
  }
  // The node where the extender has promised cores that nobody has yet; "": there is none.
  std::string node_with_promise() {
    const auto page = extender().page("/v1/fleet");
    if (!page) return "";
    for (const json& node : kube::json_at(*page, "nodes")) {
      for (const json& numa : kube::json_at(node, "numa")) {
        if (kube::json_integer(numa, "freeCpus") < kube::json_integer(numa, "cpus")) {
          return kube::json_text(node, "name");
        }
      }
    }
    return "";
  }
};

TEST_F(Terms, ACordonedNodeIsInNoPlanUntilItIsOpenAgain) {
  start_nodes(2);
  cordon("node-0", true);
  start_extender({});
  start_scheduler({});
  const Gang first{.job = "first", .size = 2, .cpus = 12, .gates = true};
  add(first);
  ASSERT_TRUE(run(names(first)));
  EXPECT_EQ(nodes_of(first), std::set<std::string>{"node-1"});
  const Gang second{.job = "second", .size = 2, .cpus = 12, .gates = true};
  add(second);
  ASSERT_TRUE(told(names(second), "1 node is closed to it; no node has such a hole"));
  expect_gated(second);
  expect_right_at_once();
  cordon("node-0", false);
  ASSERT_TRUE(run(names(second)));
  EXPECT_EQ(nodes_of(second), std::set<std::string>{"node-0"});
  expect_none_given_up();
}

// Others of the gang are held for it: all of them go elsewhere, together.
TEST_F(Terms, AGangIsPlannedAnewWhenANodeOfItsPlanIsCordoned) {
  start(2);
  const Gang gang{.job = "gang", .size = 2, .cpus = 12};
  ASSERT_TRUE(begin(gang));
  const std::string planned = node_with_promise();
  ASSERT_NE(planned, "");
  cordon(planned, true);
  ASSERT_TRUE(lab::eventually(kPatience, [&] {
    return extender().figure(R"(pinion_extender_gang_plans_total{result="given_up"})") >= 1;
  }));
  EXPECT_EQ(bound(names(gang)), 0);
  finish(gang);
  ASSERT_TRUE(run(names(gang)));
  EXPECT_FALSE(nodes_of(gang).contains(planned));
  EXPECT_EQ(nodes_of(gang).size(), 1U);
}

TEST_F(Terms, ATaintKeepsOutWhoDoesNotTolerateIt) {
  start_nodes(2);
  change_node("node-0", {{"taints", json::array({{{"key", "example.com/batch"},
                                                  {"value", "yes"},
                                                  {"effect", "NoSchedule"}}})}});
  start_extender({});
  start_scheduler({});
  const Gang plain{.job = "plain", .size = 2, .cpus = 12, .gates = true};
  add(plain);
  ASSERT_TRUE(run(names(plain)));
  EXPECT_EQ(nodes_of(plain), std::set<std::string>{"node-1"});
  const Gang more{.job = "more", .size = 2, .cpus = 12, .gates = true};
  add(more);
  ASSERT_TRUE(told(names(more), "1 node is closed to it"));
  const Gang tolerant{.job = "tolerant", .size = 2, .cpus = 12, .gates = true};
  for (int i = 0; i < tolerant.size; ++i) {
    json pod = pod_object(member(tolerant, i));
    pod["spec"]["tolerations"] =
        json::array({{{"key", "example.com/batch"}, {"operator", "Exists"}}});
    ASSERT_TRUE(ok(admin().api().create(kPods, pod)));
  }
  ASSERT_TRUE(run(names(tolerant)));
  EXPECT_EQ(nodes_of(tolerant), std::set<std::string>{"node-0"});
  expect_gated(more);
  expect_right_at_once();
  remove(names(plain));
  EXPECT_TRUE(run(names(more)));
}

// They hold no core, so the agents say that all are free; on each node one of the gang has room
// beside them.
TEST_F(Terms, WhatBurstablePodsRequestCountsInPlans) {
  start_nodes(2);
  for (const char* node : {"node-0", "node-1"}) add_noise(node, 20);
  start_extender({});
  start_scheduler({});
  const Gang gang{.job = "gang", .size = 4, .cpus = 8, .gates = true};
  add(gang);
  ASSERT_TRUE(told(names(gang), "2 nodes have such a hole, room for 2"));
  expect_gated(gang);
  expect_right_at_once();
  remove({"noise-on-node-1"});
  ASSERT_TRUE(run(names(gang)));
  EXPECT_EQ(nodes_of(gang).size(), 2U);
  expect_none_given_up();
}

// Half of the gang exists, of higher priority than all others: it holds nothing, and nobody waits
// for it.
TEST_F(Terms, AQuotaThatAdmitsHalfAGangKeepsNothingFromOthers) {
  start(2);
  ASSERT_TRUE(ok(admin().add_priority_class("urgent", 1000)));
  auto quota = Quota::make(admin(), "urgent");
  ASSERT_TRUE(ok(quota));
  const Gang urgent{.job = "urgent", .size = 4, .cpus = 12, .gates = true};
  const auto add_member = [&](int index) {
    PodShape pod = member(urgent, index);
    pod.priority_class = "urgent";
    return lab::eventually(kPatience, [&] { return admin().add_pod(pod).has_value(); });
  };
  ASSERT_TRUE(ok(quota->admit(2, 0)));
  ASSERT_TRUE(add_member(0) && add_member(1));
  const Gang all{.job = "all", .size = 4, .cpus = 12, .gates = true};
  add(all);
  ASSERT_TRUE(run(names(all)));
  ASSERT_TRUE(told({"urgent-0", "urgent-1"}, "2 of 4 pods of its gang exist"));
  ASSERT_TRUE(ok(quota->admit(4, 2)));
  ASSERT_TRUE(add_member(2) && add_member(3));
  EXPECT_TRUE(run(names(urgent))) << "it may have others evicted now";
}

}  // namespace
}  // namespace pinion::e2e
