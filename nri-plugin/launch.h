// The other way of starting: the runtime runs the plugin from its plugin directory and hands over a
// connected socket.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/error.h"

namespace pinion::nri {

// What the runtime puts into the environment of a plugin that it launches.
struct Launch {
  int fd = -1;        // NRI_PLUGIN_SOCKET: the number of the inherited socket
  std::string name;   // NRI_PLUGIN_NAME; empty when absent
  std::string index;  // NRI_PLUGIN_IDX; empty when absent

  bool operator==(const Launch&) const = default;
};

// The value of an environment variable, or nullptr: std::getenv, or a table in tests.
using Environment = std::function<const char*(const char* name)>;

// Nothing when the runtime did not launch this process.
// Errors: kInvalid when NRI_PLUGIN_SOCKET is not a descriptor's number.
Result<std::optional<Launch>> read_launch(const Environment& environment);

}  // namespace pinion::nri
