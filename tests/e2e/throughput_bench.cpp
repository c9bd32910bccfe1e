// How many pods a second a real kube-scheduler places with pinion-extender and without: a new
// cluster for each, all pods made before the scheduler starts, timed until the last one is bound.
// With --gang the pods are gangs for the extender, with its scheduling gates and without.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

#include "tests/e2e/collection.h"
#include "tests/e2e/extender_process.h"
#include "tests/e2e/fake_nodes.h"
#include "tests/support/machine.h"

namespace pinion::e2e {
namespace {

using Clock = std::chrono::steady_clock;

struct Load {
  int nodes = 100;
  int pods = 500;
  int cpus = 2;        // of each pod
  int gang = 0;        // pods of each gang; 0: they are no gangs
  int percentage = 0;  // of nodes that the scheduler scores; 0: its own choice
  int limit_s = 600;
};

double since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

std::vector<std::string> node_names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("node-" + std::to_string(i));
  return names;
}

enum class With { kNothing, kExtender, kGates };
constexpr std::array kWithTexts = {"without pinion-extender", "with it", "with it and gates"};

PodShape shape_of(const Load& load, With with, int index) {
  PodShape pod{.name = "pod-" + std::to_string(index), .milli_cpus = load.cpus * 1000};
  if (load.gang == 0 || with == With::kNothing) return pod;
  const int gang = index / load.gang;
  const int size = std::min(load.gang, load.pods - gang * load.gang);
  pod.annotations = {{"pinion.dev/job", "gang-" + std::to_string(gang)},
                     {"pinion.dev/gang-size", std::to_string(size)}};
  pod.gang_gate = with == With::kGates;
  return pod;
}

// Pods a second.
Result<double> measure(const Load& load, With with) {
  const bool with_extender = with != With::kNothing;
  auto cluster = Cluster::start();
  if (!cluster) return failure(cluster.error());
  const auto begun = Clock::now();
  const auto nodes = FakeNodes::start(
      (*cluster)->access(), FakeNodes::sockets_in((*cluster)->folder()), node_names(load.nodes),
      test_support::machine({.packages = 2, .cores_per_l3 = 16}));
  if (!nodes) return failure(nodes.error());
  std::printf("  %d nodes after %.1f s\n", load.nodes, since(begun));
  Admin admin((*cluster)->access());
  for (int i = 0; i < load.pods; ++i) {
    const auto pod = admin.add_pod(shape_of(load, with, i));
    if (!pod) return failure(pod.error());
  }
  SchedulerOptions scheduler;
  scheduler.percentage_of_nodes = load.percentage;
  ExtenderProcess extender;
  if (with_extender) {
    auto started =
        ExtenderProcess::start(**cluster, (*nodes)->agents_file(), {"--log-level", "warn"});
    if (!started) return failure(started.error());
    extender = *std::move(started);
    scheduler.extender.emplace().url = extender.url();
  }
  kube::WatchOptions bound;
  bound.path = "/api/v1/namespaces/default/pods";
  bound.field_selector = "spec.nodeName!=";
  Collection pods(admin.api(), bound);
  const auto wanted = static_cast<std::size_t>(load.pods);
  const auto scheduling = Clock::now();
  if (Status started = (*cluster)->start_scheduler(scheduler); !started) {
    return failure(started.error());
  }
  if (!pods.wait([&](const auto& all) { return all.size() >= wanted; },
                 std::chrono::seconds(load.limit_s))) {
    return failure(Errc::kUnavailable, "not all pods are bound\n" + (*cluster)->logs(20));
  }
  const double took = since(scheduling);
  std::printf("  %d pods in %.1f s, %zu bounced off their node\n", load.pods, took,
              (*nodes)->bounced().size());
  if (with_extender && !(*nodes)->bounced().empty()) {
    return failure(Errc::kInternal, "pods bounced off their node: agents refused them");
  }
  return load.pods / took;
}

int compare(const Load& load) {
  std::string rates;
  for (const With with : {With::kNothing, With::kExtender, With::kGates}) {
    if (with == With::kGates && load.gang == 0) continue;
    const char* text = kWithTexts.at(static_cast<std::size_t>(with));
    std::printf("%s\n", text);
    const auto rate = measure(load, with);
    if (!rate) {
      std::fprintf(stderr, "%s\n", rate.error().text.c_str());
      return 1;
    }
    rates += (rates.empty() ? "" : ", ") + std::to_string(std::lround(*rate)) + " " + text;
  }
  std::printf("pods a second: %s\n", rates.c_str());
  return 0;
}

}  // namespace
}  // namespace pinion::e2e

int main(int argc, char** argv) {
  CLI::App app("pods a second of a real kube-scheduler, with pinion-extender and without");
  pinion::e2e::Load load;
  app.add_option("--nodes", load.nodes, "nodes of 2 x 16 cores [100]");
  app.add_option("--pods", load.pods, "Guaranteed pods [500]");
  app.add_option("--cpus", load.cpus, "of each [2]");
  app.add_option("--gang", load.gang, "pods of each gang [none are]");
  app.add_option("--percentage", load.percentage, "percentageOfNodesToScore [the scheduler's own]");
  app.add_option("--limit", load.limit_s, "seconds until it gives up [600]");
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return pinion::e2e::compare(load);
}
