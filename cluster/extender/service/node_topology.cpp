#include "cluster/extender/service/node_topology.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace pinion::cluster {
namespace {

using nlohmann::json;

std::string zone_name(topology::NodeId id) {
  return "node-" + std::to_string(id);
}

json resource(const char* name, std::uint64_t capacity, std::uint64_t allocatable,
              std::uint64_t available) {
  return {{"name", name},
          {"capacity", std::to_string(capacity)},
          {"allocatable", std::to_string(allocatable)},
          {"available", std::to_string(available)}};
}

std::uint64_t count(const topology::CpuSet& cpus) {
  return static_cast<std::uint64_t>(cpus.count());
}

json costs_of(const topology::Topology& machine, const topology::Node& numa) {
  json costs = json::array();
  for (std::size_t to = 0; to < numa.distance.size() && to < machine.nodes.size(); ++to) {
    costs.push_back({{"name", zone_name(machine.nodes[to].id)}, {"value", numa.distance[to]}});
  }
  return costs;
}

json zone_of(const FleetNode& node, std::size_t at) {
  const topology::Topology& machine = node.topology();
  const topology::Node& numa = machine.nodes[at];
  const topology::CpuSet allocatable = numa.cpus - node.ledger.reserved();
  const auto promised =
      std::min(numa.memory, node.ledger.promised(static_cast<topology::Index>(at)));
  json zone = {
      {"name", zone_name(numa.id)},
      {"type", "Node"},
      {"resources",
       json::array({resource("cpu", count(numa.cpus), count(allocatable),
                             count(allocatable - node.ledger.exclusive())),
                    resource("memory", numa.memory, numa.memory, numa.memory - promised)})}};
  if (json costs = costs_of(machine, numa); !costs.empty()) zone["costs"] = std::move(costs);
  return zone;
}

struct Manager {
  const char* policy;  // the attribute's value
  const char* level;   // the older field's
};

Manager manager_of(const policy::Defaults& defaults) {
  if (defaults.align == topology::Align::kNone || defaults.align == topology::Align::kSocket) {
    return {.policy = "none", .level = "None"};
  }
  if (defaults.strength == topology::Strength::kRequired) {
    return {.policy = "single-numa-node", .level = "SingleNUMANodeContainerLevel"};
  }
  return {.policy = "best-effort", .level = "BestEffortContainerLevel"};
}

}  // namespace

json node_topology(const FleetNode& node, const policy::Defaults& defaults) {
  json zones = json::array();
  const topology::Topology& machine = node.topology();
  for (std::size_t at = 0; at < machine.nodes.size(); ++at) {
    const topology::Node& numa = machine.nodes[at];
    if (!numa.cpus.empty() || numa.memory > 0) zones.push_back(zone_of(node, at));
  }
  const Manager manager = manager_of(defaults);
  return {
      {"apiVersion", "topology.node.k8s.io/v1alpha2"},
      {"kind", "NodeResourceTopology"},
      {"metadata", {{"name", node.name}}},
      {"topologyPolicies", json::array({manager.level})},
      {"attributes", json::array({{{"name", "topologyManagerPolicy"}, {"value", manager.policy}},
                                  {{"name", "topologyManagerScope"}, {"value", "container"}}})},
      {"zones", std::move(zones)}};
}

}  // namespace pinion::cluster
