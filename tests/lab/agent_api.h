// What pinion-agent's interface (proto/pinion/v1/node.proto) says: a small client of the lab's own,
// which knows the contract and nothing of the agent's code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/lab/files.h"
#include "topology/cpuset.h"

namespace pinion::lab {

// Counters since the container began; what the agent cannot count is not set.
struct AgentFigures {
  std::optional<std::uint64_t> cpu_ns;
  std::optional<std::uint64_t> intrusion_ns;
  std::optional<std::uint64_t> l3_misses;

  bool operator==(const AgentFigures&) const = default;
};

// A container that lives. Sets of CPUs are empty where there is none, or the agent does not know.
struct AgentContainer {
  std::string id;
  std::string name;
  std::string pod;
  bool exclusive = false;
  topology::CpuSet decided;  // what it is to run on
  topology::CpuSet told;     // what the runtime was last answered
  std::string trouble;       // "" when all is well
};

struct AgentStatus {
  std::vector<AgentContainer> containers;
  std::map<std::string, std::uint64_t> counters;  // "drift", "repairs", ...: docs/api.md
  std::string phase;                              // of the connection to the runtime
  std::uint64_t shared_memory = 0;                // bytes, that containers without cores request

  [[nodiscard]] const AgentContainer* find(const std::string& id) const;
};

class AgentApi {
 public:
  // A unix socket's path. Each call connects anew, within five seconds.
  explicit AgentApi(std::string socket) : socket_(std::move(socket)) {}

  // The node and its containers, of one moment, which may be some milliseconds ago. Errors:
  // kUnavailable when nobody answers, kInvalid for sets of CPUs that are none.
  [[nodiscard]] Result<AgentStatus> status() const;

  // Errors: kUnavailable when nobody answers, kNotFound when the agent does not know the container.
  [[nodiscard]] Result<AgentFigures> figures(const std::string& container) const;

  // Asks until the figures hold at least this much CPU time, so that they are of after a moment
  // whose CPU time is known; the last answer after `limit`. Errors: as figures().
  [[nodiscard]] Result<AgentFigures> figures_after(const std::string& container, double cpu_seconds,
                                                   Milliseconds limit) const;

  // Why an event ("l3-misses") is not counted here: "no such PMU". "" when it is, or the agent does
  // not say.
  [[nodiscard]] Result<std::string> why_not_counted(const std::string& event) const;

 private:
  std::string socket_;
};

}  // namespace pinion::lab
