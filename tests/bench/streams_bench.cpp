// What thousands of agents' streams cost the extender: the product's streams and pod scheduler in
// this process, the agents' side in another one, which plays all of them with one server on as many
// connections.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "base/open_files.h"
#include "cluster/extender/agents/agents.h"
#include "cluster/extender/kube/known_objects.h"
#include "cluster/extender/scheduling/pod_scheduler.h"
#include "tests/bench/streams_player.h"
#include "tests/support/tree.h"

namespace pinion {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

struct Load {
  bench::PlayedAgents played;
  int watch_s = 20;  // in which nothing but rates changes
  int pods = 8;      // of 4 CPUs on each node, bound and not yet reported
};

class Listener : public cluster::AgentSink {
 public:
  void reported(const std::string& node, cluster::NodeReport report) override {
    const std::lock_guard lock(mutex_);
    if (!pod_scheduler_.report(std::move(report), 0)) std::abort();
    reported_.insert(node);
    changed_.notify_all();
  }
  bool measured(const std::string& node, cluster::MissRates rates) override {
    const std::lock_guard lock(mutex_);
    pod_scheduler_.measured(node, std::move(rates));
    ++measured_;
    return true;
  }
  bool heard(const std::string&) override {
    ++heard_;
    return true;
  }
  void unlinked(const std::string&) override {}
  void connected(const std::string&) override {}
  void lost(const std::string&, const Error&) override {}

  // As the API server tells it. False: its cores are not free.
  bool seen(const cluster::Pod& pod) {
    const std::lock_guard lock(mutex_);
    return pod_scheduler_.seen(pod, 0);
  }
  // From now on.
  void forget() {
    const std::lock_guard lock(mutex_);
    reported_.clear();
  }
  // False: not that many nodes have reported within two minutes.
  bool wait_for(std::size_t nodes) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(120), [&] { return reported_.size() >= nodes; });
  }
  [[nodiscard]] std::uint64_t measured() const { return measured_; }
  [[nodiscard]] std::uint64_t heard() const { return heard_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  cluster::PodScheduler pod_scheduler_{policy::Defaults(), cluster::PodSchedulerLimits()};
  std::set<std::string> reported_;
  std::atomic<std::uint64_t> measured_ = 0;
  std::atomic<std::uint64_t> heard_ = 0;
};

// Pods on the nodes, as the API server's list tells them: each is known to the watch and the pod
// scheduler, and its cores are promised.
bool tell_pods(const Load& load, Listener& listener, kube::KnownObjects& known) {
  for (int i = 0; i < load.played.agents * load.pods; ++i) {
    cluster::Pod pod;
    pod.uid = "7870bd56-ea79-4ce5-b63e-" + std::to_string(100'000'000'000 + i);
    pod.name_space = "default";
    pod.name = "solver-worker-" + std::to_string(i);
    pod.qos = policy::Qos::kGuaranteed;
    pod.node = "node-" + std::to_string(i % load.played.agents);
    pod.containers = {{.name = "rank", .milli_cpus = 4000, .memory = 1 << 20}};
    const std::string version = std::to_string(i);
    known.seen({.name_space = pod.name_space,
                .name = pod.name,
                .uid = pod.uid,
                .version = version,
                .json = {}});
    if (!listener.seen(pod)) return false;
  }
  return true;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// A number of /proc/self/status.
long status_of_self(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != name + ":") continue;
    long number = 0;
    status >> number;
    return number;
  }
  return 0;
}

double since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

