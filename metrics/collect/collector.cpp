#include "metrics/collect/collector.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <set>
#include <tuple>

#include "metrics/cgroup_files.h"

namespace pinion::metrics {
namespace {

std::int64_t nanoseconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

double seconds_of(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

// By which series are told apart.
auto name_of(const ContainerFigures& figures) {
  return std::tie(figures.who->name_space, figures.who->pod, figures.who->container);
}

}  // namespace

Collector::Collector(CollectorOptions options) : options_(std::move(options)) {}

void Collector::follow(const std::vector<Target>& targets, std::int64_t now) {
  std::set<std::string_view> live;
  for (const Target& target : targets) {
    live.insert(target.who->id);
    const auto [at, is_new] =
        tracked_.try_emplace(target.who->id, target, numbers_, options_.readers.mounts);
    if (is_new) ++numbers_;
    at->second.retarget(target);
  }
  for (auto it = tracked_.begin(); it != tracked_.end();) {
    if (live.contains(it->first)) {
      ++it;
      continue;
    }
    it->second.finish();
    reopened_ += it->second.reopened();
    finished_.push_back({.figures = std::move(it->second.figures()), .since = now});
    finished_.back().figures.finished = true;
    finished_.back().figures.rates = {};
    it = tracked_.erase(it);
  }
}

void Collector::drop_finished(std::int64_t now) {
  std::erase_if(finished_,
                [&](const Finished& one) { return now - one.since > options_.linger_ns; });
  if (finished_.size() > options_.max_finished) {
    const auto surplus = static_cast<std::ptrdiff_t>(finished_.size() - options_.max_finished);
    finished_.erase(finished_.begin(), finished_.begin() + surplus);
  }
}

BusyTimes Collector::read_busy(Faults& faults) const {
  BusyTimes busy;
  const bool wanted = std::any_of(tracked_.begin(), tracked_.end(),
                                  [](const auto& one) { return one.second.wants_busy(); });
  if (!wanted) return busy;
  const auto up = static_cast<std::uint64_t>(nanoseconds_of(CLOCK_MONOTONIC));
  const auto times = read_cpu_times(options_.root);
  if (!times) {
    faults.add(times.error());
    return busy;
  }
  static const std::uint64_t tick =
      1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  for (const CpuTimes& cpu : *times) {
    const std::uint64_t idle = (cpu.idle + cpu.iowait) * tick;
    const std::uint64_t stolen = cpu.steal * tick;
    if (idle + stolen > up) continue;
    busy.with_stolen[cpu.cpu] = up - idle;
    busy.without_stolen[cpu.cpu] = up - idle - stolen;
  }
  return busy;
}

std::vector<ContainerFigures> Collector::gather() const {
  std::vector<ContainerFigures> all;
  all.reserve(tracked_.size() + finished_.size());
  for (const auto& [id, one] : tracked_) all.push_back(one.figures());
  // The newest finished one first, so that it is what stays of several of one name.
  for (auto one = finished_.rbegin(); one != finished_.rend(); ++one) all.push_back(one->figures);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple_cat(name_of(a), std::tie(a.finished)) <
           std::tuple_cat(name_of(b), std::tie(b.finished));
  });
  const auto last = std::unique(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return name_of(a) == name_of(b);
  });
  all.erase(last, all.end());
  return all;
}

Sample Collector::pass(const std::vector<Target>& targets) {
  const std::int64_t begin = nanoseconds_of(CLOCK_MONOTONIC);
  Faults faults;
  follow(targets, begin);
  drop_finished(begin);
  ++passes_;
  const BusyTimes busy = read_busy(faults);
  for (auto& [id, one] : tracked_) one.read_events(busy, options_.readers, faults);
  for (auto& [id, one] : tracked_) one.read_files(passes_, options_.readers, faults);
  faults_.vanished += faults.vanished;
  faults_.errors += faults.errors;
  if (!faults.last_error.empty()) faults_.last_error = faults.last_error;

  Sample sample;
  sample.number = passes_;
  sample.unix_ms = nanoseconds_of(CLOCK_REALTIME) / 1'000'000;
  sample.containers = gather();
  sample.events = options_.events;
  sample.collector.passes = passes_;
  sample.collector.vanished = faults_.vanished;
  sample.collector.errors = faults_.errors;
  sample.collector.last_error = faults_.last_error;
  sample.collector.reopened = reopened_;
  for (const auto& [id, one] : tracked_) {
    sample.collector.descriptors += one.descriptors();
    sample.collector.reopened += one.reopened();
  }
  sample.collector.cpu_seconds = seconds_of(nanoseconds_of(CLOCK_THREAD_CPUTIME_ID));
  sample.steady_ns = nanoseconds_of(CLOCK_MONOTONIC);
  sample.collector.last_pass_seconds = seconds_of(sample.steady_ns - begin);
  return sample;
}

}  // namespace pinion::metrics
