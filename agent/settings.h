// The agent's settings: one row for each, keys as in docs/configuration.md, the kubelet's own names
// where it has such an option.
#pragma once

#include <vector>

#include "agent/config.h"
#include "base/settings/settings.h"

namespace pinion::agent {

// They set `config`, which must outlive them.
[[nodiscard]] std::vector<settings::Setting> settings_of(Config& config);

}  // namespace pinion::agent
