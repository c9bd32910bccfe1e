// Reads the threads of a container into its TaskTotals.
#pragma once

#include <optional>
#include <string>

#include "base/cgroup/mounts.h"
#include "base/error.h"
#include "base/fd.h"
#include "metrics/small_file.h"
#include "metrics/task_totals.h"

namespace pinion::metrics {

class TaskScanner {
 public:
  // `root` is the directory that holds the machine's proc/ ("" or "/" for this machine); its pid
  // namespace must be that of this process. Errors: as the system says.
  static Result<TaskScanner> open(const std::string& root);

  // One scan of the group `path` (as in metrics/cgroup_files.h) and the groups inside it. With
  // `migrations` /proc/TID/sched is read where the kernel has it, in place of /proc/TID/status.
  // A thread that ends meanwhile is ordinary. Errors: as list_cgroup_tasks; `totals` then keeps
  // what it had.
  Status scan(const cgroup::Mounts& mounts, const std::string& path, bool migrations,
              TaskTotals& totals);

  // One thread's counters now. nullopt: it is gone, or nothing of it is readable.
  std::optional<TaskCounters> read_task(int task, bool migrations);

 private:
  explicit TaskScanner(Fd proc) : proc_(std::move(proc)) {}

  bool read_file(int task, const char* name);
  bool read_switches(int task, bool migrations, TaskCounters& counters);

  Fd proc_;
  SmallFile file_;
  std::string path_;
};

}  // namespace pinion::metrics
