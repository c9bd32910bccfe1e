#include "cluster/extender/program/agents_file.h"

#include <yaml-cpp/yaml.h>

#include <set>

#include "base/whole_file.h"

namespace pinion::cluster {
namespace {

constexpr std::size_t kMostMib = 16;

tl::unexpected<Error> at_line(const YAML::Node& node, const std::string& what) {
  return failure(Errc::kInvalid, "line " + std::to_string(node.Mark().line + 1) + ": " + what);
}

Result<AgentAddress> read_agent(const YAML::Node& entry) {
  if (!entry.IsMap()) return at_line(entry, "expected {node: NAME, address: ADDRESS}");
  AgentAddress agent;
  for (const auto& field : entry) {
    if (!field.first.IsScalar() || !field.second.IsScalar()) {
      return at_line(field.first, "expected a key and a single value");
    }
    const std::string& key = field.first.Scalar();
    if (key == "node") {
      agent.node = field.second.Scalar();
    } else if (key == "address") {
      agent.address = field.second.Scalar();
    } else {
      return at_line(field.first, "unknown key '" + key + "', use node and address");
    }
  }
  if (agent.node.empty() || agent.address.empty()) {
    return at_line(entry, "an agent needs node and address");
  }
  return agent;
}

Result<std::vector<AgentAddress>> read_list(const YAML::Node& document) {
  if (!document.IsMap() || document.size() != 1 || !document["agents"]) {
    return failure(Errc::kInvalid, "expected 'agents:' and a list");
  }
  const YAML::Node list = document["agents"];
  if (!list.IsSequence() && !list.IsNull()) return at_line(list, "agents: expected a list");
  std::vector<AgentAddress> agents;
  std::set<std::string> nodes;
  for (const auto& entry : list) {
    auto agent = read_agent(entry);
    if (!agent) return failure(agent.error());
    if (!nodes.insert(agent->node).second) {
      return at_line(entry, "node " + agent->node + " is there twice");
    }
    agents.push_back(*std::move(agent));
  }
  return agents;
}

}  // namespace

Result<std::vector<AgentAddress>> parse_agents(const std::string& text) {
  try {
    return read_list(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return failure(Errc::kInvalid,
                   "line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

Result<std::vector<AgentAddress>> read_agents(const std::string& path) {
  const auto text = read_file(path, kMostMib);
  if (!text) return failure(text.error());
  auto agents = parse_agents(*text);
  if (!agents) return failure(agents.error().within(path));
  return agents;
}

}  // namespace pinion::cluster
