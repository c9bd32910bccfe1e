#include "tests/lab/usage.h"

#include <unistd.h>

#include <map>
#include <numeric>
#include <sstream>
#include <thread>

#include "metrics/proc_files.h"
#include "tests/lab/numa_maps.h"

namespace pinion::lab {
namespace {

using Clock = std::chrono::steady_clock;

// A thread's counters since it began.
struct Counters {
  std::uint64_t ticks = 0;
  std::uint64_t preemptions = 0;
  std::optional<std::uint64_t> migrations;
  std::optional<std::uint64_t> wait_ns;
};

struct Track {
  ThreadUse use;
  Counters first;
  Counters last;
  topology::CpuId last_cpu = -1;
  std::uint64_t seen_moves = 0;
};

using Tracks = std::map<int, Track>;  // by thread id

// The second of the three numbers in schedstat: time spent waiting on a run queue (the kernel's
// Documentation/scheduler/sched-stats).
std::optional<std::uint64_t> read_wait(int pid, int tid) {
  const auto text =
      read_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/schedstat");
  if (!text) return std::nullopt;
  std::istringstream numbers(*text);
  std::uint64_t ran = 0;
  std::uint64_t waited = 0;
  if (!(numbers >> ran >> waited)) return std::nullopt;
  return waited;
}

void read_counters(int pid, int tid, Counters& counters) {
  const auto status = metrics::read_task_status("", pid, tid);
  if (status) counters.preemptions = status->involuntary_switches.value_or(0);
  // A task that has ended since keeps what it had.
  if (const auto now = metrics::read_migrations("", pid, tid)) counters.migrations = now;
  if (const auto now = read_wait(pid, tid)) counters.wait_ns = now;
}

// What is counted of a task that was not there before.
enum class Since { kFirstLook, kItsBeginning };

void look(const CgroupTree& tree, const std::string& cgroup, bool with_counters, Since since,
          Tracks& tracks) {
  for (const int pid : tree.processes(cgroup)) {
    const auto threads = metrics::list_threads("", pid);
    if (!threads) continue;
    for (const int tid : *threads) {
      const auto stat = metrics::read_task_stat("", pid, tid);
      if (!stat) continue;
      const auto [at, is_new] = tracks.try_emplace(tid);
      Track& track = at->second;
      track.use.tid = tid;
      track.use.comm = stat->comm;
      if (stat->state == 'R') track.use.ran_on.add(stat->last_cpu);
      if (!is_new && track.last_cpu != stat->last_cpu) ++track.seen_moves;
      track.last_cpu = stat->last_cpu;
      track.last.ticks = stat->user_ticks + stat->system_ticks;
      if (with_counters || is_new) read_counters(pid, tid, track.last);
      if (is_new && since == Since::kFirstLook) track.first = track.last;
      if (is_new && since == Since::kItsBeginning) track.first = {.migrations = 0, .wait_ns = 0};
    }
  }
}

constexpr Milliseconds kMemoryInterval{100};

// Shares of local memory, to make a mean of.
class Locality {
 public:
  void look(const CgroupTree& tree, const std::string& cgroup, const topology::Topology& machine) {
    for (const int pid : tree.processes(cgroup)) {
      const auto stat = metrics::read_task_stat("", pid, pid);
      const auto pages = anonymous_pages(pid);
      if (!stat || !pages) continue;  // it has ended
      const auto here = machine.nodes_of(topology::CpuSet{stat->last_cpu});
      long local = 0;
      long all = 0;
      for (const auto& [node, count] : *pages) {
        all += count;
        if (here.contains(node)) local += count;
      }
      if (all == 0) continue;
      sum_ += static_cast<double>(local) / static_cast<double>(all);
      ++looks_;
    }
  }

  [[nodiscard]] std::optional<double> mean() const {
    return looks_ > 0 ? std::optional(sum_ / looks_) : std::nullopt;
  }

 private:
  double sum_ = 0;
  int looks_ = 0;
};

ContainerUse result_of(const Tracks& tracks, double seconds) {
  const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  ContainerUse result{.threads = {}, .seconds = seconds, .local_memory = {}};
  for (const auto& [tid, track] : tracks) {
    ThreadUse use = track.use;
    use.cpu_seconds = static_cast<double>(track.last.ticks - track.first.ticks) / ticks_per_second;
    if (use.cpu_seconds <= 0) continue;
    use.preemptions = track.last.preemptions - track.first.preemptions;
    const bool counted = track.first.migrations && track.last.migrations;
    use.migrations = counted ? *track.last.migrations - *track.first.migrations : track.seen_moves;
    if (track.first.wait_ns && track.last.wait_ns) {
      use.wait_seconds = static_cast<double>(*track.last.wait_ns - *track.first.wait_ns) / 1e9;
    }
    result.threads.push_back(use);
  }
  return result;
}

}  // namespace

double ContainerUse::cpu_seconds() const {
  return std::accumulate(threads.begin(), threads.end(), 0.0,
                         [](double sum, const ThreadUse& use) { return sum + use.cpu_seconds; });
}

std::uint64_t ContainerUse::migrations() const {
  return std::accumulate(
      threads.begin(), threads.end(), std::uint64_t{0},
      [](std::uint64_t sum, const ThreadUse& use) { return sum + use.migrations; });
}

std::uint64_t ContainerUse::preemptions() const {
  return std::accumulate(
      threads.begin(), threads.end(), std::uint64_t{0},
      [](std::uint64_t sum, const ThreadUse& use) { return sum + use.preemptions; });
}

std::optional<double> ContainerUse::wait_seconds() const {
  std::optional<double> sum;
  for (const auto& thread : threads) {
    if (thread.wait_seconds) sum = sum.value_or(0) + *thread.wait_seconds;
  }
  return sum;
}

std::vector<ContainerUse> measure(const CgroupTree& tree, const std::vector<std::string>& cgroups,
                                  Milliseconds duration, Milliseconds interval,
                                  const topology::Topology* machine) {
  std::vector<Tracks> tracks(cgroups.size());
  std::vector<Locality> localities;
  if (machine != nullptr && machine->nodes.size() > 1) {
    localities.resize(cgroups.size());
  }
  const auto begin = Clock::now();
  auto next = begin;
  auto next_memory = begin;
  for (bool last = false;; next += interval) {
    std::this_thread::sleep_until(next);
    last = Clock::now() - begin >= duration;
    for (std::size_t i = 0; i < cgroups.size(); ++i) {
      look(tree, cgroups[i], last, Since::kFirstLook, tracks[i]);
    }
    if (Clock::now() >= next_memory) {
      next_memory += kMemoryInterval;
      for (std::size_t i = 0; i < localities.size(); ++i)
        localities[i].look(tree, cgroups[i], *machine);
    }
    if (last) break;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::vector<ContainerUse> results;
  for (const auto& one : tracks) results.push_back(result_of(one, seconds));
  for (std::size_t i = 0; i < localities.size(); ++i) {
    results[i].local_memory = localities[i].mean();
  }
  return results;
}

ContainerUse measure_until(const CgroupTree& tree, const std::string& cgroup,
                           const std::function<bool()>& done, Milliseconds limit,
                           Milliseconds interval) {
  Tracks tracks;
  const auto begin = Clock::now();
  for (auto next = begin; Clock::now() - begin < limit; next += interval) {
    std::this_thread::sleep_until(next);
    look(tree, cgroup, true, Since::kItsBeginning, tracks);
    if (done()) break;
  }
  return result_of(tracks, std::chrono::duration<double>(Clock::now() - begin).count());
}

}  // namespace pinion::lab
