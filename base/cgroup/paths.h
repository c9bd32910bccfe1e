// Names of a container's cgroup: pure functions over text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::cgroup {

// The path below the hierarchy's mount for the runtime's `linux.cgroups_path`: with the cgroupfs
// driver it is that path; with the systemd driver "kubepods-pod1.slice:cri-containerd:ID" it is
// "/kubepods.slice/kubepods-pod1.slice/cri-containerd-ID.scope"; a bare "kubepods-burstable.slice"
// is
// "/kubepods.slice/kubepods-burstable.slice". Errors: kInvalid for an empty one,
// one with a ".." component, or a slice that is not one.
Result<std::string> path_of(std::string_view cgroups_path);

// The path in the text of /proc/PID/cgroup for the hierarchy that has the controller (version 1),
// or for the unified one (version 2). nullopt: no such line.
std::optional<std::string> path_in_proc(std::string_view proc_cgroup, int version,
                                        std::string_view controller = "cpuset");

// Whether a text is a path below a mount, such as "/kubepods/pod1/id"; "/" is the root group.
// Errors: kInvalid for one that does not begin with a slash, leads upwards, or holds a zero byte.
Status check_path(std::string_view path);

}  // namespace pinion::cgroup
