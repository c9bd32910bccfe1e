#include "ctl/machine/topology_json.h"

#include <nlohmann/json.hpp>

namespace pinion::ctl {
namespace {

using Json = nlohmann::ordered_json;
using topology::Index;
using topology::kNoIndex;
using topology::Topology;

Json index_or_null(Index index) {
  return index == kNoIndex ? Json() : Json(index);
}

// Nodes are always named by the kernel's number.
Json node_or_null(const Topology& machine, Index node) {
  return node == kNoIndex ? Json() : Json(machine.nodes[static_cast<std::size_t>(node)].id);
}

Json packages(const Topology& machine) {
  Json list = Json::array();
  for (const topology::Package& package : machine.packages) {
    list.push_back({{"package", list.size()}, {"cpus", package.cpus.to_string()}});
  }
  return list;
}

Json nodes(const Topology& machine) {
  Json list = Json::array();
  for (const topology::Node& node : machine.nodes) {
    Json distances;
    for (std::size_t to = 0; to < node.distance.size(); ++to) {
      distances[std::to_string(machine.nodes[to].id)] = node.distance[to];
    }
    list.push_back({{"node", node.id},
                    {"package", index_or_null(node.package)},
                    {"cpus", node.cpus.to_string()},
                    {"memory_bytes", node.memory},
                    {"distances", distances}});
  }
  return list;
}

Json caches(const Topology& machine, const std::vector<topology::Cache>& caches,
            const std::string& name) {
  Json list = Json::array();
  for (const topology::Cache& cache : caches) {
    list.push_back({{name, list.size()},
                    {"package", index_or_null(cache.package)},
                    {"node", node_or_null(machine, cache.node)},
                    {"cpus", cache.cpus.to_string()},
                    {"size_bytes", cache.size}});
  }
  return list;
}

Json cores(const Topology& machine) {
  Json list = Json::array();
  for (const topology::Core& core : machine.cores) {
    list.push_back({{"core", list.size()},
                    {"package", index_or_null(core.package)},
                    {"node", node_or_null(machine, core.node)},
                    {"l3", index_or_null(core.l3)},
                    {"l2", index_or_null(core.l2)},
                    {"cpus", core.cpus.to_string()}});
  }
  return list;
}

Json devices(const Topology& machine) {
  Json list = Json::array();
  for (const topology::Device& device : machine.devices) {
    const bool network = device.kind == topology::DeviceKind::kNetwork;
    list.push_back({{"kind", network ? "network" : "gpu"},
                    {"name", device.name},
                    {"pci", device.pci.empty() ? Json() : Json(device.pci)},
                    {"node", node_or_null(machine, device.node)}});
  }
  return list;
}

}  // namespace

std::string topology_json(const Topology& machine, const topology::CpuSet& reserved) {
  const Json json = {{"version", 1},
                     {"cpus",
                      {{"online", machine.online.to_string()},
                       {"offline", machine.offline.to_string()},
                       {"isolated", machine.isolated.to_string()},
                       {"reserved", reserved.to_string()}}},
                     {"packages", packages(machine)},
                     {"nodes", nodes(machine)},
                     {"l3s", caches(machine, machine.l3s, "l3")},
                     {"l2s", caches(machine, machine.l2s, "l2")},
                     {"cores", cores(machine)},
                     {"devices", devices(machine)}};
  // Device names come from the machine: what is no UTF-8 there is replaced, not thrown about.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pinion::ctl
