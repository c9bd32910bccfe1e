#include "agent/cgroup/container_group.h"

#include <fcntl.h>

#include "agent/cgroup/group_files.h"
#include "agent/cgroup/paths.h"

namespace pinion::cgroup {

Result<ContainerGroup> open_container_group(const Hierarchy& hierarchy, const char* controller,
                                            const std::string& proc,
                                            const std::string& cgroups_path, std::uint32_t pid) {
  const auto open_at = [&](const std::string& path) {
    return open_directory(AT_FDCWD, (hierarchy.mount + path).c_str());
  };
  const auto path = path_of(cgroups_path);
  if (path) {
    if (Fd group = open_at(*path); group.valid()) return ContainerGroup{std::move(group), *path};
    if (errno != ENOENT) return sys_failure("open cgroup " + *path);
  }
  if (pid != 0) {
    const Fd process = open_directory(AT_FDCWD, (proc + "/" + std::to_string(pid)).c_str());
    const auto text = process.valid()
                          ? read_file(process.get(), "cgroup")
                          : Result<std::string>(failure(Errc::kNotFound, "no such process"));
    const auto other = text ? path_in_proc(*text, hierarchy.version, controller) : std::nullopt;
    // The root group is where a process lands whose own group is gone: never a container's.
    if (other && *other != "/") {
      if (Fd group = open_at(*other); group.valid()) {
        return ContainerGroup{std::move(group), *other};
      }
    }
  }
  if (!path) return failure(path.error());
  return sys_failure("open cgroup " + *path, ENOENT);
}

}  // namespace pinion::cgroup
