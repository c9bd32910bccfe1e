#include "metrics/cgroup_tasks.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "base/cgroup/group_files.h"
#include "base/cgroup/paths.h"
#include "metrics/machine_text.h"
#include "metrics/small_file.h"

namespace pinion::metrics {
namespace {

// The hierarchy to ask, and the group's directory in it.
struct Start {
  Fd group;
  int version = 0;
};

Result<Start> find_group(const cgroup::Mounts& mounts, const std::string& path) {
  int error = ENOENT;
  for (const cgroup::Mount* mount :
       {&mounts.cpuacct, &mounts.cpu, &mounts.memory, &mounts.pids, &mounts.unified}) {
    if (!mount->found()) continue;
    Fd group = cgroup::open_directory(AT_FDCWD, (mount->directory + path).c_str());
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
      const auto children = cgroup::child_groups(group.get());
      if (!children) continue;
      for (const std::string& name : *children) {
        if (seen == kMaxGroups) {
          tasks_.complete = false;
          break;
        }
        Fd inside = cgroup::open_directory(group.get(), name.c_str());
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

Result<CgroupTasks> list_cgroup_tasks(const cgroup::Mounts& mounts, const std::string& path) {
  if (Status valid = cgroup::check_path(path); !valid) return failure(valid.error());
  auto start = find_group(mounts, path);
  if (!start) return failure(start.error());
  auto tasks = TaskWalk(start->version).run(std::move(start->group));
  if (!tasks) return failure(tasks.error().within("list the tasks of cgroup " + path));
  return tasks;
}

}  // namespace pinion::metrics
