// Virtual clusters as `pinionctl vc` shows them, from a list of pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ctl/vc/draw_virtual_clusters.h"
#include "ctl/vc/virtual_clusters.h"

namespace pinion::ctl {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

json ready(bool yes) {
  return {{"phase", "Running"},
          {"conditions", json::array({{{"type", "Ready"}, {"status", yes ? "True" : "False"}}})}};
}

// Of the chart.
json part(const char* component, const json& status) {
  return {{"metadata",
           {{"namespace", "hpc"},
            {"labels",
             {{"app.kubernetes.io/name", "pinion-virtual-cluster"},
              {"app.kubernetes.io/instance", "wind"},
              {"app.kubernetes.io/component", component}}}}},
          {"status", status}};
}

json running(const char* container) {
  return {{"name", container}, {"state", {{"running", json::object()}}}};
}

// Of the chart, with Slurm's container running.
json slurm_node(const char* name, const char* node) {
  json pod = part("node", ready(true));
  pod["metadata"]["name"] = name;
  pod["spec"]["nodeName"] = node;
  pod["status"]["containerStatuses"] = json::array({running("slurm")});
  return pod;
}

json placeholder(const char* job, const char* cpus, const char* node, int size = 1) {
  const json resources = {{"requests", {{"cpu", cpus}}}};
  json pod = {
      {"metadata",
       {{"namespace", "hpc"},
        {"labels",
         {{"app.kubernetes.io/name", "pinion-placeholder"},
          {"pinion.dev/slurm-cluster", "wind"},
          {"pinion.dev/slurm-job", job}}},
        {"annotations",
         {{"pinion.dev/gang-size", std::to_string(size)},
          {"pinion.dev/lend-to", "wind-node-*/slurm"}}}}},
      {"spec", {{"containers", json::array({{{"resources", resources}}})}}},
      {"status", {{"phase", "Running"}, {"containerStatuses", json::array({running("cores")})}}}};
  if (*node != '\0') {
    pod["spec"]["nodeName"] = node;
  } else {
    const json reason = {{"type", "PodScheduled"},
                         {"status", "False"},
                         {"reason", "Unschedulable"},
                         {"message", "0/2 nodes are available"}};
    pod["status"] = {{"phase", "Pending"}, {"conditions", json::array({reason})}};
  }
  return pod;
}

std::vector<VirtualCluster> read(const std::vector<json>& pods) {
  const auto clusters = read_virtual_clusters(json{{"items", pods}}.dump());
  EXPECT_TRUE(clusters);
  return clusters.value_or(std::vector<VirtualCluster>());
}

TEST(VirtualClusters, AreTheirPartsAndTheirJobs) {
  const auto clusters =
      read({part("controller", ready(true)), slurm_node("wind-node-x", "a"),
            slurm_node("wind-node-y", "b"), part("node", ready(false)), part("login", ready(true)),
            placeholder("7", "4", "b", 2), placeholder("7", "4", "a", 2),
            placeholder("9", "8", "a", 2), placeholder("9", "8", "", 2)});
  EXPECT_EQ(draw_virtual_clusters(clusters),
            "CLUSTER   NODES  READY  RUNNING  WAITING  LENT  WANTED  CONTROLLER\n"
            "hpc/wind      3      2        1        1    16       8  ready\n");
  EXPECT_EQ(draw_virtual_jobs(clusters),
            "CLUSTER   JOB  STATE  CPUS  NODES  WHY\n"
            "hpc/wind    7  runs      8  a,b    -\n"
            "hpc/wind    9  waits    16  a      0/2 nodes are available\n");
  const json document = json::parse(virtual_clusters_json(clusters));
  ASSERT_THAT(document, SizeIs(1));
  EXPECT_EQ(document[0]["cpusLent"], 16);
  EXPECT_EQ(document[0]["jobs"][1], json({{"job", 9},
                                          {"state", "waits"},
                                          {"cpus", 16},
                                          {"cpusLent", 8},
                                          {"nodes", {"a"}},
                                          {"why", "0/2 nodes are available"}}));
}

// As the agent does it: both containers run, and the placeholder says to whom.
TEST(VirtualClusters, CountAsLentOnlyWhatIsLent) {
  const auto lent = [](const json& pod, const json& borrower) {
    const VirtualCluster cluster = read({pod, borrower}).at(0);
    EXPECT_EQ(cluster.cpus_wanted(), 4 - cluster.cpus_lent());
    return cluster.cpus_lent();
  };
  const json pod = placeholder("7", "4", "a");
  const json slurm = slurm_node("wind-node-x", "a");
  EXPECT_EQ(lent(pod, slurm), 4);
  EXPECT_EQ(lent(pod, slurm_node("wind-node-x", "b")), 0) << "on another node";
  EXPECT_EQ(lent(pod, slurm_node("other", "a")), 0);
  json starts = slurm;
  starts["status"]["containerStatuses"][0]["state"] = {{"waiting", json::object()}};
  EXPECT_EQ(lent(pod, starts), 0);
  starts = pod;
  starts["status"]["containerStatuses"][0]["state"] = {{"waiting", json::object()}};
  EXPECT_EQ(lent(starts, slurm), 0);
  json keeps = pod;
  keeps["metadata"]["annotations"].erase("pinion.dev/lend-to");
  EXPECT_EQ(lent(keeps, slurm), 0);
  EXPECT_EQ(read({pod}).at(0).cpus_lent(), 4) << "without the chart";
}

TEST(VirtualClusters, SayWhyTheirControllerIsNotReady) {
  json broken = part("controller", ready(false));
  broken["status"]["containerStatuses"] =
      json::array({{{"state", {{"waiting", {{"reason", "CrashLoopBackOff"}}}}}}});
  EXPECT_EQ(read({broken}).at(0).controller, "CrashLoopBackOff");
  EXPECT_EQ(read({part("controller", ready(false))}).at(0).controller, "not ready");
  EXPECT_EQ(read({part("controller", {{"phase", "Pending"}})}).at(0).controller, "Pending");
  EXPECT_EQ(read({placeholder("7", "1", "a")}).at(0).controller, "-") << "without the chart";
}

TEST(VirtualClusters, WithoutAPlaceholderThatIsMissingAJobWaits) {
  const auto clusters = read({placeholder("7", "4", "a", 2)});
  ASSERT_THAT(clusters.at(0).jobs, SizeIs(1));
  EXPECT_FALSE(clusters.at(0).jobs[0].runs);
  EXPECT_THAT(clusters.at(0).jobs[0].nodes, ElementsAre("a"));
}

TEST(VirtualClusters, WhoseJobIsNotPlannedYetSayWhereTheReasonStands) {
  json gated = placeholder("7", "4", "", 2);
  gated["status"]["conditions"][0]["reason"] = "SchedulingGated";
  EXPECT_EQ(read({gated}).at(0).jobs.at(0).why, "it is not planned yet; squeue -o %k says why");
}

TEST(VirtualClusters, OfWhichAllIsOverOrBeingDeletedAreNotShown) {
  json leaving = placeholder("7", "4", "a");
  leaving["metadata"]["deletionTimestamp"] = "2026-11-25T00:00:00Z";
  EXPECT_THAT(read({leaving}), IsEmpty());
  for (const char* phase : {"Succeeded", "Failed"}) {
    json over = placeholder("7", "4", "a");
    over["status"]["phase"] = phase;
    EXPECT_THAT(read({over}), IsEmpty()) << phase;
  }
  EXPECT_EQ(draw_virtual_clusters({}), "no virtual clusters\n");
  EXPECT_EQ(draw_virtual_jobs({}), "no jobs with placeholders\n");
  EXPECT_EQ(virtual_clusters_json({}), "[]\n");
}

TEST(VirtualClusters, AreNotHurtByWhatAServerSays) {
  EXPECT_FALSE(read_virtual_clusters("nonsense"));
  EXPECT_FALSE(read_virtual_clusters(R"({"items":7})"));
  EXPECT_THAT(read({json(7), json::object(), placeholder("no number", "4", "a")}), IsEmpty());
  json wild = placeholder("7", "much", "\x1b[2J");
  wild["spec"]["containers"].push_back(7);
  wild["status"]["conditions"] = "none";
  const std::string text = draw_virtual_jobs(read({wild}));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("?[2J"));
}

}  // namespace
}  // namespace pinion::ctl
