#include "metrics/perf/syscalls.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace pinion::metrics::perf {

int KernelPerf::open(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd,
                     unsigned long flags) {
  const long fd = ::syscall(SYS_perf_event_open, &attr, pid, cpu, group_fd, flags);
  return fd < 0 ? -errno : static_cast<int>(fd);
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
