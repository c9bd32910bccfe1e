// Where this machine's control groups are mounted, controller by controller.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::metrics {

// The root directory of one hierarchy.
struct CgroupMount {
  std::string directory;  // without a slash at its end; empty: nowhere
  int version = 0;        // 1, 2; 0: nowhere

  [[nodiscard]] bool found() const { return version != 0; }
  bool operator==(const CgroupMount&) const = default;
};

// For each controller its v1 hierarchy where one is mounted, else the unified one: that is where
// the controller's files are if the kernel has it at all. On a machine with v2 alone all of these
// are the same directory; on a hybrid one `unified` has no controllers as a rule, but pressure.
struct CgroupMounts {
  CgroupMount cpu;
  CgroupMount cpuacct;  // on v2 a part of cpu.stat
  CgroupMount memory;
  CgroupMount pids;
  CgroupMount perf;     // the group directory that perf_event_open(2) takes is in this one
  CgroupMount unified;  // version 2 or nowhere

  bool operator==(const CgroupMounts&) const = default;
};

// Reads the text of /proc/self/mounts (its format: fstab(5), with blanks and the like as \040).
// Only mounts below `under` count; "" and "/" are above all of them. The first one that has a
// controller is taken. Pure. Errors: kNotFound where no cgroup file system is mounted there;
// kInvalid for a line of less than four words.
Result<CgroupMounts> parse_cgroup_mounts(std::string_view proc_mounts, std::string_view under);

}  // namespace pinion::metrics
