#include "cluster/slurm/pod_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinion::slurm {
namespace {

using nlohmann::json;

Create second_of_two() {
  Create create;
  create.job = 12;
  create.pod.name = "wind-12-500-0-0-1";
  create.pod.job = 12;
  create.pod.attempt = "12-500-0-0";
  create.pod.index = 1;
  create.pod.size = 2;
  create.pod.cpus = 3;
  create.pod.partition = "main";
  create.pod.list = "123";
  create.nodes = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"node-1", "node-2"});
  create.shape.cpus = 3;
  create.shape.memory_mib = 100;
  create.shape.profile = "cpu";
  return create;
}

PodTemplate wind() {
  PodTemplate all;
  all.cluster = "wind";
  all.lend_to = "wind-node-*/slurm";
  return all;
}

TEST(PodJson, IsGuaranteedAMemberOfItsGangAndLendsItsCores) {
  const json pod = pod_object(wind(), second_of_two());
  const json& annotations = pod["metadata"]["annotations"];
  EXPECT_EQ(annotations["pinion.dev/job"], "wind-12-500-0-0");
  EXPECT_EQ(annotations["pinion.dev/gang-size"], "2");
  EXPECT_EQ(annotations["pinion.dev/task-group"], "1");
  EXPECT_EQ(annotations["pinion.dev/profile"], "cpu");
  EXPECT_EQ(annotations["pinion.dev/lend-to"], "wind-node-*/slurm");
  const json& resources = pod["spec"]["containers"][0]["resources"];
  EXPECT_EQ(resources["limits"], json({{"cpu", "3"}, {"memory", "100Mi"}}));
  EXPECT_EQ(resources["requests"], resources["limits"]);
  EXPECT_EQ(pod["spec"]["schedulingGates"], json::parse(R"([{"name": "pinion.dev/gang"}])"));
  EXPECT_EQ(pod["spec"]["affinity"]["podAntiAffinity"]
               ["requiredDuringSchedulingIgnoredDuringExecution"][0]["topologyKey"],
            "kubernetes.io/hostname");
}

TEST(PodJson, ToleratesWhatItsNodesAreTaintedWith) {
  PodTemplate all = wind();
  EXPECT_FALSE(pod_object(all, second_of_two())["spec"].contains("tolerations"));
  all.tolerations = json::parse(R"([{"key":"hpc","operator":"Exists"}])");
  EXPECT_EQ(pod_object(all, second_of_two())["spec"]["tolerations"], all.tolerations);
}

TEST(PodJson, SaysWhyItDoesNotStart) {
  json pod = pod_object(wind(), second_of_two());
  pod["spec"]["nodeName"] = "n1";
  pod["status"] = json::parse(R"({"phase":"Pending",
      "conditions":[{"type":"PodScheduled","status":"True"}],
      "containerStatuses":[{"state":{"waiting":{"reason":"ContainerCreating"}}}]})");
  EXPECT_EQ(placeholder_of(wind(), pod)->why, "");
  pod["status"]["containerStatuses"][0]["state"]["waiting"] = {{"reason", "ImagePullBackOff"},
                                                               {"message", "no such image"}};
  EXPECT_EQ(placeholder_of(wind(), pod)->why, "ImagePullBackOff: no such image");
}

TEST(PodJson, ASingleOneHasNoGateAndNothingToKeepAwayFrom) {
  Create create = second_of_two();
  create.pod.size = 1;
  create.pod.index = 0;
  const json pod = pod_object(wind(), create);
  EXPECT_FALSE(pod["spec"].contains("schedulingGates"));
  EXPECT_FALSE(pod["spec"]["affinity"].contains("podAntiAffinity"));
}

TEST(PodJson, ItGoesOnlyToTheNodesThatItMayHave) {
  Create create = second_of_two();
  create.nodes =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"vc-a", "vc-b"});
  PodTemplate all = wind();
  all.node_name = "vc-{node}";
  const json pod = pod_object(all, create);
  EXPECT_EQ(
      pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
         ["nodeSelectorTerms"][0]["matchExpressions"][0],
      json({{"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", {"a", "b"}}}));
}

TEST(PodJson, IsReadAsItWasMadeAndAsItGoesOn) {
  json pod = pod_object(wind(), second_of_two());
  pod["metadata"]["uid"] = "u1";
  Placeholder wanted = second_of_two().pod;
  wanted.uid = "u1";
  EXPECT_EQ(placeholder_of(wind(), pod), wanted);

  pod["status"] = {
      {"phase", "Pending"},
      {"conditions",
       json::array(
           {{{"type", "PodScheduled"}, {"reason", "Unschedulable"}, {"message", "0/3 nodes"}}})}};
  EXPECT_EQ(placeholder_of(wind(), pod)->why, "0/3 nodes");

  pod["spec"]["nodeName"] = "node-2";
  pod["metadata"]["annotations"]["pinion.dev/planned"] = "side=1 cores=0-1,8";
  pod["status"]["phase"] = "Running";
  wanted.node = "node-2";
  wanted.cpu_list = "0-1,8";
  wanted.phase = Placeholder::Phase::kRunning;
  EXPECT_EQ(placeholder_of(wind(), pod), wanted);

  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  wanted.leaving = true;
  wanted.phase = Placeholder::Phase::kLost;
  EXPECT_EQ(placeholder_of(wind(), pod), wanted);

  PodTemplate other = wind();
  other.cluster = "sea";
  EXPECT_EQ(placeholder_of(other, pod), std::nullopt);
}

TEST(PodJson, ACpuListIsNothingElse) {
  json pod = pod_object(wind(), second_of_two());
  for (const char* planned : {"cores=0;reboot", "cores=$(x)", "xcores=1", ""}) {
    pod["metadata"]["annotations"]["pinion.dev/planned"] = planned;
    EXPECT_EQ(placeholder_of(wind(), pod)->cpu_list, "") << planned;
  }
}

TEST(PodJson, NamesOfNodesGoBothWays) {
  PodTemplate all;
  all.node_name = "vc-{node}.slurm";
  EXPECT_EQ(slurm_node(all, "n1"), "vc-n1.slurm");
  EXPECT_EQ(kubernetes_node(all, "vc-n1.slurm"), "n1");
  EXPECT_EQ(kubernetes_node(all, "n1"), "");
  EXPECT_EQ(kubernetes_node(all, "vc-.slurm"), "");
}

}  // namespace
}  // namespace pinion::slurm
