#include "metrics/perf/container_counters.h"

#include <cerrno>
#include <utility>

namespace pinion::metrics::perf {
namespace {

bool is_offline(const Error& error) {
  return error.sys_errno == ENODEV;
}

void keep_first(Status& first, Status next) {
  if (first && !next) first = std::move(next);
}

}  // namespace

ContainerCounters::ContainerCounters(PerfSyscalls& syscalls, EventSet events, Fd cgroup_dir)
    : syscalls_(syscalls), events_(std::move(events)), cgroup_(std::move(cgroup_dir)) {}

Status ContainerCounters::set_cpus(const topology::CpuSet& cpus) {
  if (!first_ && cpus == wanted_ && uncounted_.empty()) return {};
  const topology::CpuSet gone = wanted_ - cpus;
  // The new ones first: the container's tasks run there already.
  Status result = open_all((cpus - wanted_) | (cpus & uncounted_));
  for (const topology::CpuId cpu : gone) {
    const auto it = cpus_.find(cpu);
    if (it == cpus_.end() || it->second.groups.empty()) continue;
    Status last = read(it->second);
    close(it->second);
    if (!last && !is_offline(last.error())) keep_first(result, std::move(last));
  }
  wanted_ = cpus;
  uncounted_ &= cpus;
  first_ = false;
  return result;
}

Status ContainerCounters::open_all(const topology::CpuSet& cpus) {
  Status result;
  for (const topology::CpuId cpu : cpus) {
    Status status = open(cpu);
    if (status) {
      uncounted_.remove(cpu);
      continue;
    }
    uncounted_.add(cpu);
    if (is_offline(status.error())) continue;
    const bool hopeless = status.error().code == Errc::kExhausted;
    keep_first(result, std::move(status));
    if (hopeless) {
      uncounted_ |= cpus - topology::CpuSet::range(0, cpu);
      break;
    }
  }
  return result;
}

Status ContainerCounters::open(topology::CpuId cpu) {
  std::vector<PerfGroup> groups;
  groups.reserve(events_.groups.size());
  for (const Group& group : events_.groups) {
    auto opened = PerfGroup::open(syscalls_, group, Target::cgroup_directory(cgroup_.get()), cpu);
    if (!opened) {
      return failure(std::move(opened.error()).within("count on CPU " + std::to_string(cpu)));
    }
    groups.push_back(std::move(*opened));
  }
  OnCpu& on_cpu = cpus_[cpu];
  on_cpu.groups = std::move(groups);
  on_cpu.carries.resize(events_.events());
  if (!first_) reopened_ += on_cpu.groups.size();
  return {};
}

Status ContainerCounters::read(OnCpu& on_cpu) {
  readings_.clear();
  Status result;
  for (const PerfGroup& group : on_cpu.groups) {
    Status status = group.read(readings_);
    // Its place is kept, so that the groups behind it are told apart; nothing is nothing new.
    if (!status) readings_.resize(readings_.size() + group.descriptors());
    keep_first(result, std::move(status));
  }
  for (std::size_t i = 0; i < readings_.size(); ++i) on_cpu.carries[i].read(readings_[i]);
  return result;
}

void ContainerCounters::close(OnCpu& on_cpu) {
  on_cpu.groups.clear();
  for (Carry& carry : on_cpu.carries) carry.reopened();
}

Status ContainerCounters::read() {
  Status result;
  for (auto& [cpu, on_cpu] : cpus_) {
    if (on_cpu.groups.empty()) continue;
    Status status = read(on_cpu);
    if (status) continue;
    close(on_cpu);
    uncounted_.add(cpu);
    if (is_offline(status.error())) continue;
    keep_first(result, failure(std::move(status.error()).within("CPU " + std::to_string(cpu))));
  }
  return result;
}

std::optional<Count> ContainerCounters::count(Event event) const {
  const auto at = events_.position(event);
  if (!at || cpus_.empty()) return std::nullopt;
  Count sum;
  std::uint64_t enabled = 0;
  std::uint64_t running = 0;
  for (const auto& [cpu, on_cpu] : cpus_) {
    const Carry& carry = on_cpu.carries[*at];
    sum.value = saturating_add(sum.value, carry.total());
    enabled = saturating_add(enabled, carry.enabled());
    running = saturating_add(running, carry.running());
  }
  if (running < enabled) sum.running = static_cast<double>(running) / static_cast<double>(enabled);
  return sum;
}

std::optional<std::uint64_t> ContainerCounters::task_clock_ns(topology::CpuId cpu) const {
  const auto at = events_.position(Event::kTaskClock);
  const auto it = cpus_.find(cpu);
  if (!at || it == cpus_.end() || it->second.groups.empty()) return std::nullopt;
  return it->second.carries[*at].total();
}

std::size_t ContainerCounters::descriptors() const {
  std::size_t sum = 0;
  for (const auto& [cpu, on_cpu] : cpus_) {
    for (const PerfGroup& group : on_cpu.groups) sum += group.descriptors();
  }
  return sum;
}

}  // namespace pinion::metrics::perf
