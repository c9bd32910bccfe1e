#include "cluster/extender/program/agents_file.h"

#include <set>

#include "base/cli/yaml_entry.h"
#include "base/whole_file.h"

namespace pinion::cluster {
namespace {

constexpr std::size_t kMostMib = 16;

Result<AgentAddress> read_agent(const YAML::Node& entry) {
  if (!entry.IsMap()) return yaml_error(entry, "expected {node: NAME, address: ADDRESS}");
  AgentAddress agent;
  for (const auto& field : entry) {
    if (!field.first.IsScalar() || !field.second.IsScalar()) {
      return yaml_error(field.first, "expected a key and a single value");
    }
    const std::string& key = field.first.Scalar();
    if (key == "node") {
      agent.node = field.second.Scalar();
    } else if (key == "address") {
      agent.address = field.second.Scalar();
    } else {
      return yaml_error(field.first, "unknown key '" + key + "', use node and address");
    }
  }
  if (agent.node.empty() || agent.address.empty()) {
    return yaml_error(entry, "an agent needs node and address");
  }
  return agent;
}

Result<std::vector<AgentAddress>> read_list(const YAML::Node& document) {
  if (!document.IsMap() || document.size() != 1 || !document["agents"]) {
    return failure(Errc::kInvalid, "expected 'agents:' and a list");
  }
  const YAML::Node list = document["agents"];
  if (!list.IsSequence() && !list.IsNull()) return yaml_error(list, "agents: expected a list");
  std::vector<AgentAddress> agents;
  std::set<std::string> nodes;
  for (const auto& entry : list) {
    auto agent = read_agent(entry);
    if (!agent) return failure(agent.error());
    if (!nodes.insert(agent->node).second) {
      return yaml_error(entry, "node " + agent->node + " is there twice");
    }
    agents.push_back(*std::move(agent));
  }
  return agents;
}

}  // namespace

Result<std::vector<AgentAddress>> parse_agents(const std::string& text) {
  return read_yaml(text, read_list);
}

Result<std::vector<AgentAddress>> read_agents(const std::string& path) {
  const auto text = read_file(path, kMostMib);
  if (!text) return failure(text.error());
  auto agents = parse_agents(*text);
  if (!agents) return failure(agents.error().within(path));
  return agents;
}

}  // namespace pinion::cluster
