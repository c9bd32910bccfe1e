#include "metrics/perf/limits.h"

#include <sys/resource.h>

#include "metrics/perf/scaling.h"

namespace pinion::metrics::perf {

Result<DescriptorLimit> descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return sys_failure("read RLIMIT_NOFILE");
  return DescriptorLimit{limit.rlim_cur, limit.rlim_max};
}

Status ensure_descriptors(std::uint64_t need, std::uint64_t reserve) {
  const auto limit = descriptor_limit();
  if (!limit) return failure(limit.error());
  if (saturating_add(need, reserve) > limit->soft && limit->soft < limit->hard) {
    const rlimit raised{limit->hard, limit->hard};
    if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) return sys_failure("raise RLIMIT_NOFILE");
  }
  if (auto missing = missing_descriptors(need, reserve, *limit)) {
    return failure(Errc::kExhausted, std::move(*missing));
  }
  return {};
}

}  // namespace pinion::metrics::perf
