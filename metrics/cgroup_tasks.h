// Which tasks run in a container: those of its group and of the groups inside it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/cgroup/mounts.h"
#include "base/error.h"

namespace pinion::metrics {

// A container that makes groups of its own (systemd, a runtime in a container) may have any number
// of them: this many are walked, itself included, those nearest to it first.
inline constexpr std::size_t kMaxGroups = 64;

struct CgroupTasks {
  std::vector<int> ids;  // thread ids in the reader's pid namespace, ascending, each once
  bool complete = true;  // false: more than kMaxGroups groups, or more text than is read of one
};

// The threads of the group `path` (as in metrics/cgroup_files.h) and of the groups inside it, by
// the file `tasks` of the first v1 hierarchy of cpuacct, cpu, memory and pids that has the group,
// or by cgroup.threads in the unified one. They are gone or new as soon as they are listed.
// Errors: kNotFound where no hierarchy has such a group, kInvalid where `path` is no such path,
// others as the system says.
Result<CgroupTasks> list_cgroup_tasks(const cgroup::Mounts& mounts, const std::string& path);

}  // namespace pinion::metrics
