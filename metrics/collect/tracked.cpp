#include "metrics/collect/tracked.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>

#include "metrics/cgroup_files.h"
#include "metrics/collect/rates.h"

namespace pinion::metrics {
namespace {

enum Source : int { kPerf, kTasks };

// Passes between two readings. A rank's figures are what the node is there for; for the others the
// same cost would buy little.
struct Schedule {
  std::uint64_t cgroup;
  std::uint64_t tasks;
};
constexpr Schedule kExclusive{.cgroup = 2, .tasks = 5};
constexpr Schedule kShared{.cgroup = 10, .tasks = 10};

constexpr double kNanoseconds = 1e9;

std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// Seconds since the last reading of a source; not set before the second.
std::optional<double> since(std::int64_t last, std::int64_t now) {
  if (last == 0 || now <= last) return std::nullopt;
  return static_cast<double>(now - last) / kNanoseconds;
}

}  // namespace

void Faults::add(const Error& error) {
  if (error.code == Errc::kNotFound) {
    ++vanished;
    return;
  }
  ++errors;
  last_error = error.text;
}

std::uint64_t Spliced::update(int source, std::uint64_t raw) {
  if (source_ != source) {
    start_ = source_ ? raw : 0;
    base_ = last_;
    source_ = source;
  }
  if (raw >= start_) last_ = std::max(last_, base_ + raw - start_);
  return last_;
}

Tracked::Tracked(const Target& target, std::uint64_t number, const cgroup::Mounts& mounts)
    : target_(target), number_(number), files_(mounts, target.cgroup), totals_(target.fresh) {
  figures_.who = target.who;
}

bool Tracked::counts_by_perf(const Readers& readers) const {
  return readers.perf != nullptr && readers.events.events() > 0 &&
         (target_.exclusive || readers.count_shared);
}

void Tracked::retarget(const Target& target) {
  if (figures_.who == target.who) return;
  target_ = target;
  figures_.who = target.who;
}

void Tracked::finish() {
  if (!counters_) return;
  // Also works when the cgroup is gone; whatever fails now, the counts before are kept.
  (void)counters_->read();
  take_counts();
  reopened_before_ = reopened();
  counters_.reset();
  tried_ = false;
}

std::size_t Tracked::descriptors() const {
  return counters_ ? counters_->descriptors() : 0;
}

std::uint64_t Tracked::reopened() const {
  return reopened_before_ + (counters_ ? counters_->reopened() : 0);
}

void Tracked::open(Readers& readers, Faults& faults) {
  tried_ = true;
  const std::string path = perf_directory(readers.mounts, target_.cgroup);
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) {
    faults.add(sys_failure("open " + path).value());
    return;
  }
  counters_ = std::make_unique<perf::ContainerCounters>(*readers.perf, readers.events,
                                                        std::move(directory));
}

void Tracked::take_counts() {
  for (std::size_t i = 0; i < kEvents; ++i) {
    const auto event = static_cast<Event>(i);
    if (const auto count = counters_->count(event))
      take(event, kPerf, count->value, count->running);
  }
}

void Tracked::take(Event event, int source, std::uint64_t raw, double running) {
  const auto index = static_cast<std::size_t>(event);
  figures_.events[index] = Count{.value = spliced_[index].update(source, raw), .running = running};
}

void Tracked::read_events(const BusyTimes& busy, Readers& readers, Faults& faults) {
  const bool by_perf = counts_by_perf(readers);
  if (!by_perf) finish();
  if (by_perf && !counters_ && !tried_) open(readers, faults);
  if (!counters_) return take_intrusion(busy.without_stolen, own_by_cgroup(readers));
  if (auto done = counters_->set_cpus(target_.cpus); !done) faults.add(done.error());
  if (auto done = counters_->read(); !done) faults.add(done.error());
  const std::int64_t now = steady_ns();
  const ContainerFigures before = figures_;
  take_counts();
  take_intrusion(busy.with_stolen, own_by_perf());
  if (const auto seconds = since(read_.perf, now)) {
    set_perf_rates(before, *seconds, target_.cpus.count(), figures_);
  }
  read_.perf = now;
}

