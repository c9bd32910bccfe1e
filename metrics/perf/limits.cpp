#include "metrics/perf/limits.h"

#include "base/open_files.h"
#include "metrics/perf/need.h"
#include "metrics/perf/scaling.h"

namespace pinion::metrics::perf {

Status ensure_descriptors(std::uint64_t need, std::uint64_t reserve) {
  const auto limit = allow_open_files(saturating_add(need, reserve));
  if (!limit) return failure(limit.error());
  if (auto missing = missing_descriptors(need, reserve, limit->hard)) {
    return failure(Errc::kExhausted, std::move(*missing));
  }
  return {};
}

}  // namespace pinion::metrics::perf
