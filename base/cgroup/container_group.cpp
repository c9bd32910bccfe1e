#include "base/cgroup/container_group.h"

#include <fcntl.h>

#include <string_view>

#include "base/cgroup/group_files.h"
#include "base/cgroup/paths.h"

namespace pinion::cgroup {
namespace {

// The last component: it has the container's id, wherever the runtime's groups are.
std::string_view last_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

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
    // Its number may be another process's by now: a group of another name is not the container's.
    if (path && other && last_of(*other) == last_of(*path)) {
      if (Fd group = open_at(*other); group.valid()) {
        return ContainerGroup{std::move(group), *other};
      }
    }
  }
  if (!path) return failure(path.error());
  return sys_failure("open cgroup " + *path, ENOENT);
}

}  // namespace pinion::cgroup