// The time that the container ran on each of its cores; empty where nothing says so.
CpuClocks Tracked::own_by_perf() const {
  CpuClocks own;
  if (!target_.exclusive) return own;
  for (const topology::CpuId cpu : target_.cpus) {
    if (const auto time = counters_->task_clock_ns(cpu)) own[cpu] = *time;
  }
  return own;
}

// Without perf: cgroup v1 keeps it by CPU, v2 does not.
CpuClocks Tracked::own_by_cgroup(Readers& readers) {
  CpuClocks own;
  if (!target_.exclusive || readers.mounts.cpuacct.version != 1) return own;
  const auto usage = files_.read_usage_percpu(readers.scratch);
  if (!usage) return own;
  for (const topology::CpuId cpu : target_.cpus) {
    if (static_cast<std::size_t>(cpu) < usage->size()) {
      own[cpu] = (*usage)[static_cast<std::size_t>(cpu)];
    }
  }
  return own;
}

void Tracked::take_intrusion(const CpuClocks& busy, const CpuClocks& own) {
  std::map<topology::CpuId, CoreTimes> cores;
  for (const auto& [cpu, time] : own) {
    const auto at = busy.find(cpu);
    if (at != busy.end()) cores[cpu] = {.busy_ns = at->second, .own_ns = time};
  }
  // Without cores for a while, as when they are lent, whoever runs there meanwhile is no intruder.
  if (cores.empty() && (target_.exclusive || !figures_.intrusion_ns)) return;
  intrusion_.update(cores);
  figures_.intrusion_ns = intrusion_.total_ns();
}

void Tracked::read_files(std::uint64_t pass, Readers& readers, Faults& faults) {
  const Schedule& schedule = target_.exclusive ? kExclusive : kShared;
  const std::uint64_t turn = pass + number_;
  const bool first = read_.cgroup == 0;
  if (first || turn % schedule.cgroup == 0) read_cgroup(readers, faults);
  if (first || turn % schedule.tasks == 0) read_tasks(readers, faults);
}

void Tracked::read_cgroup(Readers& readers, Faults& faults) {
  auto found = files_.read(readers.scratch);
  if (!found) {
    faults.add(found.error());
    return;
  }
  if (found->trouble) faults.add(*found->trouble);
  const std::int64_t now = steady_ns();
  const ContainerFigures before = figures_;
  figures_.cpu_ns = found->cpu_ns;
  figures_.cpu_user_ns = found->cpu_user_ns;
  figures_.cpu_system_ns = found->cpu_system_ns;
  figures_.periods = found->periods;
  figures_.throttled_periods = found->throttled_periods;
  figures_.throttled_ns = found->throttled_ns;
  figures_.memory = std::move(found->memory);
  figures_.memory_pressure_some_ns = found->memory_pressure_some_ns;
  figures_.memory_pressure_full_ns = found->memory_pressure_full_ns;
  figures_.cpu_pressure_some_ns = found->cpu_pressure_some_ns;
  figures_.threads = found->tasks ? found->tasks : totals_.threads();
  if (const auto seconds = since(read_.cgroup, now)) set_cgroup_rates(before, *seconds, figures_);
  read_.cgroup = now;
}

void Tracked::read_tasks(Readers& readers, Faults& faults) {
  if (!readers.tasks) return;
  const bool by_perf = counters_ != nullptr;
  const auto done = readers.tasks->scan(readers.mounts, target_.cgroup, !by_perf, totals_);
  if (!done) {
    faults.add(done.error());
    return;
  }
  const std::int64_t now = steady_ns();
  const ContainerFigures before = figures_;
  const TaskCounters& sums = totals_.sums();
  figures_.voluntary_switches = sums.voluntary_switches;
  figures_.involuntary_switches = sums.involuntary_switches;
  figures_.run_queue_wait_ns = sums.run_queue_wait_ns;
  if (!by_perf) {
    if (sums.migrations) take(Event::kMigrations, kTasks, *sums.migrations, 1);
    if (sums.voluntary_switches && sums.involuntary_switches) {
      take(Event::kContextSwitches, kTasks, *sums.voluntary_switches + *sums.involuntary_switches,
           1);
    }
  }
  if (const auto seconds = since(read_.tasks, now)) {
    set_task_rates(before, *seconds, figures_);
    if (!by_perf) set_perf_rates(before, *seconds, target_.cpus.count(), figures_);
  }
  read_.tasks = now;
}

}  // namespace pinion::metrics