bool measure(const Load& load, const std::vector<cluster::AgentAddress>& agents, milliseconds rates,
             const std::function<bool()>& change) {
  Listener listener;
  cluster::AgentOptions options;
  options.rates = rates;
  cluster::Agents streams(listener, options);
  const double cpu_before = cpu_seconds();
  const auto begun = Clock::now();
  if (!streams.follow(agents) || !listener.wait_for(agents.size())) return false;
  std::printf("  first report of all: %.1f s, %.1f s CPU; %ld MiB resident, %ld threads\n",
              since(begun), cpu_seconds() - cpu_before, status_of_self("VmRSS") / 1024,
              status_of_self("Threads"));

  kube::KnownObjects known;
  const auto telling = Clock::now();
  if (!tell_pods(load, listener, known)) {
    std::fprintf(stderr, "a pod's cores are not free\n");
    return false;
  }
  std::printf("  %zu bound pods told: %.1f s; %ld MiB resident\n", known.size(), since(telling),
              status_of_self("VmRSS") / 1024);

  const double cpu_watching = cpu_seconds();
  const auto watching = Clock::now();
  std::this_thread::sleep_for(seconds(load.watch_s));
  std::printf(
      "  watching: %.1f %% of one CPU; %.0f messages of rates and %.0f heartbeats a second\n",
      100 * (cpu_seconds() - cpu_watching) / since(watching),
      static_cast<double>(listener.measured()) / since(watching),
      static_cast<double>(listener.heard()) / since(watching));

  listener.forget();
  const double cpu_changing = cpu_seconds();
  const auto changing = Clock::now();
  if (!change() || !listener.wait_for(agents.size())) return false;
  std::printf("  all change at once: %.2f s, %.2f s CPU; %llu streams ended by themselves\n",
              since(changing), cpu_seconds() - cpu_changing,
              static_cast<unsigned long long>(streams.failures()));
  return true;
}

// Before gRPC has any threads here.
template <class Act>
pid_t fork_to(const Act& act) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool good = act();
  std::fflush(stdout);
  _exit(good ? 0 : 1);
}

bool ended_well(pid_t child) {
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

int compare(const Load& load) {
  const auto needed = static_cast<std::uint64_t>(load.played.agents) + 100;
  if (const auto files = allow_open_files(needed); !files || files->soft < needed) {
    std::fprintf(stderr, "%d streams need as many open files, the limit is %s\n",
                 load.played.agents,
                 files ? std::to_string(files->hard).c_str() : files.error().text.c_str());
    return 1;
  }
  const test_support::TempDir folder;
  const std::string socket = folder.path() / "agent.sock";
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 1;
  const int orders = ends[0];
  const pid_t player = fork_to([&] {
    close(orders);
    return bench::play_agents(socket, load.played, ends[1]);
  });
  close(ends[1]);
  std::vector<cluster::AgentAddress> agents;
  for (int i = 0; i < load.played.agents; ++i) {
    agents.push_back({.node = "node-" + std::to_string(i), .address = "unix:" + socket});
  }
  char serving = 0;
  bool good = read(orders, &serving, 1) == 1;
  for (const milliseconds rates : {milliseconds(10'000), milliseconds(1000)}) {
    std::printf("%d agents of 128 CPUs and %d ranks, kinds of machines %d, rates every %lld s:\n",
                load.played.agents, load.played.containers, load.played.kinds,
                static_cast<long long>(rates.count() / 1000));
    // In a process of its own, so that its memory is its own.
    good = good && ended_well(fork_to([&] {
             return measure(load, agents, rates, [&] { return write(orders, "x", 1) == 1; });
           }));
  }
  kill(player, SIGKILL);
  waitpid(player, nullptr, 0);
  if (!good) std::fprintf(stderr, "not all agents were heard\n");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace pinion

int main(int argc, char** argv) {
  CLI::App app("the cost of a stream from each of thousands of agents");
  pinion::Load load;
  app.add_option("--agents", load.played.agents, "streams [5000]");
  app.add_option("--containers", load.played.containers, "ranks of 8 CPUs on each node [8]");
  app.add_option("--kinds", load.played.kinds, "of machines, all with other containers [1]");
  app.add_option("--seconds", load.watch_s, "for which it watches [20]");
  app.add_option("--pods", load.pods, "of 4 CPUs on each node, told by the API server [8]");
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return pinion::compare(load);
}
