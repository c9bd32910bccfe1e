// pinion-fence-bench: what a fence costs a rank that starts among many shared containers, in a real
// containerd: how long the runtime takes to create and start it, and how long after the request the
// last of the others is off its cores, as the kernel tells their CPUs. Beside the same runtime
// without an agent, in turns. Needs root.
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <thread>

#include "tests/bench/measurements.h"
#include "tests/lab/agent_process.h"
#include "tests/lab/containerd_lab.h"
#include "topology/discover/discover.h"

namespace pinion::bench {
namespace {

using lab::Milliseconds;
using topology::CpuSet;
using Clock = std::chrono::steady_clock;

constexpr const char* kNone = "none";
constexpr int kPerPod = 25;
constexpr Milliseconds kReadyLimit{120'000};
constexpr Milliseconds kOffLimit{30'000};

struct Options {
  std::string containerd = "2.1";
  std::vector<std::string> fences{kNone, "leaf", "runtime"};
  std::vector<int> shared{10, 50, 150, 300};
  int rounds = 5;
  std::string json;
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

CpuSet allowed(int pid) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CpuSet cpus;
  if (sched_getaffinity(pid, sizeof(mask), &mask) != 0) return cpus;  // it has ended
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.add(cpu);
  }
  return cpus;
}

bool any_on(const std::vector<int>& pids, const CpuSet& cores) {
  return std::any_of(pids.begin(), pids.end(),
                     [&](int pid) { return allowed(pid).intersects(cores); });
}

struct Figures {
  std::vector<double> create;  // CreateContainer, ms
  std::vector<double> start;   // StartContainer, ms
  std::vector<double> off;     // from the create's request until nobody is on the cores, ms
};

std::string median(std::vector<double> values) {
  if (values.empty()) return "-";
  std::sort(values.begin(), values.end());
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f (%.1f-%.1f)", values[values.size() / 2],
                      values.front(), values.back());
  return text.data();
}

class Bench {
 public:
  Bench(lab::ContainerdLab& lab, Options options, int width, std::string reserved)
      : lab_(lab), options_(std::move(options)), width_(width), reserved_(std::move(reserved)) {}

  Status run() {
    std::printf("%7s %-10s %24s %24s %24s\n", "shared", "fence", "create ms", "start ms",
                "others off after ms");
    for (const int count : options_.shared) {
      if (auto grown = grow(count); !grown) return grown;
      std::map<std::string, Figures> all;
      for (int round = 0; round < options_.rounds; ++round) {
        for (const std::string& fence : options_.fences) {
          Figures& figures = all[fence];
          if (auto done = one(fence, figures); !done) return failure(done.error().within(fence));
          measured_.add(fence + "/" + std::to_string(count),
                        {{"create_and_start_ms", figures.create.back() + figures.start.back()}});
        }
      }
      for (const std::string& fence : options_.fences) {
        const Figures& figures = all.at(fence);
        std::printf("%7d %-10s %24s %24s %24s\n", count, fence.c_str(),
                    median(figures.create).c_str(), median(figures.start).c_str(),
                    median(figures.off).c_str());
      }
      (void)std::fflush(stdout);
    }
    return measured_.write(options_.json);
  }

 private:
  // Sleeping shared containers, until there are so many.
  Status grow(int count) {
    while (shared_ < count) {
      auto spec = lab::best_effort_pod("shared-" + std::to_string(pods_++), {});
      const auto pod = lab_.run_pod(spec);
      if (!pod) return failure(pod.error());
      for (int i = 0; i < kPerPod && shared_ < count; ++i, ++shared_) {
        auto container = spec.containers[0];
        container.name = "c" + std::to_string(i);
        const auto id = lab_.start_container(*pod, container);
        if (!id) return failure(id.error());
        for (const int pid : lab_.cgroups().processes(lab::ContainerdLab::cgroup_of(*pod, *id))) {
          pids_.push_back(pid);
        }
      }
    }
    return {};
  }

