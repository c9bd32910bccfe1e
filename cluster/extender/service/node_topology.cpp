#include "cluster/extender/service/node_topology.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace pinion::cluster {
namespace {

using nlohmann::json;

// The plugin takes numbers for places in its list, and sees 64 of them at most.
constexpr topology::NodeId kMostZones = 64;
// Of which it expects no more, unless an attribute says so.
constexpr topology::NodeId kUsualZones = 8;

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

// The most that one container could get there: where nothing is reserved, all but the machine's
// last one.
std::uint64_t largest(const topology::Holes& holes, std::size_t at) {
  const int units = holes.of(topology::Align::kNuma).at(at).of(topology::Smt::kPreferFull);
  const bool last = holes.guarded && units > 0 && units == holes.free;
  return static_cast<std::uint64_t>(last ? units - 1 : units);
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
  const topology::CpuSet allocatable = numa.cpus - node.ledger.reserved() - machine.isolated;
  const auto promised =
      std::min(numa.memory, node.ledger.promised(static_cast<topology::Index>(at)));
  json zone = {
      {"name", zone_name(numa.id)},
      {"type", "Node"},
      {"resources",
       json::array({resource("cpu", count(numa.cpus), count(allocatable), largest(node.holes, at)),
                    resource("memory", numa.memory, numa.memory, numa.memory - promised)})}};
  if (json costs = costs_of(machine, numa); !costs.empty()) zone["costs"] = std::move(costs);
  return zone;
}

json empty_zone(topology::NodeId id) {
  return {{"name", zone_name(id)},
          {"type", "Node"},
          {"resources", json::array({resource("cpu", 0, 0, 0), resource("memory", 0, 0, 0)})}};
}

// From 0 to the greatest number of a NUMA node that has something.
json zones_of(const FleetNode& node) {
  const topology::Topology& machine = node.topology();
  json zones = json::array();
  for (std::size_t at = 0; at < machine.nodes.size(); ++at) {
    const topology::Node& numa = machine.nodes[at];
    if (numa.id >= kMostZones) break;
    if (numa.cpus.empty() && numa.memory == 0) continue;
    while (static_cast<topology::NodeId>(zones.size()) < numa.id) {
      zones.push_back(empty_zone(static_cast<topology::NodeId>(zones.size())));
    }
    zones.push_back(zone_of(node, at));
  }
  return zones;
}

const char* manager_policy(const policy::Defaults& defaults) {
  if (defaults.align == topology::Align::kNone || defaults.align == topology::Align::kSocket) {
    return "none";
  }
  return defaults.strength == topology::Strength::kRequired ? "single-numa-node" : "best-effort";
}

json attribute(const char* name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

}  // namespace

json node_topology(const FleetNode& node, const policy::Defaults& defaults) {
  json zones = zones_of(node);
  const auto most = std::max(static_cast<topology::NodeId>(zones.size()), kUsualZones);
  return {
      {"apiVersion", "topology.node.k8s.io/v1alpha2"},
      {"kind", "NodeResourceTopology"},
      {"metadata", {{"name", node.name}}},
      {"attributes", json::array({attribute("topologyManagerPolicy", manager_policy(defaults)),
                                  attribute("topologyManagerScope", "container"),
                                  attribute("topologyManagerMaxNUMANodes", std::to_string(most))})},
      {"zones", std::move(zones)}};
}

}  // namespace pinion::cluster
