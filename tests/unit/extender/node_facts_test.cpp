// What the API server says of nodes, and the plans of gangs. Nodes a and b, of one NUMA node with 7
// CPUs to give each.
#include "tests/unit/extender/pod_scheduler_scene.h"

#include <gmock/gmock.h>

namespace pinion::cluster {
namespace {

using testing::HasSubstr;

class NodeFactsTest : public PodSchedulerTest {
 protected:
  static constexpr ResourceList kNode{.milli_cpus = 8000, .memory = 64 << 20, .members = 110};

  struct Says {
    std::string taint{};
    std::map<std::string, std::string> labels{};
    ResourceList allocatable = kNode;
  };
  void node(const std::string& name, const Says& says) {
    NodeView view;
    view.name = name;
    if (!says.taint.empty()) {
      view.taints = {{.key = says.taint, .value = {}, .effect = "NoSchedule"}};
    }
    view.labels = says.labels;
    view.allocatable = says.allocatable;
    pod_scheduler_.node(view, now_);
  }
  static ResourceList cpus(std::int64_t milli) {
    return {.milli_cpus = milli, .memory = 1 << 20, .members = 1};
  }
  // No member of anything.
  void burstable(const std::string& uid, const std::string& node, std::int64_t milli) {
    Pod pod = pod_of(uid, 1);
    pod.qos = policy::Qos::kBurstable;
    pod.node = node;
    pod.requests = cpus(milli);
    pod_scheduler_.seen(pod, now_);
  }
  std::vector<Pod> gang(const std::string& job, int size, int each, const NodeDemand& nodes = {}) {
    std::vector<Pod> pods;
    for (int i = 0; i < size; ++i) {
      pods.push_back(member_of(job, i, size, each));
      pods.back().requests = cpus(1000 * each);
      pods.back().nodes = nodes;
    }
    for (const Pod& pod : pods) pod_scheduler_.seen(pod, now_);
    return pods;
  }
  // Where the members are planned, one after another: "ab"; or why they are not.
  std::string planned(const std::vector<Pod>& pods) {
    std::string nodes;
    for (const Pod& pod : pods) nodes += filtered(pod);
    return nodes.empty() ? answer_.why : nodes;
  }
};

TEST_F(NodeFactsTest, ANodeThatIsCordonedOrTaintedIsNotPlannedFor) {
  for (const char* taint : {"node.kubernetes.io/unschedulable", "gpu"}) {
    SCOPED_TRACE(taint);
    node("a", {.taint = taint});
    node("b", {});
    const auto two = gang(taint, 2, 3);
    EXPECT_EQ(planned(two), "bb");
    for (const Pod& pod : two) pod_scheduler_.gone(pod.uid, now_);
  }
}

TEST_F(NodeFactsTest, WhoseOnlyNodesAreClosedIsToldSoAndPlannedWhenOneOpens) {
  node("a", {.taint = "gpu"});
  node("b", {.taint = "gpu"});
  const auto two = gang("j", 2, 3);
  EXPECT_THAT(planned(two), HasSubstr("2 nodes are closed to it; no node could give that"));
  EXPECT_TRUE(answer_.texts.at(0).hopeless) << "evicting nobody would help";
  node("b", {});
  EXPECT_EQ(planned(two), "bb");
}

TEST_F(NodeFactsTest, AClosingNodeTakesThePlanAlong) {
  node("a", {});
  node("b", {});
  const auto two = gang("j", 2, 3);
  const std::string before = planned(two);
  ASSERT_TRUE(before == "aa" || before == "bb") << before;
  const std::string node_of = before.substr(0, 1);
  node(node_of, {.taint = "node.kubernetes.io/unschedulable"});
  EXPECT_EQ(pod_scheduler_.gang_counters().given_up, 1U);
  EXPECT_EQ(planned(two), node_of == "a" ? "bb" : "aa");
}

TEST_F(NodeFactsTest, WhoRunsOnANodeThatClosesStays) {
  node("a", {});
  node("b", {});
  Pod pod = pod_of("p", 3);
  pod.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  node("a", {.taint = "node.kubernetes.io/unschedulable"});
  EXPECT_EQ(pod_scheduler_.book().member("p")->node, "a");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 1U);
}

TEST_F(NodeFactsTest, TolerationsAndSelectorsSayWhichNodesAGangMayUse) {
  node("a", {.taint = "gpu", .labels = {{"zone", "z1"}}});
  node("b", {.taint = {}, .labels = {{"zone", "z2"}}});
  NodeDemand tolerant;
  tolerant.tolerations = {{.key = "gpu", .op = "Exists", .value = {}, .effect = {}}};
  NodeDemand bound = tolerant;
  bound.selector = {{"zone", "z1"}};
  EXPECT_EQ(planned(gang("bound", 2, 2, bound)), "aa");
  EXPECT_EQ(planned(gang("tolerant", 2, 3, tolerant)), "bb") << "a has room for one";
  NodeDemand nowhere;
  nowhere.selector = {{"zone", "z3"}};
  EXPECT_THAT(planned(gang("nowhere", 2, 1, nowhere)), HasSubstr("2 nodes are closed to it"));
  node("a", {.taint = {}, .labels = {{"zone", "z3"}}});
  EXPECT_EQ(planned(gang("nowhere", 2, 1, nowhere)), "aa") << "labels may change";
}

TEST_F(NodeFactsTest, MembersOfOneGangMayHaveDifferentNodes) {
  node("a", {.taint = {}, .labels = {{"role", "head"}}});
  node("b", {});
  auto pods = gang("j", 3, 2);
  pods[0].nodes.selector = {{"role", "head"}};
  for (int i = 0; i < 3; ++i) pod_scheduler_.gone(pods[static_cast<std::size_t>(i)].uid, now_);
  for (Pod& pod : pods) {
    pod.uid += "-again";
    pod_scheduler_.seen(pod, now_);
  }
  EXPECT_EQ(planned(pods).substr(0, 1), "a");
}

// kube-scheduler would refuse the second one on a node for ever.
TEST_F(NodeFactsTest, MembersThatMustNotMeetArePlannedOnNodesOfTheirOwn) {
  std::vector<Pod> pods{member_of("j", 0, 2, 2), member_of("j", 1, 2, 2)};
  for (Pod& pod : pods) {
    pod.apart = true;
    pod_scheduler_.seen(pod, now_);
  }
  EXPECT_NE(filtered(pods[0]), filtered(pods[1]));
  // What keeps pods by themselves apart is the scheduler's business.
  Pod single = pod_of("single", 2);
  single.apart = true;
  pod_scheduler_.seen(single, now_);
  EXPECT_EQ(filtered(single), "ab");
}

TEST_F(NodeFactsTest, WhatOtherPodsRequestIsNotPlannedOver) {
  node("a", {});
  node("b", {});
  burstable("web", "a", 5500);  // 7 CPUs are free there, 2.5 are not requested
  EXPECT_EQ(planned(gang("j", 3, 2)), "bbb");
  EXPECT_THAT(planned(gang("k", 2, 2)), HasSubstr("room for 1"));
  pod_scheduler_.gone("web", now_);
  EXPECT_EQ(planned(gang("k", 2, 2)), "aa");
}

TEST_F(NodeFactsTest, MembersOfGangsCountOnceAndFromTheirPlanOn) {
  node("a", {.taint = {}, .labels = {}, .allocatable = cpus(6000)});
  node("b", {.taint = "gpu"});
  const auto first = gang("j", 2, 2);
  ASSERT_THAT(planned(first), HasSubstr("room for 1")) << "one place for a pod";
  node("a", {.taint = {},
             .labels = {},
             .allocatable = {.milli_cpus = 6000, .memory = 64 << 20, .members = 110}});
  ASSERT_EQ(planned(first), "aa");
  EXPECT_THAT(planned(gang("k", 2, 1)), "aa") << "4 of 6 are taken, 2 of 7 free";
  EXPECT_THAT(planned(gang("l", 1, 1)), HasSubstr("too much"));
  for (Pod pod : first) {
    ASSERT_NE(bind(pod, "a", pod.uid.back() == '0' ? 1 : 2).kind, Kind::kRefuse);
  }
  for (Pod pod : first) {
    pod.node = "a";
    EXPECT_TRUE(pod_scheduler_.seen(pod, now_)) << "not counted again";
  }
  EXPECT_EQ(pod_scheduler_.fleet().node(pod_scheduler_.fleet().find("a")).spare.milli_cpus, 0);
  for (const Pod& pod : first) pod_scheduler_.gone(pod.uid, now_);
  EXPECT_EQ(pod_scheduler_.fleet().node(pod_scheduler_.fleet().find("a")).spare.milli_cpus, 4000);
}

TEST_F(NodeFactsTest, WhoIsBeingDeletedRequestsUntilItIsGone) {
  node("a", {});
  Pod pod = pod_of("p", 3);
  pod.requests = cpus(3000);
  pod.node = "a";
  const auto spare = [&] {
    return pod_scheduler_.fleet().node(pod_scheduler_.fleet().find("a")).spare.milli_cpus;
  };
  pod_scheduler_.seen(pod, now_);
  EXPECT_EQ(spare(), 5000);
  pod.over = true;
  pod_scheduler_.seen(pod, now_);
  EXPECT_EQ(pod_scheduler_.book().member("p"), nullptr);
  EXPECT_EQ(spare(), 5000);
  pod_scheduler_.gone("p", now_);
  EXPECT_EQ(spare(), 8000);
}

TEST_F(NodeFactsTest, WhatIsSaidBeforeTheAgentSpeaksCountsWhenItDoes) {
  node("c", {.taint = "gpu"});
  burstable("web", "d", 7000);
  node("d", {});
  for (const char* name : {"c", "d"}) {
    ASSERT_TRUE(pod_scheduler_.report(report_of(name, machine_), now_));
  }
  node("a", {.taint = "gpu"});
  node("b", {.taint = "gpu"});
  const auto one = gang("j", 2, 2);
  for (const Pod& pod : one) EXPECT_EQ(filtered(pod, {"a", "b", "c", "d"}), "") << pod.uid;
  EXPECT_THAT(answer_.why, HasSubstr("3 nodes are closed to it"));
  pod_scheduler_.lost("d", now_);
  pod_scheduler_.gone("web", now_);
  ASSERT_TRUE(pod_scheduler_.report(report_of("d", machine_), now_));
  EXPECT_EQ(filtered(one[0], {"a", "b", "c", "d"}), "d") << "nothing is said of the new one yet";
}

TEST_F(NodeFactsTest, WhatNoNodeCouldEverGiveIsToldOnce) {
  node("a", {});
  node("b", {});
  const auto two = gang("j", 2, 9);
  planned(two);
  planned(two);
  const auto effects = pod_scheduler_.take_effects();
  ASSERT_EQ(effects.hopeless.size(), 1U);
  EXPECT_THAT(effects.hopeless[0].why, HasSubstr("needs"));
  EXPECT_EQ(filtered(pod_of("single", 9)), "");
  EXPECT_EQ(pod_scheduler_.take_effects().hopeless.size(), 1U);
  EXPECT_EQ(filtered(pod_of("fits", 2), {"a"}), "a");
  EXPECT_EQ(pod_scheduler_.take_effects().hopeless.size(), 0U);
}

TEST_F(NodeFactsTest, APodOfAGangMayHaveSeveralContainersWithCores) {
  node("a", {});
  node("b", {});
  std::vector<Pod> pods;
  for (int i = 0; i < 2; ++i) {
    pods.push_back(member_of("j", i, 2, 3));
    pods.back().containers.push_back({.name = "beside", .milli_cpus = 2000, .memory = kGiB});
    pods.back().requests = cpus(5000);
  }
  for (const Pod& pod : pods) pod_scheduler_.seen(pod, now_);
  const std::string nodes = planned(pods);
  ASSERT_TRUE(nodes == "ab" || nodes == "ba") << nodes;
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 4U);
  EXPECT_EQ(bind(pods[0], nodes.substr(0, 1), 1).kind, Kind::kHold);
  EXPECT_EQ(bind(pods[1], nodes.substr(1, 1), 2).kind, Kind::kGo);
  EXPECT_THAT(pod_scheduler_.told_with_binding(pods[0].uid).at("pinion.dev/planned"),
              testing::AllOf(HasSubstr("main="), HasSubstr("beside=")));
  const auto third = gang("k", 2, 3);
  EXPECT_THAT(planned(third), HasSubstr("needs 2 x 3 CPUs"));
}

}  // namespace
}  // namespace pinion::cluster
