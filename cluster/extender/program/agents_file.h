// A fixed list of agents, for clusters where they are not looked for:
//
//   agents:
//     - {node: node-1, address: "192.0.2.1:9465"}
//     - {node: node-2, address: "unix:/run/pinion/agent.sock"}
#pragma once

#include <string>
#include <vector>

#include "cluster/extender/agents/agents.h"

namespace pinion::cluster {

// Errors: kInvalid, naming the line, for text that is not such a list, an unknown key, or a node
// that is given twice or without an address.
Result<std::vector<AgentAddress>> parse_agents(const std::string& text);
// The same of a file, of up to 16 MiB. Errors: of reading it too, naming the file.
Result<std::vector<AgentAddress>> read_agents(const std::string& path);

}  // namespace pinion::cluster
