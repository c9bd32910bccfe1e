#include "metrics/perf/syscalls.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/open_files.h"

namespace pinion::metrics::perf {

int KernelPerf::open(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd,
                     unsigned long flags) {
  const long fd = ::syscall(SYS_perf_event_open, &attr, pid, cpu, group_fd, flags);
  if (fd < 0) return -errno;
  // The kernel gives the lowest number that is free, so as many are open at least.
  const auto limit = reserve_ > 0 ? open_files() : Result<OpenFiles>(OpenFiles{});
  if (reserve_ > 0 && limit && static_cast<std::uint64_t>(fd) + reserve_ >= limit->soft) {
    ::close(static_cast<int>(fd));
    return -EMFILE;
  }
  return static_cast<int>(fd);
}

ssize_t KernelPerf::read(int fd, void* buffer, std::size_t size) {
  const ssize_t got = ::read(fd, buffer, size);
  return got < 0 ? -errno : got;
}

int KernelPerf::enable(int fd) {
  return ::ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
}

void KernelPerf::close(int fd) {
  ::close(fd);
}

std::optional<int> KernelPerf::paranoid() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int level = 0;
  if (file >> level) return level;
  return std::nullopt;
}

}  // namespace pinion::metrics::perf
