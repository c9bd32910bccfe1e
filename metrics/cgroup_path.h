// What a group's path below a hierarchy may be. For this folder alone.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "metrics/text.h"

namespace pinion::metrics {

// A path such as "/kubepods/pod1/id"; "/" is the root group. Errors: kInvalid for one that does not
// begin with a slash, leads upwards, or holds a zero byte.
inline Status check_group_path(std::string_view path) {
  const bool upwards = path == "/.." || path.find("/../") != std::string_view::npos ||
                       (path.size() > 3 && path.substr(path.size() - 3) == "/..");
  if (path.empty() || path.front() != '/' || upwards || path.find('\0') != std::string_view::npos) {
    return failure(Errc::kInvalid, "no path of a cgroup: " + text::quoted(path));
  }
  return {};
}

}  // namespace pinion::metrics
