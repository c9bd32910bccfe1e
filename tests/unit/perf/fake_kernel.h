// A fake of the kernel's perf: refuses, runs out of descriptors, loses CPUs, counts what it is
// told.
#pragma once

#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "metrics/perf/layout.h"
#include "metrics/perf/syscalls.h"

namespace pinion::metrics::perf::test {

class FakeKernel : public PerfSyscalls {
 public:
  struct Opened {
    perf_event_attr attr{};
    pid_t pid = 0;
    int cpu = 0;
    int leader = -1;  // -1: leads
    unsigned long flags = 0;
    bool counts = true;
    std::uint64_t value = 0;
    std::uint64_t enabled = 0;
    std::uint64_t running = 0;
  };

  // -- knobs
  std::function<int(const perf_event_attr&, int cpu)> refuse;  // an errno, or 0
  std::set<int> offline;
  std::size_t most_descriptors = 1000;
  std::size_t counters = 6;  // hardware events in one group
  int paranoid_level = 2;
  bool hardware_stands_still = false;

  // -- the world goes on: `value` more of the event on that CPU, in so much time.
  void count(int cpu, Event event, std::uint64_t value, std::uint64_t enabled,
             std::uint64_t running) {
    const Encoding code = code_of(Core::kZen4, event).encoding.value();
    for (auto& [fd, opened] : events_) {
      if (opened.cpu != cpu || !leader_of(opened, fd).counts) continue;
      if (opened.attr.type == code.type && opened.attr.config == code.config) {
        opened.value += value;
        Opened& leader = leader_of(opened, fd);
        leader.enabled += enabled;
        leader.running += running;
      }
    }
  }

  void count(int cpu, Event event, std::uint64_t value) { count(cpu, event, value, value, value); }

  // As the kernel does it: the groups are taken apart, the leaders end.
  void take_offline(int cpu) { offline.insert(cpu); }

  [[nodiscard]] std::size_t open_events() const { return events_.size(); }
  [[nodiscard]] const std::map<int, Opened>& events() const { return events_; }
  std::vector<int> opened_on;  // the CPU of each success, in order
  int calls = 0;               // of every kind
  int reads = 0;

  // -- PerfSyscalls
  int open(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd,
           unsigned long flags) override {
    ++calls;
    if (const int error = refuse ? refuse(attr, cpu) : 0; error != 0) return -error;
    if (offline.count(cpu) > 0) return -ENODEV;
    if (events_.size() >= most_descriptors) return -EMFILE;
    if (attr.type != PERF_TYPE_SOFTWARE && hardware_in(group_fd) >= counters) return -EINVAL;
    const int fd = next_fd_++;
    Opened opened;
    opened.attr = attr;
    opened.pid = pid;
    opened.cpu = cpu;
    opened.leader = group_fd;
    opened.flags = flags;
    opened.counts = attr.disabled == 0;
    if (attr.type != PERF_TYPE_SOFTWARE && !hardware_stands_still && cpu == -1) {
      opened.value = opened.enabled = opened.running = 1234;
    }
    if (hardware_stands_still) opened.enabled = opened.running = 1234;
    events_[fd] = opened;
    opened_on.push_back(cpu);
    return fd;
  }

  ssize_t read(int fd, void* buffer, std::size_t size) override {
    ++calls;
    ++reads;
    const auto it = events_.find(fd);
    if (it == events_.end()) return -EBADF;
    if (offline.count(it->second.cpu) > 0) return 0;
    std::vector<std::uint64_t> words = {0, it->second.enabled, it->second.running};
    for (const auto& [each, opened] : events_) {
      if (each == fd || opened.leader == fd) words.push_back(opened.value);
    }
    words[0] = words.size() - 3;
    const std::size_t bytes = words.size() * sizeof(words[0]);
    if (bytes > size) return -ENOSPC;
    std::memcpy(buffer, words.data(), bytes);
    return static_cast<ssize_t>(bytes);
  }

  int enable(int fd) override {
    ++calls;
    const auto it = events_.find(fd);
    if (it == events_.end()) return -EBADF;
    it->second.counts = true;
    return 0;
  }

  void close(int fd) override {
    ++calls;
    if (events_.erase(fd) == 0) ++closed_twice;
  }
  int closed_twice = 0;

  std::optional<int> paranoid() override { return paranoid_level; }

 private:
  Opened& leader_of(Opened& opened, int fd) {
    return opened.leader < 0 ? events_.at(fd) : events_.at(opened.leader);
  }

  std::size_t hardware_in(int leader) const {
    std::size_t sum = 0;
    for (const auto& [fd, opened] : events_) {
      const bool member = leader >= 0 && (fd == leader || opened.leader == leader);
      if (member && opened.attr.type != PERF_TYPE_SOFTWARE) ++sum;
    }
    return sum;
  }

  std::map<int, Opened> events_;
  int next_fd_ = 100;
};

// The events with their codes on Zen 4.
inline std::vector<Counted> counted(std::initializer_list<Event> events) {
  std::vector<Counted> out;
  for (const Event event : events) {
    out.push_back({event, code_of(Core::kZen4, event).encoding.value()});
  }
  return out;
}

}  // namespace pinion::metrics::perf::test
