// What the extender writes of nodes, as another scheduler takes it: the real
// NodeResourceTopologyMatch of scheduler-plugins, with its own CRD.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/extender/kube/json_read.h"
#include "cluster/files/job_file.h"
#include "tests/e2e/scene.h"
#include "tests/lab/files.h"
#include "tests/support/machine.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kTopologies = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";

class NodeTopologies : public Scene {
 protected:
  void SetUp() override {
    const auto folder = topology_folder();
    if (!folder && folder.error().code == Errc::kNotFound) GTEST_SKIP() << folder.error().text;
    ASSERT_TRUE(ok(folder));
    Scene::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    add_their_crd(*folder + "/crd.yaml");
  }

  // `strength` of agents and extender alike; the scheduler asks the plugin alone.
  void start(int count, const topology::Topology& machine, topology::Strength strength,
             const std::string& strategy) {
    engine::Settings settings;
    settings.defaults.strength = strength;
    auto nodes = FakeNodes::start(cluster().access(), FakeNodes::sockets_in(cluster().folder()),
                                  node_names(count), machine, settings);
    ASSERT_TRUE(ok(nodes));
    use(*std::move(nodes));
    const bool required = strength == topology::Strength::kRequired;
    const std::string config = cluster().folder() + "/agent.yaml";
    ASSERT_TRUE(ok(lab::write_file(config, std::string("topologyManagerPolicy: ") +
                                               (required ? "single-numa-node" : "best-effort"))));
    ASSERT_TRUE(ok(admin().let_extender({"create", "patch"}, "noderesourcetopologies",
                                        "topology.node.k8s.io")));
    start_extender({"--node-resource-topology", "true", "--agent-config", config});
    if (HasFatalFailure()) return;
    SchedulerOptions options;
    options.topology_strategy = strategy;
    ASSERT_TRUE(ok(cluster().start_scheduler(options)));
  }

  // Bound without a scheduler.
  void put(const PodShape& shape, const std::string& node) {
    json pod = pod_object(shape);
    pod["spec"]["nodeName"] = node;
    ASSERT_TRUE(ok(admin().api().create("/api/v1/namespaces/default/pods", pod)));
    ASSERT_TRUE(run({shape.name}));
  }

  // As soon as the object says that so many CPUs are available in each zone.
  testing::AssertionResult says(const std::string& node, const std::vector<std::string>& cpus) {
    std::vector<std::string> said;
    const bool so = lab::eventually(kPatience, [&] {
      said.clear();
      const auto object = admin().api().get(std::string(kTopologies) + "/" + node);
      if (!object) return false;
      for (const json& zone : kube::json_at(*object, "zones")) {
        said.push_back(kube::json_text(zone.at("resources").at(0), "available"));
      }
      return said == cpus;
    });
    if (so) return testing::AssertionSuccess();
    return testing::AssertionFailure() << node << ": " << testing::PrintToString(said);
  }

 private:
  void add_their_crd(const std::string& file) {
    const auto text = lab::read_file(file);
    ASSERT_TRUE(ok(text));
    const auto objects = cluster::parse_objects(*text);
    ASSERT_TRUE(ok(objects));
    for (const json& object : *objects) {
      ASSERT_TRUE(ok(
          admin().api().create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object)));
    }
    ASSERT_TRUE(
        lab::eventually(kPatience, [&] { return admin().api().list(kTopologies).has_value(); }));
  }
};

topology::Topology two_numa_nodes() {
  return test_support::machine({.packages = 2, .cores_per_l3 = 16});
}

TEST_F(NodeTopologies, APodThatFitsTheNodeButNoNumaNodeWaits) {
  start(1, two_numa_nodes(), topology::Strength::kRequired, "LeastAllocated");
  ASSERT_TRUE(says("node-0", {"16", "16"}));
  add(PodShape{.name = "filler-0", .milli_cpus = 12'000});
  ASSERT_TRUE(run({"filler-0"}));
  ASSERT_TRUE(says("node-0", {"4", "16"}));
  add(PodShape{.name = "filler-1", .milli_cpus = 12'000});
  ASSERT_TRUE(run({"filler-1"}));
  ASSERT_TRUE(says("node-0", {"4", "4"}));
  add(PodShape{.name = "six", .milli_cpus = 6000});
  ASSERT_TRUE(wait_in_vain({"six"}));
  EXPECT_THAT(why_unscheduled(pods().now().at("six")), HasSubstr("cannot align container"));
  add(PodShape{.name = "four", .milli_cpus = 4000});
  EXPECT_TRUE(run({"four"}));
  remove({"filler-1"});
  EXPECT_TRUE(run({"six"}));
}

// The node with more room has it in two pieces.
TEST_F(NodeTopologies, ANodeWhereOneNumaNodeIsEnoughIsPreferred) {
  start(2, two_numa_nodes(), topology::Strength::kPreferred, "LeastNUMANodes");
  put({.name = "filler-0", .milli_cpus = 12'000}, "node-0");
  put({.name = "filler-1", .milli_cpus = 12'000}, "node-0");
  put({.name = "filler-2", .milli_cpus = 10'000}, "node-1");
  put({.name = "filler-3", .milli_cpus = 15'000}, "node-1");
  ASSERT_TRUE(says("node-0", {"4", "4"}));
  ASSERT_TRUE(says("node-1", {"6", "1"}));
  add(PodShape{.name = "six", .milli_cpus = 6000});
  ASSERT_TRUE(run({"six"}));
  EXPECT_EQ(node_of_pod("six"), "node-1");
}

// The plugin takes a zone's number for its place among them.
TEST_F(NodeTopologies, NumbersWithGapsDoNotEndTheScheduler) {
  topology::Facts facts = test_support::facts_of({.packages = 2, .cores_per_l3 = 16});
  for (auto& thread : facts.threads) thread.node *= 8;
  for (auto& memory : facts.memories) memory.node *= 8;
  start(2, test_support::machine(facts), topology::Strength::kRequired, "LeastAllocated");
  for (const char* node : {"node-0", "node-1"}) {
    ASSERT_TRUE(says(node, {"16", "0", "0", "0", "0", "0", "0", "0", "16"}));
  }
  add(PodShape{.name = "one", .milli_cpus = 16'000});
  EXPECT_TRUE(run({"one"}));
}

// More than eight of them the plugin expects only if it is told.
TEST_F(NodeTopologies, APodOfManyNumaNodesIsScored) {
  start(2, test_support::machine({.packages = 16, .cores_per_l3 = 2}),
        topology::Strength::kPreferred, "LeastNUMANodes");
  for (const char* node : {"node-0", "node-1"}) {
    ASSERT_TRUE(says(node, std::vector<std::string>(16, "2")));
  }
  add(PodShape{.name = "wide", .milli_cpus = 20'000});
  EXPECT_TRUE(run({"wide"}));
}

}  // namespace
}  // namespace pinion::e2e
