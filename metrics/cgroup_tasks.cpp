#include "metrics/cgroup_tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>

#include "metrics/cgroup_path.h"
#include "metrics/machine_text.h"
#include "metrics/small_file.h"

namespace pinion::metrics {
namespace {

bool is_directory(int parent, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat info = {};
  return ::fstatat(parent, &entry.d_name[0], &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(info.st_mode);
}

// The names of the groups inside a group, ascending.
std::vector<std::string> groups_inside(int group) {
  // A directory without sub-directories has two links, on cgroup file systems as on most others;
  // that spares nearly every container a walk over its files.
  struct stat info = {};
  if (::fstat(group, &info) != 0 || info.st_nlink == 2) return {};
  const int fd = ::openat(group, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return {};
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd), ::closedir);
  if (!dir) {
    ::close(fd);
    return {};
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name == "." || name == ".." || !is_directory(fd, *entry)) continue;
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The hierarchy to ask, and the group's directory in it.
struct Start {
  Fd group;
  int version = 0;
};

Result<Start> find_group(const CgroupMounts& mounts, const std::string& path) {
  int error = ENOENT;
  for (const CgroupMount* mount :
       {&mounts.cpuacct, &mounts.cpu, &mounts.memory, &mounts.pids, &mounts.unified}) {
    if (!mount->found()) continue;
    Fd group = open_directory(mount->directory + path);
    if (group.valid()) return Start{.group = std::move(group), .version = mount->version};
    if (errno != ENOENT) error = errno;
  }
  return sys_failure("open cgroup " + path, error);
}

class TaskWalk {
 public:
  explicit TaskWalk(int version) : file_name_(version == 2 ? "cgroup.threads" : "tasks") {}

  // Walks breadth first. The first group's own failure is the whole walk's; the groups inside may
  // come and go.
  Result<CgroupTasks> run(Fd first) {
    if (Status read = read_group(first.get()); !read) return failure(read.error());
    std::deque<Fd> groups;
    groups.push_back(std::move(first));
    std::size_t seen = 1;
    while (!groups.empty()) {
      const Fd group = std::move(groups.front());
      groups.pop_front();
      for (const std::string& name : groups_inside(group.get())) {
        if (seen == kMaxGroups) {
          tasks_.complete = false;
          break;
        }
        Fd inside(::openat(group.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!inside.valid()) continue;
        ++seen;
        if (!read_group(inside.get())) continue;
        groups.push_back(std::move(inside));
      }
    }
    std::sort(tasks_.ids.begin(), tasks_.ids.end());
    tasks_.ids.erase(std::unique(tasks_.ids.begin(), tasks_.ids.end()), tasks_.ids.end());
    return std::move(tasks_);
  }

 private:
  Status read_group(int group) {
    const int error = file_.read(group, file_name_);
    if (error == EFBIG) {
      tasks_.complete = false;
      return {};
    }
    if (error != 0) return sys_failure(std::string("read ") + file_name_, error);
    const auto ids = parse_task_ids(file_.text());
    if (!ids) return failure(ids.error());
    tasks_.ids.insert(tasks_.ids.end(), ids->begin(), ids->end());
    return {};
  }

  const char* file_name_;
  SmallFile file_;
  CgroupTasks tasks_;
};

}  // namespace

Result<CgroupTasks> list_cgroup_tasks(const CgroupMounts& mounts, const std::string& path) {
  if (Status valid = check_group_path(path); !valid) return failure(valid.error());
  auto start = find_group(mounts, path);
  if (!start) return failure(start.error());
  auto tasks = TaskWalk(start->version).run(std::move(start->group));
  if (!tasks) return failure(tasks.error().within("list the tasks of cgroup " + path));
  return tasks;
}

}  // namespace pinion::metrics
