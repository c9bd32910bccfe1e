// The /proc parsers on any bytes. What they accept must be consistent with what they were given.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "metrics/proc.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::metrics_proc {
PINION_FUZZ_TARGET(metrics_proc) {
  using namespace pinion;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto stat = metrics::parse_task_stat(text)) {
    if (stat->id < 0 || stat->last_cpu < 0 || stat->last_cpu >= topology::CpuSet::kCapacity) {
      std::abort();
    }
    if (text.find(stat->comm) == std::string_view::npos) std::abort();
  }
  if (const auto status = metrics::parse_task_status(text)) {
    if (status->cpus_allowed && text.find("Cpus_allowed_list:") == std::string_view::npos) {
      std::abort();
    }
  }
  if (metrics::parse_migrations(text) && text.find("se.nr_migrations") == std::string_view::npos) {
    std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::metrics_proc
