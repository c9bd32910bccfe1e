// How many pods a second a real kube-scheduler places with pinion-extender and without: a new
// cluster for each, all pods made before the scheduler starts, timed until the last one is bound.
// With --gang the pods are gangs for the extender, with its scheduling gates and without; with
// --native gangs of Kubernetes 1.37's own, in each of the clusters. CPU time is that of each
// program from the scheduler's start on: it depends less on what else runs. The API server's own
// count of requests tells what each way asks of it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "tests/e2e/collection.h"
#include "tests/e2e/extender_process.h"
#include "tests/e2e/fake_nodes.h"
#include "tests/e2e/native_group.h"
#include "tests/lab/files.h"
#include "tests/support/machine.h"

namespace pinion::e2e {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTold = 0.05;  // requests of a pod of one kind: rarer ones are not printed

struct Load {
  int nodes = 100;
  int pods = 500;
  int cpus = 2;  // of each pod
  int gang = 0;  // pods of each gang; 0: they are no gangs
  bool native = false;
  int percentage = 0;  // of nodes that the scheduler scores; 0: its own choice
  int qps = 1000;      // of its bindings
  int limit_s = 600;
};

double since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

std::string one_decimal(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

// CPU seconds of the programs that this one has started, by name.
std::map<std::string, double> cpu_of_programs() {
  std::map<std::string, double> seconds;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (std::string pid; children >> pid;) {
      const auto words = lab::read_file("/proc/" + pid + "/cmdline");
      const auto stat = lab::read_file("/proc/" + pid + "/stat");
      if (!words || !stat) continue;
      // "kube kube-apiserver": one program that is several.
      std::string name = words->substr(0, words->find('\0'));
      name = name.substr(name.rfind('/') + 1);
      if (name == "kube") name = words->c_str() + words->find('\0') + 1;
      // After the name in brackets: state, ten more, then user and system time in ticks.
      std::istringstream fields(stat->substr(stat->rfind(')') + 1));
      std::string skipped;
      for (int i = 0; i < 11; ++i) fields >> skipped;
      double user = 0;
      double system = 0;
      fields >> user >> system;
      seconds[name] += (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }
  }
  return seconds;
}

// How many requests the API server has answered, by what they did to what, as in
// `apiserver_request_total{...resource="pods",subresource="status",verb="PATCH"} 12`.
std::map<std::string, double> requests_by_kind(kube::Api& api) {
  std::string text;
  const kube::Cancel never;
  static_cast<void>(
      api.stream("/metrics", std::chrono::seconds(10), never, [&](std::string_view bytes) {
        text += bytes;
        return true;
      }));
  std::map<std::string, double> requests;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("apiserver_request_total{")) continue;
    const auto label = [&](const std::string& name) {
      const std::size_t at = line.find(name + "=\"");
      if (at == std::string::npos) return std::string();
      const std::size_t begin = at + name.size() + 2;
      return line.substr(begin, line.find('"', begin) - begin);
    };
    const std::string part = label(",subresource");
    std::string kind = label("verb") + " " + label(",resource");
    if (!part.empty()) kind += "/" + part;
    requests[kind] += std::stod(line.substr(line.rfind(' ')));
  }
  return requests;
}

std::vector<std::string> node_names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("node-" + std::to_string(i));
  return names;
}

enum class With { kNothing, kExtender, kGates };
constexpr std::array kWithTexts = {"without pinion-extender", "with it", "with it and gates"};

std::string gang_of_pod(const Load& load, int index) {
  return "gang-" + std::to_string(index / load.gang);
}

// Of the gang that begins with this pod.
int size_of_gang(const Load& load, int first) {
  return std::min(load.gang, load.pods - first);
}

PodShape shape_of(const Load& load, With with, int index) {
  PodShape pod{.name = "pod-" + std::to_string(index), .milli_cpus = load.cpus * 1000};
  if (load.native) {
    pod.pod_group = gang_of_pod(load, index);
  } else if (load.gang > 0 && with != With::kNothing) {
    const int size = size_of_gang(load, index - index % load.gang);
    pod.annotations = {{"pinion.dev/job", gang_of_pod(load, index)},
                       {"pinion.dev/gang-size", std::to_string(size)}};
    pod.gang_gate = with == With::kGates;
  }
  return pod;
}

Status add_pods(Admin& admin, const Load& load, With with) {
  for (int i = 0; i < load.pods; ++i) {
    if (load.native && i % load.gang == 0) {
      const auto group = native_group(gang_of_pod(load, i), gang_of(size_of_gang(load, i)));
      if (auto made = admin.api().create(kNativeGroups, group); !made) {
        return failure(made.error());
      }
    }
    if (auto pod = admin.add_pod(shape_of(load, with, i)); !pod) return failure(pod.error());
  }
  return {};
}

// Pods a second.
Result<double> measure(const Load& load, With with) {
  const bool with_extender = with != With::kNothing;
  auto cluster = Cluster::start({.native_gangs = load.native, .notes_calls = false});
  if (!cluster) return failure(cluster.error());
  const auto begun = Clock::now();
  const auto nodes = FakeNodes::start(
      (*cluster)->access(), FakeNodes::sockets_in((*cluster)->folder()), node_names(load.nodes),
      test_support::machine({.packages = 2, .cores_per_l3 = 16}));
  if (!nodes) return failure(nodes.error());
  std::printf("  %d nodes after %.1f s\n", load.nodes, since(begun));
  Admin admin((*cluster)->access());
  if (Status made = add_pods(admin, load, with); !made) return failure(made.error());
  SchedulerOptions scheduler;
  scheduler.percentage_of_nodes = load.percentage;
  scheduler.qps = load.qps;
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
  auto requests_before = requests_by_kind(admin.api());
  auto cpu_before = cpu_of_programs();
  const auto scheduling = Clock::now();
  if (Status started = (*cluster)->start_scheduler(scheduler); !started) {
    return failure(started.error());
  }
  if (!pods.wait([&](const auto& all) { return all.size() >= wanted; },
                 std::chrono::seconds(load.limit_s))) {
    return failure(Errc::kUnavailable, "not all pods are bound\n" + (*cluster)->logs(20));
  }
  const double took = since(scheduling);
  std::string shares;
  double all = 0;
  for (const auto& [name, seconds] : cpu_of_programs()) {
    const double each = 1000 * (seconds - cpu_before[name]) / load.pods;
    all += each;
    shares += (shares.empty() ? "" : ", ") + name + " " + one_decimal(each);
  }
  std::printf("  CPU of a pod: %.1f ms (%s)\n", all, shares.c_str());
  std::string requests;
  for (const auto& [kind, count] : requests_by_kind(admin.api())) {
    const double each = (count - requests_before[kind]) / load.pods;
    if (each < kTold) continue;
    requests += (requests.empty() ? "" : ", ") + kind + " " + one_decimal(each);
  }
  std::printf("  requests of a pod: %s\n", requests.c_str());
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
    if (with == With::kGates && (load.gang == 0 || load.native)) continue;
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
  CLI::Option* gang = app.add_option("--gang", load.gang, "pods of each gang [none are]");
  app.add_flag("--native", load.native, "gangs of Kubernetes 1.37's own")->needs(gang);
  app.add_option("--percentage", load.percentage, "percentageOfNodesToScore [the scheduler's own]");
  app.add_option("--qps", load.qps, "bindings a second that the scheduler itself makes [1000]")
      ->check(CLI::PositiveNumber);
  app.add_option("--limit", load.limit_s, "seconds until it gives up [600]");
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return pinion::e2e::compare(load);
}
