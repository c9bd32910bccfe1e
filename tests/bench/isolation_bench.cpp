// pinion-isolation-bench: what a rank gets of its cores beside busy containers, by how they are
// kept off: not at all, by files, by a partition with the kernel's load balancing inside it, and by
// one without ("isolated"). Rounds in turns. Needs root, and cgroup v2 for the partitions.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "tests/lab/agent_process.h"
#include "tests/lab/containerd_lab.h"
#include "tests/lab/usage.h"
#include "topology/discover/discover.h"

namespace pinion::bench {
namespace {

using lab::Milliseconds;

constexpr Milliseconds kReadyLimit{120'000};
constexpr Milliseconds kInterval{20};

struct Options {
  std::string containerd = "2.1";
  std::vector<std::string> ways{"none", "leaf", "root", "isolated"};
  int cores = 1;
  int busy = 2;
  int seconds = 10;
  int rounds = 5;
};

// Of one rank in one round.
struct Figures {
  double share = 0;       // of its cores' time that it got, percent
  double preempted = 0;   // involuntary switches a second
  double migrations = 0;  // a second
};

std::string spread(const std::vector<Figures>& all, double Figures::*member) {
  std::vector<double> values;
  for (const auto& figures : all) values.push_back(figures.*member);
  if (values.empty()) return "-";
  std::sort(values.begin(), values.end());
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "%.2f (%.2f-%.2f)", values[values.size() / 2],
                      values.front(), values.back());
  return text.data();
}

std::vector<std::string> flags_of(const std::string& way) {
  std::vector<std::string> flags{"--log-level", "error"};
  if (way == "root" || way == "isolated") flags.insert(flags.end(), {"--partition", way});
  return flags;
}

Result<Figures> one(lab::ContainerdLab& lab, const Options& options, const std::string& way,
                    const topology::Topology& machine, int round) {
  const auto& first = machine.cores.front().cpus;
  lab::AgentProcess agent;
  if (way != "none") {
    auto started = lab::AgentProcess::start(lab, {.reserved_cpus = first.to_string(),
                                                  .fence = way == "leaf" ? "leaf" : "partition",
                                                  .more = flags_of(way)});
    if (!started) return failure(started.error());
    agent = std::move(*started);
    if (auto ready = agent.wait_ready(kReadyLimit); !ready) return failure(ready.error());
  }
  const int cpus = options.cores * first.count();
  const auto spec =
      lab::guaranteed_pod("rank-" + way + std::to_string(round), cpus, lab::spin(cpus));
  const auto pod = lab.run_pod(spec);
  if (!pod) return failure(pod.error());
  const auto id = lab.start_container(*pod, spec.containers.front());
  if (!id) return failure(id.error());
  const auto use = lab::measure(lab.cgroups(), {lab::ContainerdLab::cgroup_of(*pod, *id)},
                                std::chrono::seconds(options.seconds), kInterval)
                       .front();
  if (auto removed = lab.remove_pod(*pod); !removed) return failure(removed.error());
  if (way != "none") {
    if (const auto ended = agent.stop(); !ended) return failure(ended.error());
  }
  return Figures{.share = 100 * use.cpu_seconds() / use.seconds / cpus,
                 .preempted = static_cast<double>(use.preemptions()) / use.seconds,
                 .migrations = static_cast<double>(use.migrations()) / use.seconds};
}

Status rounds(lab::ContainerdLab& lab, const Options& options, const topology::Topology& machine) {
  for (int i = 0; i < options.busy; ++i) {
    const auto spec = lab::best_effort_pod("busy-" + std::to_string(i), lab::spin(1));
    const auto pod = lab.run_pod(spec);
    if (!pod) return failure(pod.error());
    if (const auto id = lab.start_container(*pod, spec.containers.front()); !id) {
      return failure(id.error());
    }
  }
  std::map<std::string, std::vector<Figures>> all;
  for (int round = 0; round < options.rounds; ++round) {
    for (const auto& way : options.ways) {
      const auto figures = one(lab, options, way, machine, round);
      if (!figures) return failure(figures.error().within(way));
      all[way].push_back(*figures);
    }
  }
  std::printf("%d busy containers, a rank of %d cores, %d rounds of %d s: median (least-most)\n",
              options.busy, options.cores, options.rounds, options.seconds);
  std::printf("%-10s %26s %26s %26s\n", "kept off", "% of its cores", "involuntary/s",
              "migrations/s");
  for (const auto& way : options.ways) {
    std::printf("%-10s %26s %26s %26s\n", way.c_str(), spread(all[way], &Figures::share).c_str(),
                spread(all[way], &Figures::preempted).c_str(),
                spread(all[way], &Figures::migrations).c_str());
  }
  return {};
}

Status run(const Options& options) {
  const lab::LabOptions lab_options{.containerd = options.containerd, .runtime = {}, .logs = {}};
  const auto machine = topology::discover(topology::Source{});
  if (!machine) return failure(machine.error());
  auto lab = lab::ContainerdLab::start(lab_options);
  if (!lab) return failure(lab.error());
  (*lab)->cri().set_limit(kReadyLimit);
  auto done = rounds(**lab, options, *machine);
  auto closed = (*lab)->close();
  return done ? closed : done;
}

}  // namespace
}  // namespace pinion::bench

int main(int argc, char** argv) {
  pinion::bench::Options options;
  CLI::App app(
      "What a busy rank gets of its cores beside busy containers, by how these are kept off: its "
      "share of the time, how often it was put off a CPU against its will, how often it moved.");
  app.add_option("--containerd", options.containerd, "1.7 or 2.1")->capture_default_str();
  app.add_option("--ways", options.ways, "of none, leaf, root, isolated (the last two: partitions)")
      ->delimiter(',')
      ->check(CLI::IsMember({"none", "leaf", "root", "isolated"}))
      ->capture_default_str();
  app.add_option("--cores", options.cores, "of the rank, each with a busy thread on every CPU")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--busy", options.busy, "other containers of one busy thread")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "for each round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "for each way")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const auto done = pinion::bench::run(options); !done) {
    (void)std::fprintf(stderr, "pinion-isolation-bench: %s\n", done.error().text.c_str());
    return 1;
  }
  return 0;
}
