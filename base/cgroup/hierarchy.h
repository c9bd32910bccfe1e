// Where this machine's cgroup controllers are mounted. libcgroup is used in this file alone.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion::cgroup {

struct Hierarchy {
  std::string mount;  // directory of its root group
  int version = 1;    // 1: its own or a joint v1 hierarchy; 2: the unified one
  bool writable = false;

  bool operator==(const Hierarchy&) const = default;
};

// Whether files of the group at this path may be written, by opening one: access(2) on the
// directory denies it without CAP_DAC_OVERRIDE, as the root's has mode 0555.
[[nodiscard]] bool can_be_written(const std::string& group);

// The mount of the controller ("cpuset", "cpu") that lies under `host_root` ("/" for this machine
// itself). On a hybrid machine that is the v1 mount, where the controller is. Errors: kNotFound
// where there is none (a bare snapshot of another machine), kUnavailable where libcgroup cannot
// read the mounts.
Result<Hierarchy> find_hierarchy(const std::string& host_root, const char* controller);

// Where v2 is mounted, with controllers or, as on a hybrid machine, without any: libcgroup, which
// finds mounts by their controllers, does not tell of such a one. Looked for at the two places that
// systemd uses. Empty: nowhere.
[[nodiscard]] std::string find_bare_unified(const std::string& host_root);

}  // namespace pinion::cgroup
