#include "agent/counting.h"

#include <fcntl.h>

#include "metrics/cgroup_files.h"
#include "metrics/perf/limits.h"
#include "metrics/perf/machine.h"
#include "metrics/perf/need.h"
#include "metrics/perf/probe.h"

namespace pinion::agent {
namespace {

using metrics::Availability;
using metrics::EventAvailability;

// For which the descriptors are foreseen; more are counted as long as there are some left.
constexpr std::uint64_t kContainersForeseen = 500;

std::vector<EventAvailability> all_off(const std::string& why) {
  std::vector<EventAvailability> events;
  for (std::size_t i = 0; i < metrics::kEvents; ++i) {
    events.push_back({.event = static_cast<metrics::Event>(i),
                      .availability = Availability::kOff,
                      .detail = why});
  }
  return events;
}

void log_events(const std::vector<EventAvailability>& events, Log& log) {
  std::string counted;
  for (const EventAvailability& one : events) {
    const std::string name(to_string(one.event));
    if (one.availability == Availability::kCounted) {
      counted += (counted.empty() ? "" : ",") + name;
    } else if (one.availability != Availability::kOff) {
      log.info("event is not counted", {{"event", name},
                                        {"why", std::string(to_string(one.availability))},
                                        {"detail", one.detail}});
    }
  }
  log.info("counting", {{"events", counted.empty() ? "none" : counted}});
}

// Exclusive cores are held by one container each, so their events are at most one set for each CPU;
// shared containers may each be counted on every CPU.
void foresee_descriptors(const Config& config, std::size_t events, const topology::CpuSet& online,
                         Log& log) {
  const auto cpus = static_cast<std::uint64_t>(online.count());
  const bool full = config.shared_counters == SharedCounters::kFull;
  const std::uint64_t need =
      metrics::perf::descriptor_need(full ? kContainersForeseen : 1, cpus, events) +
      kContainersForeseen * metrics::CgroupReader::kMaxDescriptors;
  if (auto enough = metrics::perf::ensure_descriptors(need); !enough) {
    log.warn("not enough descriptors for all counters", {{"what", enough.error().text}});
  }
}

void add_perf(const Config& config, const topology::CpuSet& online,
              metrics::perf::PerfSyscalls& syscalls, metrics::CollectorOptions& options, Log& log) {
  if (config.counters == CountersChoice::kOff) {
    options.events = all_off("counters: off");
    return;
  }
  const std::string path = metrics::perf_directory(options.readers.mounts, "/");
  const Fd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) {
    options.events = all_off("no cgroup hierarchy that perf could count by is mounted");
    log.warn("perf counts nothing", {{"why", options.events.front().detail}});
    return;
  }
  metrics::perf::ProbeOrder order;
  order.machine = metrics::perf::read_perf_machine(options.root);
  order.target = metrics::perf::Target::cgroup_directory(root.get());
  order.cpu = *online.begin();
  order.hardware = config.counters == CountersChoice::kAll;
  metrics::perf::Probed probed = metrics::perf::probe(syscalls, order);
  options.events = std::move(probed.events);
  options.readers.events = std::move(probed.set);
  options.readers.perf = &syscalls;
  options.readers.count_shared = config.shared_counters == SharedCounters::kFull;
  log_events(options.events, log);
  foresee_descriptors(config, options.readers.events.events(), online, log);
}

}  // namespace

metrics::CollectorOptions choose_counting(const Config& config, bool own_machine,
                                          const topology::CpuSet& online,
                                          metrics::perf::PerfSyscalls& syscalls, Log& log) {
  metrics::CollectorOptions options;
  options.root = config.host_root;
  options.events = all_off("the topology is another machine's");
  if (!own_machine) return options;
  auto mounts = cgroup::find_mounts(config.host_root);
  if (!mounts) {
    options.events = all_off("no cgroup file system is mounted");
    log.warn("containers are not measured", {{"why", mounts.error().text}});
    return options;
  }
  options.readers.mounts = std::move(*mounts);
  if (auto tasks = metrics::TaskScanner::open(config.host_root)) {
    options.readers.tasks = std::move(*tasks);
  } else {
    log.warn("tasks are not measured", {{"why", tasks.error().text}});
  }
  add_perf(config, online, syscalls, options, log);
  return options;
}

}  // namespace pinion::agent
