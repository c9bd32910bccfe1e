// The files of the CFS quota: cpu.max on v2, cpu.cfs_quota_us and cpu.cfs_period_us on v1. A group
// whose quota was taken away remembers it in an extended attribute, `user.pinion.quota` (v2) or
// `trusted.pinion.quota` (v1), so that it outlives the agent and goes with the group.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/engine/events.h"
#include "base/cgroup/hierarchy.h"
#include "base/error.h"

namespace pinion::cgroup {

// "max 100000", "200000 100000": what cpu.max says. Errors: kInvalid.
[[nodiscard]] Result<engine::CpuQuota> parse_cpu_max(std::string_view text);

// What the group's files say. Errors: of the system, and kInvalid.
[[nodiscard]] Result<engine::CpuQuota> read_quota(int group, int version);

struct BroughtQuota {
  engine::CpuQuota found;  // in the container's group
  // What the pod's group said, where its limit was taken away just now.
  std::optional<engine::CpuQuota> pod_before = {};
};

// Brings the container's group, an open directory, and the pod's above it to what is wanted: what
// may be raised first, the pod before its container. Both remember what was taken away, as far as
// the kernel lets them. Errors: as read_quota.
[[nodiscard]] Result<BroughtQuota> bring_quota(int group, int version,
                                               const engine::QuotaTarget& wanted);

struct RestoredQuotas {
  std::vector<std::string> groups;  // paths of those that have their quota again
  std::vector<std::string> failed;  // "path: why"; these still remember theirs
};

// Every group that remembers a quota, and has none now, has it again. Precondition: no agent runs.
[[nodiscard]] RestoredQuotas restore_quotas(const Hierarchy& cpu);

}  // namespace pinion::cgroup
