// The agent's status document (agent/status.cpp) as values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "topology/cpuset.h"

namespace pinion::lab {

struct AgentContainer {
  std::string id;
  std::string name;
  std::string pod;
  bool exclusive = false;
  std::optional<topology::CpuSet> decided;  // what it is to run on
  std::optional<topology::CpuSet> told;     // what the runtime was last answered
  std::optional<topology::CpuSet> applied;  // what its file said when last read
  std::string trouble;                      // "" when all is well
};

struct AgentStatus {
  std::vector<AgentContainer> containers;
  std::map<std::string, std::int64_t> counters;  // "drift", "repairs", ...; kinds summed up
  std::string phase;                             // of the connection to the runtime

  [[nodiscard]] const AgentContainer* find(const std::string& id) const;
};

// Errors: kInvalid where it is no such document.
Result<AgentStatus> parse_agent_status(const std::string& text);

}  // namespace pinion::lab
