// A node of the fleet as other schedulers see it.
#include "cluster/extender/service/node_topology.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;

FleetNode node_of(const test_support::MachineSpec& spec, const char* reserved = "") {
  FleetNode node;
  node.name = "n";
  MachineKind kind;
  kind.topology = std::make_shared<const topology::Topology>(test_support::machine(spec));
  kind.reserved = *topology::CpuSet::parse(reserved);
  node.ledger = topology::Ledger(kind.reserved, false);
  node.kind = std::make_shared<const MachineKind>(std::move(kind));
  return node;
}

json amounts(const char* name, const char* capacity, const char* allocatable,
             const char* available) {
  return {{"name", name},
          {"capacity", capacity},
          {"allocatable", allocatable},
          {"available", available}};
}

TEST(NodeTopology, HasAZoneForEachNumaNode) {
  FleetNode node = node_of({.packages = 2, .cores_per_l3 = 4, .memory_per_node = 8 * kGiB}, "0");
  topology::Claim claim = claim_of("a", "4-6");
  claim.memory = {{.node = 1, .bytes = 2 * kGiB}};
  node.ledger.commit(claim);
  const json object = node_topology(node, policy::Defaults());
  EXPECT_EQ(object.at("apiVersion"), "topology.node.k8s.io/v1alpha2");
  EXPECT_EQ(object.at("kind"), "NodeResourceTopology");
  EXPECT_EQ(object.at("metadata").at("name"), "n");
  const json zones = json::array(
      {{{"name", "node-0"},
        {"type", "Node"},
        {"costs",
         json::array({{{"name", "node-0"}, {"value", 10}}, {{"name", "node-1"}, {"value", 32}}})},
        {"resources", json::array({amounts("cpu", "4", "3", "3"),
                                   amounts("memory", "8589934592", "8589934592", "8589934592")})}},
       {{"name", "node-1"},
        {"type", "Node"},
        {"costs",
         json::array({{{"name", "node-0"}, {"value", 32}}, {{"name", "node-1"}, {"value", 10}}})},
        {"resources",
         json::array({amounts("cpu", "4", "4", "1"),
                      amounts("memory", "8589934592", "8589934592", "6442450944")})}}});
  EXPECT_EQ(object.at("zones"), zones);
}

TEST(NodeTopology, CallsNodesByTheKernelsNumberAndLeavesEmptyOnesOut) {
  FleetNode node = node_of({.cores_per_l3 = 2, .memory_only_nodes = 1});
  const json object = node_topology(node, policy::Defaults());
  ASSERT_EQ(object.at("zones").size(), 2U);
  EXPECT_EQ(object.at("zones")[1].at("name"), "node-1");
  EXPECT_EQ(object.at("zones")[1].at("resources")[0], amounts("cpu", "0", "0", "0"))
      << "memory alone is a zone as well";
}

struct PolicyCase {
  topology::Align align;
  std::optional<topology::Strength> strength;
  const char* policy;
  const char* level;
};

TEST(NodeTopology, SaysHowTheAgentsPlace) {
  using topology::Align;
  using topology::Strength;
  const PolicyCase cases[] = {
      {Align::kNuma, Strength::kRequired, "single-numa-node", "SingleNUMANodeContainerLevel"},
      {Align::kL3, Strength::kRequired, "single-numa-node", "SingleNUMANodeContainerLevel"},
      {Align::kNuma, Strength::kPreferred, "best-effort", "BestEffortContainerLevel"},
      {Align::kNuma, std::nullopt, "best-effort", "BestEffortContainerLevel"},
      {Align::kSocket, Strength::kRequired, "none", "None"},
      {Align::kNone, std::nullopt, "none", "None"},
  };
  for (const PolicyCase& c : cases) {
    SCOPED_TRACE(c.policy);
    policy::Defaults defaults;
    defaults.align = c.align;
    defaults.strength = c.strength;
    const json object = node_topology(node_of({}), defaults);
    EXPECT_EQ(object.at("topologyPolicies"), json::array({c.level}));
    const json attributes =
        json::array({{{"name", "topologyManagerPolicy"}, {"value", c.policy}},
                     {{"name", "topologyManagerScope"}, {"value", "container"}}});
    EXPECT_EQ(object.at("attributes"), attributes);
  }
}

}  // namespace
}  // namespace pinion::cluster
