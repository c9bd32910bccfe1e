// What the agent knows, as one JSON document: for people, tests and the demo.
#pragma once

#include <string>

#include "agent/node.h"
#include "nri-plugin/connection.h"

namespace pinion::agent {

// Shape: {"agent", "runtime", "fence", "compares_files", "sets", "largest", "nodes", "containers",
// "counters", "nri"}; the keys are explained in docs/node.md.
[[nodiscard]] std::string status_json(const Node& node, const nri::Connection& connection);

}  // namespace pinion::agent
