#include "tests/lab/agent_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pinion::lab {
namespace {

using nlohmann::json;

std::optional<topology::CpuSet> cpus_of(const json& container, const char* key) {
  const auto found = container.find(key);
  if (found == container.end() || !found->is_object()) return std::nullopt;
  const auto cpus = topology::CpuSet::parse(found->at("cpus").get<std::string>());
  if (!cpus) return std::nullopt;
  return *cpus;
}

AgentStatus status_of(const json& document) {
  AgentStatus status;
  for (const auto& container : document.at("containers")) {
    status.containers.push_back({.id = container.at("id"),
                                 .name = container.at("name"),
                                 .pod = container.at("pod"),
                                 .exclusive = container.at("exclusive"),
                                 .decided = cpus_of(container, "decided"),
                                 .told = cpus_of(container, "told"),
                                 .applied = cpus_of(container, "applied"),
                                 .trouble = container.at("trouble")});
  }
  for (const auto& [name, value] : document.at("counters").items()) {
    std::int64_t& counter = status.counters[name];
    if (value.is_number()) counter = value;
    if (!value.is_object()) continue;
    for (const auto& [kind, count] : value.items()) counter += count.get<std::int64_t>();
  }
  document.at("runtime").at("phase").get_to(status.phase);
  return status;
}

}  // namespace

const AgentContainer* AgentStatus::find(const std::string& id) const {
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const AgentContainer& one) { return one.id == id; });
  return found == containers.end() ? nullptr : &*found;
}

Result<AgentStatus> parse_agent_status(const std::string& text) {
  try {
    return status_of(json::parse(text));
  } catch (const json::exception& error) {
    return failure(Errc::kInvalid, std::string("agent's status: ") + error.what());
  }
}

}  // namespace pinion::lab
