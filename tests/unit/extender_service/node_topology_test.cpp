// A node of the fleet as other schedulers see it.
#include "cluster/extender/service/node_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;
using testing::ElementsAre;

FleetNode node_of(const topology::Topology& machine, const char* reserved = "") {
  FleetNode node;
  node.name = "n";
  MachineKind kind;
  kind.topology = std::make_shared<const topology::Topology>(machine);
  kind.reserved = *topology::CpuSet::parse(reserved);
  node.ledger = topology::Ledger(kind.reserved, false);
  node.kind = std::make_shared<const MachineKind>(std::move(kind));
  node.holes = topology::holes_of(node.topology(), node.ledger);
  return node;
}

FleetNode node_of(const test_support::MachineSpec& spec, const char* reserved = "") {
  return node_of(test_support::machine(spec), reserved);
}

void commit(FleetNode& node, topology::Claim claim) {
  node.ledger.commit(std::move(claim));
  node.holes = topology::holes_of(node.topology(), node.ledger);
}

// What is available of the resource in each zone.
std::vector<std::string> available(const json& object, const char* resource) {
  std::vector<std::string> all;
  for (const json& zone : object.at("zones")) {
    for (const json& one : zone.at("resources")) {
      if (one.at("name") == resource) all.push_back(one.at("available"));
    }
  }
  return all;
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
  commit(node, claim);
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

TEST(NodeTopology, MemoryAloneIsAZone) {
  const json object =
      node_topology(node_of({.cores_per_l3 = 2, .memory_only_nodes = 1}, "0"), policy::Defaults());
  EXPECT_THAT(available(object, "cpu"), ElementsAre("1", "0"));
  EXPECT_THAT(available(object, "memory"), ElementsAre("17179869184", "17179869184"));
}

struct NumberCase {
  const char* name;
  std::vector<int> numbers;  // the kernel's
  std::vector<std::string> cpus;
  const char* most;
};

// scheduler-plugins 0.34.7 ends with a zone whose number is not its place, or is 64.
TEST(NodeTopology, NumbersZonesByPlace) {
  const NumberCase cases[] = {
      {"as usual", {0, 1}, {"2", "2"}, "8"},
      {"begins late", {2, 3}, {"0", "0", "2", "2"}, "8"},
      {"with a gap", {0, 8}, {"2", "0", "0", "0", "0", "0", "0", "0", "2"}, "9"},
      {"beyond what is seen", {1, 64}, {"0", "2"}, "8"},
      {"nothing is seen", {100, 101}, {}, "8"},
  };
  for (const NumberCase& c : cases) {
    SCOPED_TRACE(c.name);
    topology::Facts facts = test_support::facts_of({.packages = 2, .cores_per_l3 = 2});
    for (auto& thread : facts.threads) thread.node = c.numbers[thread.node == 0 ? 0 : 1];
    for (auto& memory : facts.memories) memory.node = c.numbers[memory.node == 0 ? 0 : 1];
    const json object = node_topology(node_of(test_support::machine(facts)), policy::Defaults());
    EXPECT_EQ(available(object, "cpu"), c.cpus);
    for (std::size_t at = 0; at < c.cpus.size(); ++at) {
      EXPECT_EQ(object.at("zones")[at].at("name"), "node-" + std::to_string(at));
    }
    EXPECT_EQ(object.at("attributes")[2],
              json({{"name", "topologyManagerMaxNUMANodes"}, {"value", c.most}}));
  }
}

struct FreeCase {
  const char* name;
  const char* reserved;
  const char* held;
  const char* isolated;
  std::vector<std::string> cpus;
};

// No more than an agent would give.
TEST(NodeTopology, SaysWhatOneContainerCouldGet) {
  const FreeCase cases[] = {
      {"all but what is held", "0", "1,4-5", "", {"2", "2"}},
      {"the last CPU stays shared", "", "0-3", "", {"0", "3"}},
      {"unless one is reserved", "0", "1-3", "", {"0", "4"}},
      {"one of two nodes may give its last", "", "0-1,4-5", "", {"2", "2"}},
      {"nothing is left", "0", "1-7", "", {"0", "0"}},
      {"isolated ones are for those who ask", "0", "", "2-3,7", {"1", "3"}},
  };
  for (const FreeCase& c : cases) {
    SCOPED_TRACE(c.name);
    FleetNode node = node_of(
        {.packages = 2, .cores_per_l3 = 4, .isolated = *topology::CpuSet::parse(c.isolated)},
        c.reserved);
    if (*c.held != '\0') commit(node, claim_of("a", c.held));
    EXPECT_EQ(available(node_topology(node, policy::Defaults()), "cpu"), c.cpus);
  }
}

struct PolicyCase {
  topology::Align align;
  std::optional<topology::Strength> strength;
  const char* policy;
};

TEST(NodeTopology, SaysHowTheAgentsPlace) {
  using topology::Align;
  using topology::Strength;
  const PolicyCase cases[] = {
      {Align::kNuma, Strength::kRequired, "single-numa-node"},
      {Align::kL3, Strength::kRequired, "single-numa-node"},
      {Align::kNuma, Strength::kPreferred, "best-effort"},
      {Align::kNuma, std::nullopt, "best-effort"},
      {Align::kSocket, Strength::kRequired, "none"},
      {Align::kNone, std::nullopt, "none"},
  };
  for (const PolicyCase& c : cases) {
    SCOPED_TRACE(c.policy);
    policy::Defaults defaults;
    defaults.align = c.align;
    defaults.strength = c.strength;
    const json object = node_topology(node_of(test_support::MachineSpec{}), defaults);
    const json attributes =
        json::array({{{"name", "topologyManagerPolicy"}, {"value", c.policy}},
                     {{"name", "topologyManagerScope"}, {"value", "container"}},
                     {{"name", "topologyManagerMaxNUMANodes"}, {"value", "8"}}});
    EXPECT_EQ(object.at("attributes"), attributes);
  }
}

}  // namespace
}  // namespace pinion::cluster
