#include "agent/http/process_figures.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

#include "base/fd.h"

namespace pinion::agent {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// The second number of /proc/self/statm: resident pages (proc_pid_statm(5)).
std::optional<std::uint64_t> resident_bytes() {
  const Fd file(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::array<char, 128> buffer{};
  const ssize_t n = read(file.get(), buffer.data(), buffer.size());
  if (n <= 0) return std::nullopt;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(n));
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  std::uint64_t pages = 0;
  const auto end = std::from_chars(text.data() + blank + 1, text.data() + text.size(), pages);
  if (end.ec != std::errc{}) return std::nullopt;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ProcessFigures process_figures(std::int64_t started_unix_ms) {
  ProcessFigures figures;
  figures.start_time_seconds = static_cast<double>(started_unix_ms) / 1e3;
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) {
    figures.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  }
  figures.resident_bytes = resident_bytes();
  return figures;
}

}  // namespace pinion::agent
