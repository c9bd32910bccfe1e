// The configuration file's format: keys as in docs/configuration.md, the kubelet's own names where
// it has such an option.
#pragma once

#include <string>
#include <string_view>

#include "agent/config.h"

namespace pinion::agent {

// Sets in `config` what the YAML text sets. Errors: kInvalid with the line, for text that is not
// YAML, an unknown or doubled key, or a value out of range.
Status apply_yaml(const std::string& text, Config& config);

// One value of a setting by its YAML key; flags go the same way. Errors: kInvalid.
Status apply_setting(std::string_view key, const std::string& value, Config& config);

}  // namespace pinion::agent
