// cpu.max takes any bytes; what it accepts is a quota that the kernel could have written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/cgroup/quota_files.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::agent_cgroup_quota {
PINION_FUZZ_TARGET(agent_cgroup_quota) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto quota = pinion::cgroup::parse_cpu_max(text);
  if (quota && (quota->limit < pinion::engine::CpuQuota::kNone || quota->period == 0)) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::agent_cgroup_quota
