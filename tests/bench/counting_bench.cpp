// What counting costs: Pinion's collector beside the way of cAdvisor and koordlet (every event on
// every CPU for every container, each with a descriptor and a read of its own), in one run, on real
// cgroups with a sleeping process each. Needs root.
//
//   counting_bench [--json FILE] [CONTAINERS...]     default: 50 200 500
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>

#include "metrics/cgroup_files.h"
#include "metrics/collect/collector.h"
#include "metrics/perf/limits.h"
#include "metrics/perf/machine.h"
#include "metrics/perf/probe.h"
#include "tests/bench/measurements.h"

namespace pinion::metrics {
namespace {

constexpr int kPeriods = 20;
constexpr int kRanks = 32;  // with cores of their own, of however many containers
constexpr double kMs = 1000;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  long size = 0;
  long resident = 0;
  file >> size >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / 1e6;
}

// Real cgroups in every hierarchy that is read, each with a process that sleeps.
class Containers {
 public:
  Containers(const cgroup::Mounts& mounts, int count)
      : root_("/pinion-bench-" + std::to_string(getpid())) {
    for (const cgroup::Mount* mount : {&mounts.cpu, &mounts.cpuacct, &mounts.memory, &mounts.pids,
                                       &mounts.perf, &mounts.unified}) {
      if (mount->found()) mounts_.insert(mount->directory);
    }
    for (const std::string& mount : mounts_) mkdir((mount + root_).c_str(), 0755);
    for (int i = 0; i < count; ++i) add(root_ + "/" + std::to_string(1000 + i));
  }
  Containers(const Containers&) = delete;
  Containers& operator=(const Containers&) = delete;
  ~Containers() {
    for (const pid_t child : children_) kill(child, SIGKILL);
    for (const pid_t child : children_) waitpid(child, nullptr, 0);
    paths_.push_back(root_);
    for (const std::string& mount : mounts_) {
      for (const std::string& path : paths_) rmdir((mount + path).c_str());
    }
  }

  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

 private:
  void add(const std::string& path) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    children_.push_back(child);
    paths_.push_back(path);
    for (const std::string& mount : mounts_) {
      mkdir((mount + path).c_str(), 0755);
      std::ofstream file(mount + path + "/cgroup.procs");
      file << child << std::flush;
      if (!file) std::fprintf(stderr, "cannot use %s%s\n", mount.c_str(), path.c_str());
    }
  }

  std::string root_;
  std::set<std::string> mounts_;
  std::vector<std::string> paths_;
  std::vector<pid_t> children_;
};

struct Cost {
  std::size_t descriptors = 0;
  double memory_mb = 0;  // that came with it
  double cpu_ms = 0;     // of a period, mean
};

std::vector<Target> targets_of(const Containers& containers, const topology::CpuSet& online) {
  std::vector<Target> targets;
  for (const std::string& path : containers.paths()) {
    Identity identity;
    identity.id = path;
    identity.name_space = "bench";
    identity.pod = path;
    identity.container = "main";
    identity.exclusive = targets.size() < kRanks;
    topology::CpuSet one;
    one.add(*online.begin());
    targets.push_back({.who = std::make_shared<const Identity>(identity),
                       .cgroup = path,
                       .cpus = identity.exclusive ? one : online,
                       .exclusive = identity.exclusive,
                       .fresh = true});
  }
  return targets;
}

Cost cost_of_collector(const Containers& containers, const topology::CpuSet& online,
                       const cgroup::Mounts& mounts, const perf::Probed& probed) {
  perf::KernelPerf kernel;
  CollectorOptions options;
  options.readers.mounts = mounts;
  options.readers.perf = &kernel;
  options.readers.events = probed.set;
  if (auto tasks = TaskScanner::open("")) options.readers.tasks = std::move(*tasks);
  const double memory = resident_mb();
  Collector collector(std::move(options));
  const auto targets = targets_of(containers, online);
  Sample sample = collector.pass(targets);  // opens all
  const double begin = thread_seconds();
  for (int i = 0; i < kPeriods; ++i) sample = collector.pass(targets);
  return {.descriptors = sample.collector.descriptors,
          .memory_mb = resident_mb() - memory,
          .cpu_ms = (thread_seconds() - begin) / kPeriods * kMs};
}