  // One rank's life under this fence. Everybody may run everywhere when it is asked for.
  Status one(const std::string& fence, Figures& figures) {
    lab::AgentProcess agent;
    if (fence != kNone) {
      auto started = lab::AgentProcess::start(
          lab_, {.reserved_cpus = reserved_, .fence = fence, .more = {"--log-level", "error"}});
      if (!started) return failure(started.error());
      agent = std::move(*started);
      if (auto ready = agent.wait_ready(kReadyLimit); !ready) return ready;
    }
    auto spec = lab::guaranteed_pod("rank-" + std::to_string(pods_++), width_, {});
    const auto pod = lab_.run_pod(spec);
    if (!pod) return failure(pod.error());
    auto done = measure(*pod, fence == kNone ? nullptr : &agent, figures);
    if (auto removed = lab_.remove_pod(*pod); !removed && done) done = removed;
    if (fence != kNone) {
      settle();
      if (const auto ended = agent.stop(); !ended && done) done = failure(ended.error());
    }
    return done;
  }

  Status measure(const lab::RunningPod& pod, const lab::AgentProcess* agent, Figures& figures) {
    const auto begin = Clock::now();
    const auto id = lab_.create_container(pod, pod.spec.containers[0]);
    if (!id) return failure(id.error());
    const double created = ms_since(begin);
    std::optional<double> off;
    Status watched;
    std::thread watcher([&] {
      if (agent == nullptr) return;
      const auto cores = cores_of(*agent, *id);
      if (!cores) {
        watched = failure(cores.error());
        return;
      }
      const auto limit = Clock::now() + kOffLimit;
      while (any_on(pids_, *cores) && Clock::now() < limit) std::this_thread::yield();
      off = ms_since(begin);
    });
    const auto start = Clock::now();
    auto done = lab_.cri().start_container(*id);
    const double started = ms_since(start);
    watcher.join();
    if (!done || !watched) return done ? watched : done;
    figures.create.push_back(created);
    figures.start.push_back(started);
    if (off) figures.off.push_back(*off);
    return {};
  }

  // What the agent shows of itself may be some milliseconds old.
  static Result<CpuSet> cores_of(const lab::AgentProcess& agent, const std::string& id) {
    const auto limit = Clock::now() + kOffLimit;
    while (Clock::now() < limit) {
      const auto status = agent.status();
      if (!status) return failure(status.error());
      const auto* rank = status->find(id);
      if (rank != nullptr && rank->exclusive) return rank->decided;
    }
    return failure(Errc::kInternal, "the rank was not pinned");
  }

  // Until all may run everywhere again, or for a while where the fence gives back late.
  void settle() const {
    const auto machine = allowed(0);
    const auto limit = Clock::now() + std::chrono::seconds(5);
    while (Clock::now() < limit && !std::all_of(pids_.begin(), pids_.end(), [&](int pid) {
             return machine.is_subset_of(allowed(pid));
           })) {
      std::this_thread::yield();
    }
  }

  lab::ContainerdLab& lab_;
  Options options_;
  int width_;
  std::string reserved_;
  int shared_ = 0;
  int pods_ = 0;
  std::vector<int> pids_;
  Measurements measured_;
};

Status run(const Options& options) {
  const lab::LabOptions lab_options{.containerd = options.containerd, .runtime = {}, .logs = {}};
  const auto machine = topology::discover(topology::Source{});
  if (!machine) return failure(machine.error());
  const CpuSet& first = machine->cores.front().cpus;
  auto lab = lab::ContainerdLab::start(lab_options);
  if (!lab) return failure(lab.error());
  (*lab)->cri().set_limit(kReadyLimit);
  auto done = Bench(**lab, options, first.count(), first.to_string()).run();
  auto closed = (*lab)->close();
  return done ? closed : done;
}

}  // namespace
}  // namespace pinion::bench

int main(int argc, char** argv) {
  pinion::bench::Options options;
  CLI::App app(
      "What each fence costs a rank that starts among many shared containers: median (least-most) "
      "of its create and start as the runtime's client sees them, and of the time from the "
      "create's "
      "request until nobody else may run on its cores.");
  app.add_option("--containerd", options.containerd, "1.7 or 2.1")->capture_default_str();
  app.add_option("--fences", options.fences, "of none partition tree leaf runtime")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--shared", options.shared, "Numbers of shared containers, growing")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Ranks for each fence and number")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--json", options.json, "Where the measurements go, for tests/bench/gate");
  CLI11_PARSE(app, argc, argv);
  if (const auto done = pinion::bench::run(options); !done) {
    (void)std::fprintf(stderr, "pinion-fence-bench: %s\n", done.error().text.c_str());
    return 1;
  }
  return 0;
}
