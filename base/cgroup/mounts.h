// Where this machine's control groups are mounted, controller by controller.
#pragma once

#include <functional>
#include <string>

#include "base/cgroup/hierarchy.h"
#include "base/error.h"

namespace pinion::cgroup {

// The root directory of one hierarchy.
struct Mount {
  std::string directory;  // without a slash at its end; empty: nowhere
  int version = 0;        // 1, 2; 0: nowhere

  [[nodiscard]] bool found() const { return version != 0; }
  bool operator==(const Mount&) const = default;
};

// For each controller its v1 hierarchy where one is mounted, else the unified one: that is where
// the controller's files are if the kernel has it at all. On a machine with v2 alone all of these
// are the same directory; on a hybrid one `unified` has no controllers as a rule, but pressure.
struct Mounts {
  Mount cpu;
  Mount cpuacct;  // on v2 a part of cpu.stat
  Mount memory;
  Mount pids;
  Mount perf;     // the group directory that perf_event_open(2) takes is in this one
  Mount unified;  // version 2 or nowhere

  bool operator==(const Mounts&) const = default;
};

// Of the mounts below `host_root` ("/" for this machine itself). Errors: kNotFound where no cgroup
// file system is mounted there; kUnavailable where libcgroup cannot read the mounts.
Result<Mounts> find_mounts(const std::string& host_root);

// The same by what find_hierarchy() says of each controller, and by where v2 is mounted without
// one (nowhere: ""). Pure.
Result<Mounts> mounts_of(const std::function<Result<Hierarchy>(const char* controller)>& find,
                         const std::string& bare_unified);

}  // namespace pinion::cgroup
