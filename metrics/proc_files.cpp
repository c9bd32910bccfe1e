#include "metrics/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "base/fd.h"
#include "base/whole_file.h"

namespace pinion::metrics {
namespace {

std::string task_dir(const std::string& root, int pid) {
  return root + "/proc/" + std::to_string(pid) + "/task";
}

Result<std::string> read_task_file(const std::string& root, int pid, int tid, const char* name) {
  const std::string path = task_dir(root, pid) + "/" + std::to_string(tid) + "/" + name;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure("open " + path);
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    // A task that ended since the open reads as ESRCH.
    if (count < 0 && errno == ESRCH) return sys_failure("read " + path, ENOENT);
    if (count < 0) return sys_failure("read " + path);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

// The entries of a directory that are numbers, ascending.
Result<std::vector<int>> list_numbers(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  if (!dir) return sys_failure("open " + path);
  std::vector<int> numbers;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

Result<TaskStat> read_task_stat(const std::string& root, int pid, int tid) {
  const auto text = read_task_file(root, pid, tid, "stat");
  if (!text) return failure(text.error());
  return parse_task_stat(*text);
}

Result<TaskStatus> read_task_status(const std::string& root, int pid, int tid) {
  const auto text = read_task_file(root, pid, tid, "status");
  if (!text) return failure(text.error());
  return parse_task_status(*text);
}

std::optional<std::uint64_t> read_migrations(const std::string& root, int pid, int tid) {
  const auto text = read_task_file(root, pid, tid, "sched");
  if (!text) return std::nullopt;
  return parse_migrations(*text);
}

Result<std::vector<int>> list_threads(const std::string& root, int pid) {
  return list_numbers(task_dir(root, pid));
}

Result<std::vector<int>> list_processes(const std::string& root) {
  return list_numbers(root + "/proc");
}

Result<std::vector<int>> processes_named(const std::string& root, std::string_view name) {
  auto pids = list_processes(root);
  if (!pids) return pids;
  struct stat proc {};
  if (::stat((root + "/proc").c_str(), &proc) != 0) return sys_failure("look at " + root + "/proc");
  std::erase_if(*pids, [&](int pid) {
    const std::string folder = root + "/proc/" + std::to_string(pid);
    struct stat owner {};
    if (::stat(folder.c_str(), &owner) != 0 || owner.st_uid != proc.st_uid) return true;
    const auto comm = read_file(folder + "/comm", 1);
    if (!comm || comm->substr(0, comm->find('\n')) != name) return true;
    const auto arguments = read_file(folder + "/cmdline", 1);
    return !arguments || arguments->empty();
  });
  return pids;
}

}  // namespace pinion::metrics
