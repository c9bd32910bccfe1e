// The name that an agent's certificate must carry, made from a pattern: who has another node's
// certificate does not speak for this one.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion::cluster {

// Errors: kInvalid for braces around anything but "node" and "pod".
Status check_server_name(const std::string& pattern);

// Whether it has "{pod}", which only agents have that are found by their pods.
[[nodiscard]] bool names_pod(const std::string& pattern);

// The pattern with the agent's node and pod in place of "{node}" and "{pod}".
[[nodiscard]] std::string server_name(const std::string& pattern, const std::string& node,
                                      const std::string& pod);

}  // namespace pinion::cluster
