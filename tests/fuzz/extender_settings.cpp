// The extender's own files take any bytes: an error always has a text; settings that were read are
// shown as a file that gives them again, and agents that were read each have a node and an address.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cluster/extender/program/agents_file.h"
#include "cluster/extender/program/config.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::extender_settings {
PINION_FUZZ_TARGET(extender_settings) {
  using namespace pinion;
  const std::string text(reinterpret_cast<const char*>(data), size);
  cluster::Config config;
  const auto settings = cluster::settings_of(config);
  const Status read = settings::read_yaml(text, settings);
  if (!read && read.error().text.empty()) std::abort();
  if (read) {
    cluster::Config again;
    const auto table = cluster::settings_of(again);
    const std::string shown = settings::to_yaml(settings);
    if (!settings::read_yaml(shown, table) || settings::to_yaml(table) != shown) std::abort();
  }
  const auto agents = cluster::parse_agents(text);
  if (!agents && agents.error().text.empty()) std::abort();
  if (!agents) return 0;
  for (const auto& agent : *agents) {
    if (agent.node.empty() || agent.address.empty()) std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::extender_settings
