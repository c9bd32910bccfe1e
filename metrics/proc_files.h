// Reads what metrics/proc.h parses. `root` is the directory that holds the machine's proc/ ("" or
// "/" for this machine). A task may end at any moment: kNotFound is then the ordinary answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "metrics/proc.h"

namespace pinion::metrics {

// Thread `tid` of process `pid`. Errors: kNotFound when it is gone, kInvalid when unreadable.
Result<TaskStat> read_task_stat(const std::string& root, int pid, int tid);
Result<TaskStatus> read_task_status(const std::string& root, int pid, int tid);

// Not set where the kernel does not say, or the task is gone.
std::optional<std::uint64_t> read_migrations(const std::string& root, int pid, int tid);

// The thread ids of a process, ascending. Error: kNotFound when it is gone.
Result<std::vector<int>> list_threads(const std::string& root, int pid);

// The process ids of the machine, ascending. Errors: of the system.
Result<std::vector<int>> list_processes(const std::string& root);

// Those of them that have this name (at most 15 characters) and are root's: a name is easily taken,
// another user's process of it is none. Neither is one that has ended, and waits for its parent.
Result<std::vector<int>> processes_named(const std::string& root, std::string_view name);

}  // namespace pinion::metrics
