// A container's cgroup, held open so that what is read and written below it is of one group.
#pragma once

#include <cstdint>
#include <string>

#include "base/cgroup/hierarchy.h"
#include "base/fd.h"

namespace pinion::cgroup {

struct ContainerGroup {
  Fd directory;
  std::string path;  // below the mount
};

// In the hierarchy of this controller: by the runtime's path, or else where the process is (0: none
// known), if that group has the container's name; `proc` is the directory of the host's /proc.
// Errors: ENOENT where there is no such group.
[[nodiscard]] Result<ContainerGroup> open_container_group(const Hierarchy& hierarchy,
                                                          const char* controller,
                                                          const std::string& proc,
                                                          const std::string& cgroups_path,
                                                          std::uint32_t pid);

}  // namespace pinion::cgroup
