// The limit on open files of this process.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "base/error.h"

namespace pinion {

// RLIMIT_NOFILE.
struct OpenFiles {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

// Error: kUnavailable.
inline Result<OpenFiles> open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return sys_failure("read RLIMIT_NOFILE");
  return OpenFiles{.soft = limit.rlim_cur, .hard = limit.rlim_max};
}

// Raises the soft limit to the hard one where it is below `wanted`. Returns what holds then: both
// may be below `wanted` all the same. Errors: of the system.
inline Result<OpenFiles> allow_open_files(std::uint64_t wanted) {
  auto limit = open_files();
  if (!limit || wanted <= limit->soft || limit->soft >= limit->hard) return limit;
  const rlimit raised{limit->hard, limit->hard};
  if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) return sys_failure("raise RLIMIT_NOFILE");
  limit->soft = limit->hard;
  return limit;
}

}  // namespace pinion
