#include "metrics/task_scan.h"

#include <fcntl.h>

#include "base/cgroup/group_files.h"
#include "metrics/cgroup_tasks.h"
#include "metrics/machine_text.h"

namespace pinion::metrics {

Result<TaskScanner> TaskScanner::open(const std::string& root) {
  const std::string path = root + "/proc";
  Fd proc = cgroup::open_directory(AT_FDCWD, path.c_str());
  if (!proc.valid()) return sys_failure("open " + path);
  return TaskScanner(std::move(proc));
}

Status TaskScanner::scan(const cgroup::Mounts& mounts, const std::string& path, bool migrations,
                         TaskTotals& totals) {
  const auto tasks = list_cgroup_tasks(mounts, path);
  if (!tasks) return failure(tasks.error());
  for (const int task : totals.begin_scan(tasks->ids, tasks->complete)) {
    if (const auto counters = read_task(task, migrations)) totals.add(task, *counters);
  }
  return {};
}

std::optional<TaskCounters> TaskScanner::read_task(int task, bool migrations) {
  TaskCounters counters;
  bool any = false;
  if (read_file(task, "schedstat")) {
    const auto stat = parse_sched_stat(file_.text());
    // All zero: the kernel does not count, or the thread never ran and has nothing to add.
    if (stat && *stat != SchedStat{}) {
      counters.run_queue_wait_ns = stat->wait_ns;
      any = true;
    }
  }
  if (read_switches(task, migrations, counters)) any = true;
  if (!any) return std::nullopt;
  return counters;
}

bool TaskScanner::read_switches(int task, bool migrations, TaskCounters& counters) {
  bool done = false;
  if (migrations && read_file(task, "sched")) {
    if (const auto sched = parse_sched_switches(file_.text())) {
      counters.voluntary_switches = sched->voluntary;
      counters.involuntary_switches = sched->involuntary;
      counters.migrations = sched->migrations;
      done = sched->voluntary && sched->involuntary;
    }
  }
  if (!done && read_file(task, "status")) {
    if (const auto status = parse_status_switches(file_.text())) {
      counters.voluntary_switches = status->voluntary;
      counters.involuntary_switches = status->involuntary;
    }
  }
  return counters.voluntary_switches || counters.involuntary_switches || counters.migrations;
}

bool TaskScanner::read_file(int task, const char* name) {
  path_ = std::to_string(task);
  path_ += '/';
  path_ += name;
  const Fd file(::openat(proc_.get(), path_.c_str(), O_RDONLY | O_CLOEXEC));
  return file.valid() && file_.read_record(file.get()) == 0;
}

}  // namespace pinion::metrics