// One group of one event, for every event, CPU and container; and the same cgroup and task figures
// for every container in every period, files opened anew each time.
Cost cost_of_baseline(const Containers& containers, const topology::CpuSet& online,
                      const cgroup::Mounts& mounts, const perf::Probed& probed) {
  perf::KernelPerf kernel;
  const double memory = resident_mb();
  std::vector<perf::PerfGroup> groups;
  std::size_t directories = 0;
  for (const std::string& path : containers.paths()) {
    const Fd directory(open(perf_directory(mounts, path).c_str(), O_RDONLY | O_DIRECTORY));
    ++directories;
    for (const topology::CpuId cpu : online) {
      for (const perf::Group& group : probed.set.groups) {
        for (const perf::Counted& event : group) {
          auto opened = perf::PerfGroup::open(kernel, {event},
                                              perf::Target::cgroup_directory(directory.get()), cpu);
          if (!opened) {
            std::fprintf(stderr, "baseline: %s\n", opened.error().text.c_str());
            return {};
          }
          groups.push_back(std::move(*opened));
        }
      }
    }
  }
  std::vector<perf::Reading> readings;
  SmallFile scratch;
  const double begin = thread_seconds();
  for (int i = 0; i < kPeriods; ++i) {
    for (const perf::PerfGroup& group : groups) {
      readings.clear();
      (void)group.read(readings);
    }
    for (const std::string& path : containers.paths()) {
      (void)CgroupReader(mounts, path).read(scratch);
    }
  }
  return {.descriptors = groups.size() + directories,
          .memory_mb = resident_mb() - memory,
          .cpu_ms = (thread_seconds() - begin) / kPeriods * kMs};
}

void print(const char* name, const Cost& cost) {
  std::printf("  %-34s %9zu descriptors %8.1f MB %10.3f ms CPU a period\n", name, cost.descriptors,
              cost.memory_mb, cost.cpu_ms);
}

// The same for a machine that is not here: a read costs what it costs here, and the number of
// descriptors follows from the code that opens them.
void print_computed(int containers, std::size_t events, const Cost& baseline,
                    const topology::CpuSet& online) {
  constexpr std::uint64_t kCpus = 256;
  const auto all = static_cast<std::uint64_t>(containers);
  const std::uint64_t theirs = all * kCpus * events;
  const std::uint64_t ours = kCpus * events;  // each CPU is at most one rank's own
  const double per_read =
      baseline.cpu_ms /
      static_cast<double>(all * static_cast<std::uint64_t>(online.count()) * events);
  std::printf(
      "  computed for 256 CPUs: %llu descriptors against at most %llu; %.1f ms CPU a period for "
      "their "
      "perf reads alone, at %.2f us each as here\n",
      static_cast<unsigned long long>(theirs), static_cast<unsigned long long>(ours),
      per_read * static_cast<double>(theirs), per_read * kMs);
}

void add(bench::Measurements& measured, const std::string& who, int count, const Cost& cost) {
  measured.add(who + "/" + std::to_string(count),
               {{"descriptors", static_cast<double>(cost.descriptors)},
                {"memory_mb", cost.memory_mb},
                {"period_cpu_ms", cost.cpu_ms}});
}

int run(const std::vector<int>& counts, const std::string& json) {
  const auto mounts = cgroup::find_mounts("/");
  if (!mounts || geteuid() != 0) {
    std::fprintf(stderr, "counting_bench: needs root and cgroups\n");
    return 1;
  }
  topology::CpuSet online;
  for (int cpu = 0; cpu < static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); ++cpu) online.add(cpu);
  perf::KernelPerf kernel;
  const Fd root(open(perf_directory(*mounts, "/").c_str(), O_RDONLY | O_DIRECTORY));
  const perf::Probed probed =
      perf::probe(kernel, {.machine = perf::read_perf_machine(""),
                           .target = perf::Target::cgroup_directory(root.get()),
                           .cpu = *online.begin(),
                           .hardware = true});
  (void)perf::ensure_descriptors(500'000);
  bench::Measurements measured;
  std::printf("%d CPUs, %zu events; %d containers have cores of their own; mean of %d periods\n",
              online.count(), probed.set.events(), kRanks, kPeriods);
  for (const int count : counts) {
    const Containers containers(*mounts, count);
    const Cost ours = cost_of_collector(containers, online, *mounts, probed);
    const Cost theirs = cost_of_baseline(containers, online, *mounts, probed);
    std::printf("%d containers\n", count);
    print("every event, CPU and container", theirs);
    print("pinion", ours);
    std::printf("  ratio %.1f; at one period a second: %.2f %% of a core\n",
                theirs.cpu_ms / std::max(ours.cpu_ms, 1e-6), ours.cpu_ms / 10);
    print_computed(count, probed.set.events(), theirs, online);
    add(measured, "every_event", count, theirs);
    add(measured, "pinion", count, ours);
  }
  if (const Status written = measured.write(json); !written) {
    std::fprintf(stderr, "counting_bench: %s\n", written.error().text.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace pinion::metrics

int main(int argc, char** argv) {
  CLI::App app("What counting costs, beside every event on every CPU for every container");
  std::vector<int> counts{50, 200, 500};
  std::string json;
  app.add_option("containers", counts, "Numbers of containers")->check(CLI::PositiveNumber);
  app.add_option("--json", json, "Where the measurements go, for tests/bench/gate");
  CLI11_PARSE(app, argc, argv);
  return pinion::metrics::run(counts, json);
}
