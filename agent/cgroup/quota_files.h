// The files of the CFS quota: cpu.max on v2, cpu.cfs_quota_us and cpu.cfs_period_us on v1.
#pragma once

#include <optional>
#include <string_view>

#include "agent/engine/events.h"
#include "base/error.h"

namespace pinion::cgroup {

// "max 100000", "200000 100000": what cpu.max says. Errors: kInvalid.
[[nodiscard]] Result<engine::CpuQuota> parse_cpu_max(std::string_view text);

// What the group's files say. Errors: of the system, and kInvalid.
[[nodiscard]] Result<engine::CpuQuota> read_quota(int group, int version);

// Brings the container's group, an open directory, and the pod's above it to what is wanted: what
// may be raised first, the pod before its container. Gives back what the pod's said where
// its limit was taken away just now. Errors: as read_quota.
[[nodiscard]] Result<std::optional<engine::CpuQuota>> bring_quota(
    int group, int version, const engine::QuotaTarget& wanted);

}  // namespace pinion::cgroup
