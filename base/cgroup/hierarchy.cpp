#include "base/cgroup/hierarchy.h"

#include <fcntl.h>
#include <libcgroup.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <vector>

#include "base/fd.h"

namespace pinion::cgroup {
namespace {

Result<std::vector<std::string>> mounts_of(const char* controller) {
  if (const int error = cgroup_init(); error != 0) {
    // ECGROUPNOTMOUNTED and the like: the machine has no cgroups for us.
    return failure(Errc::kUnavailable, std::string("libcgroup: ") + cgroup_strerror(error));
  }
  std::vector<std::string> mounts;
  void* iterator = nullptr;
  std::array<char, FILENAME_MAX> path{};
  int error = cgroup_get_subsys_mount_point_begin(controller, &iterator, path.data());
  while (error == 0) {
    mounts.emplace_back(path.data());
    error = cgroup_get_subsys_mount_point_next(&iterator, path.data());
  }
  cgroup_get_subsys_mount_point_end(&iterator);
  return mounts;
}

bool lies_under(const std::string& path, const std::string& root) {
  if (root.empty() || root == "/") return true;
  return path.size() > root.size() && path.starts_with(root) && path[root.size()] == '/';
}

}  // namespace

bool can_be_written(const std::string& group) {
  return Fd(open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC)).valid();
}

Result<Hierarchy> find_hierarchy(const std::string& host_root, const char* controller) {
  const std::string name = controller;
  const auto mounts = mounts_of(controller);
  if (!mounts) return failure(mounts.error().within("find the " + name + " cgroup mount"));
  for (const std::string& mount : *mounts) {
    if (!lies_under(mount, host_root)) continue;
    struct statfs fs = {};
    struct statvfs vfs = {};
    if (statfs(mount.c_str(), &fs) != 0 || statvfs(mount.c_str(), &vfs) != 0) {
      return sys_failure("statfs " + mount);
    }
    const bool read_only = (vfs.f_flag & ST_RDONLY) != 0 || !can_be_written(mount);
    return Hierarchy{.mount = mount,
                     .version = fs.f_type == CGROUP2_SUPER_MAGIC ? 2 : 1,
                     .writable = !read_only};
  }
  return failure(Errc::kNotFound,
                 "no " + name + " cgroup hierarchy is mounted under '" + host_root + "'");
}

std::string find_bare_unified(const std::string& host_root) {
  const std::string root = host_root == "/" ? "" : host_root;
  for (const char* place : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    struct statfs fs = {};
    std::string path = root + place;
    if (statfs(path.c_str(), &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC) return path;
  }
  return {};
}

}  // namespace pinion::cgroup
