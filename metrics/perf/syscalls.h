// The kernel's side of perf, as narrow as it is used, so that a test can play a kernel that
// refuses, runs out of descriptors or counts anything.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace pinion::metrics::perf {

class PerfSyscalls {
 public:
  PerfSyscalls() = default;
  PerfSyscalls(const PerfSyscalls&) = delete;
  PerfSyscalls& operator=(const PerfSyscalls&) = delete;
  virtual ~PerfSyscalls() = default;

  // perf_event_open(2). The new descriptor, or -errno.
  virtual int open(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd,
                   unsigned long flags) = 0;
  // read(2) of an event. Bytes read, or -errno. 0: the event can count no more (its CPU is gone).
  virtual ssize_t read(int fd, void* buffer, std::size_t size) = 0;
  // PERF_EVENT_IOC_ENABLE. 0, or -errno.
  virtual int enable(int fd) = 0;
  virtual void close(int fd) = 0;
  // kernel.perf_event_paranoid; not set where it cannot be read. For explanations only.
  virtual std::optional<int> paranoid() = 0;
};

// The real one.
class KernelPerf : public PerfSyscalls {
 public:
  // Leaves `reserve` descriptors to others: below that open() answers -EMFILE.
  explicit KernelPerf(std::uint64_t reserve = 0) : reserve_(reserve) {}

  int open(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd,
           unsigned long flags) override;
  ssize_t read(int fd, void* buffer, std::size_t size) override;
  int enable(int fd) override;
  void close(int fd) override;
  std::optional<int> paranoid() override;

 private:
  std::uint64_t reserve_;
};

}  // namespace pinion::metrics::perf
