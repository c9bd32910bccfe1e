#include "metrics/perf/perf_group.h"

#include <array>
#include <cerrno>
#include <utility>

#include "metrics/perf/refusal.h"

namespace pinion::metrics::perf {
namespace {

// What read(2) gives for PERF_FORMAT_GROUP | TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING, in 64-bit
// words: the number of events, two times, and one value for each event.
constexpr std::size_t kHead = 3;
constexpr std::size_t kMostWords = kHead + kEvents;

perf_event_attr attributes(const Encoding& encoding) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = encoding.type;
  attr.config = encoding.config;
  attr.config1 = encoding.config1;
  attr.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return attr;
}

tl::unexpected<Error> refused(PerfSyscalls& syscalls, const std::string& what, int sys_errno) {
  const bool permission = sys_errno == EACCES || sys_errno == EPERM;
  Error error = sys_failure(what, sys_errno).value();
  if (sys_errno == EMFILE || sys_errno == ENFILE) error.code = Errc::kExhausted;
  error.text =
      what + ": " + explain(sys_errno, permission ? syscalls.paranoid() : std::optional<int>());
  return failure(std::move(error));
}

}  // namespace

Result<PerfGroup> PerfGroup::open(PerfSyscalls& syscalls, const Group& group, const Target& target,
                                  topology::CpuId cpu) {
  PerfGroup opened(syscalls);
  opened.fds_.reserve(group.size());
  for (const Counted& counted : group) {
    const bool waits = opened.fds_.empty() && group.size() > 1;
    if (Status status = opened.add(counted, waits, target, cpu); !status) {
      return failure(std::move(status.error()));
    }
  }
  if (group.size() > 1) {
    if (const int got = syscalls.enable(opened.fds_.front()); got < 0) {
      return refused(syscalls, "start counting", -got);
    }
  }
  return opened;
}

// `waits`: a leader is opened switched off, and with it the rest of the group stands still until
// all of it is there.
Status PerfGroup::add(const Counted& counted, bool waits, const Target& target,
                      topology::CpuId cpu) {
  perf_event_attr attr = attributes(counted.encoding);
  attr.disabled = waits ? 1 : 0;
  const unsigned long flags = PERF_FLAG_FD_CLOEXEC | (target.cgroup ? PERF_FLAG_PID_CGROUP : 0UL);
  const int leader = fds_.empty() ? -1 : fds_.front();
  const int fd = syscalls_->open(attr, target.fd_or_pid, cpu, leader, flags);
  if (fd < 0) return refused(*syscalls_, "open " + std::string(to_string(counted.event)), -fd);
  fds_.push_back(fd);
  return {};
}

PerfGroup::PerfGroup(PerfGroup&& other) noexcept
    : syscalls_(other.syscalls_), fds_(std::exchange(other.fds_, {})) {}

PerfGroup& PerfGroup::operator=(PerfGroup&& other) noexcept {
  if (this != &other) {
    close();
    syscalls_ = other.syscalls_;
    fds_ = std::exchange(other.fds_, {});
  }
  return *this;
}

PerfGroup::~PerfGroup() {
  close();
}

// The leader last: a sibling whose leader is closed would go on alone for a moment.
void PerfGroup::close() {
  while (!fds_.empty()) {
    syscalls_->close(fds_.back());
    fds_.pop_back();
  }
}

Status PerfGroup::read(std::vector<Reading>& readings) const {
  std::array<std::uint64_t, kMostWords> words{};
  const ssize_t got = syscalls_->read(fds_.front(), words.data(), sizeof(words));
  if (got < 0) return refused(*syscalls_, "read events", static_cast<int>(-got));
  // When a CPU goes offline the kernel takes its groups apart: the leader is alone, or ends.
  const std::size_t expected = (kHead + fds_.size()) * sizeof(words[0]);
  if (static_cast<std::size_t>(got) != expected) {
    return failure({.code = Errc::kUnavailable,
                    .sys_errno = ENODEV,
                    .text = "read events: their CPU went offline"});
  }
  for (std::size_t i = 0; i < fds_.size(); ++i) {
    readings.push_back({words[kHead + i], words[1], words[2]});
  }
  return {};
}

}  // namespace pinion::metrics::perf
