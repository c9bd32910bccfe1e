// Cgroup paths take any bytes; what they accept is absolute and never leads upwards.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/cgroup/paths.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::agent_cgroup_paths {
namespace {

void require_inside(const std::string& path) {
  if (!path.starts_with('/') || (path + '/').find("/../") != std::string::npos) std::abort();
}

}  // namespace

PINION_FUZZ_TARGET(agent_cgroup_paths) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto path = pinion::cgroup::path_of(text)) require_inside(*path);
  for (const int version : {1, 2}) {
    if (const auto path = pinion::cgroup::path_in_proc(text, version)) require_inside(*path);
  }
  return 0;
}

}  // namespace pinion::fuzz::agent_cgroup_paths
