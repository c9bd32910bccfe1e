// pinion-inner-groups-bench: what a container with thousands of groups inside does to the pods
// beside it. Plays the runtime to pinion-agent with the fence `leaf`, over real groups of cgroup
// v1, whose files are written one by one; without such a container, and beside it. Prints how long
// CreateContainer and START of other pods wait, and when the last of the groups is off a rank's
// CPU. Needs root.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/cgroup/hierarchy.h"
#include "tests/bench/measurements.h"
#include "tests/bench/nri_bench_process.h"
#include "tests/bench/nri_bench_report.h"
#include "tests/bench/nri_bench_runtime.h"
#include "tests/support/fake_runtime/samples.h"
#include "tests/support/tree.h"
#include "topology/cpuset.h"

namespace pinion::bench {
namespace {

using Steady = std::chrono::steady_clock;
using topology::CpuSet;

constexpr const char* kRoot = "/pinion-inner-groups-bench";
constexpr std::chrono::seconds kLongest{600};

struct Options {
  std::string agent;
  int groups = 5'000;
  int standing = 10;
  int lives = 200;
  std::string json;
};

double milliseconds_since(Steady::time_point begin) {
  return std::chrono::duration<double, std::milli>(Steady::now() - begin).count();
}

struct Unit {
  wire::PodSandbox pod;
  wire::Container container;
  [[nodiscard]] std::string group() const { return container.linux().cgroups_path(); }
};

// The cpuset hierarchy of v1.
class Groups {
 public:
  explicit Groups(std::string mount) : mount_(std::move(mount)) {}

  [[nodiscard]] std::string directory(const std::string& path) const { return mount_ + path; }
  // With all that the one above has; so are those above.
  Status make(const std::string& path) const {
    const std::string group = directory(path);
    if (std::filesystem::exists(group)) return {};
    const std::string above = path.substr(0, path.rfind('/'));
    if (!above.empty()) {
      if (auto made = make(above); !made) return made;
    }
    std::error_code error;
    std::filesystem::create_directory(group, error);
    for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
      std::ofstream to(group + file);
      to << text(directory(above) + file);
      if (to.close(); !to) error = std::make_error_code(std::errc::io_error);
    }
    return error ? failure(Errc::kUnavailable, "make " + group) : Status();
  }
  // With those inside.
  void remove(const std::string& path) const { remove_directory(directory(path)); }
  [[nodiscard]] CpuSet cpus(const std::string& path) const {
    return CpuSet::parse(text(directory(path) + "/cpuset.cpus")).value_or(CpuSet());
  }

 private:
  static std::string text(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
  }
  static void remove_directory(const std::filesystem::path& group) {
    std::error_code ignored;
    std::vector<std::filesystem::path> inside;
    for (const auto& entry : std::filesystem::directory_iterator(group, ignored)) {
      if (entry.is_directory(ignored)) inside.push_back(entry.path());
    }
    for (const auto& one : inside) remove_directory(one);
    std::filesystem::remove(group, ignored);
  }

  std::string mount_;
};

class Bench {
 public:
  Bench(Options options, std::string mount)
      : options_(std::move(options)), groups_(std::move(mount)) {}
  ~Bench() { groups_.remove(kRoot); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Status run();

 private:
  Status start_agent();
  // A pod of one container that runs, with its group; how long it waited is kept.
  Result<Unit> start(const std::string& qos);
  Status stop(const Unit& unit);
  Result<double> call(const char* method, const google::protobuf::MessageLite& request);
  Result<double> tell(wire::Event event, const Unit& unit);
  Status phase(const std::string& name);
  Status make_inside(const Unit& unit);
  // Milliseconds until none of the groups inside may use the CPUs.
  Result<double> off(const CpuSet& cpus) const;

  Options options_;
  Groups groups_;
  test_support::TempDir place_;
  std::optional<PluginProcess> process_;
  std::optional<BenchRuntime> runtime_;
  int pods_ = 0;
  std::vector<double> creates_;
  std::vector<double> starts_;
  std::vector<std::string> inside_;
  Measurements measured_;
};

Status Bench::start_agent() {
  const std::string socket = place_.path() / "nri.sock";
  auto runtime = BenchRuntime::listen(socket);
  if (!runtime) return failure(runtime.error());
  runtime_ = std::move(*runtime);
  auto process = PluginProcess::start(
      {options_.agent, "--fence", "leaf", "--reserved-cpus", "0", "--state-dir",
       place_.path() / "state", "--kubelet-dir", "/nonexistent", "--nri-socket", socket,
       "--ready-file", place_.path() / "ready", "--metrics-listen", "", "--api-listen", "off"},
      place_.path() / "log");
  if (!process) return failure(process.error());
  process_.emplace(std::move(*process));
  const auto done = runtime_->take_in({});
  return done ? Status() : Status(failure(done.error()));
}

Result<double> Bench::call(const char* method, const google::protobuf::MessageLite& request) {
  const auto answered = runtime_->call(method, request);
  if (!answered) return failure(answered.error());
  if (answered->result.code != 0) return failure(Errc::kInternal, answered->result.text);
  return answered->ms;
}

Result<double> Bench::tell(wire::Event event, const Unit& unit) {
  wire::StateChangeEvent change;
  change.set_event(event);
  *change.mutable_pod() = unit.pod;
  *change.mutable_container() = unit.container;
  return call("StateChange", change);
}

Result<Unit> Bench::start(const std::string& qos) {
  const int number = ++pods_;
  Unit unit{.pod = test_support::make_pod({.number = number, .qos = qos}),
            .container = test_support::make_container({.pod = number, .qos = qos})};
  unit.pod.mutable_linux()->set_cgroup_parent(kRoot + unit.pod.linux().cgroup_parent());
  unit.container.mutable_linux()->set_cgroups_path(kRoot + unit.group());
  wire::CreateContainerRequest request;
  *request.mutable_pod() = unit.pod;
  *request.mutable_container() = unit.container;
  const auto created = call("CreateContainer", request);
  if (!created) return failure(created.error());
  creates_.push_back(*created);
  if (auto made = groups_.make(unit.group()); !made) return failure(made.error());
  const auto started = tell(wire::START_CONTAINER, unit);
  if (!started) return failure(started.error());
  starts_.push_back(*started);
  if (auto told = tell(wire::POST_START_CONTAINER, unit); !told) return failure(told.error());
  return unit;
}

Status Bench::stop(const Unit& unit) {
  wire::StopContainerRequest request;
  *request.mutable_pod() = unit.pod;
  *request.mutable_container() = unit.container;
  if (auto done = call("StopContainer", request); !done) return failure(done.error());
  for (const auto event :
       {wire::REMOVE_CONTAINER, wire::STOP_POD_SANDBOX, wire::REMOVE_POD_SANDBOX}) {
    if (auto told = tell(event, unit); !told) return failure(told.error());
  }
  groups_.remove(unit.group());
  return {};
}

// Ranks that come and go, each with a pod beside it.
Status Bench::phase(const std::string& name) {
  creates_.clear();
  starts_.clear();
  for (int i = 0; i < options_.lives; ++i) {
    for (const char* qos : {"guaranteed", "besteffort"}) {
      const auto unit = start(qos);
      if (!unit) return failure(unit.error().within(name));
      if (auto done = stop(*unit); !done) return failure(done.error().within(name));
    }
  }
  std::printf("%-22s %8.2f %8.2f %8.2f  %8.2f %8.2f %8.2f\n", name.c_str(), quantile(creates_, 0.5),
              quantile(creates_, 0.99), quantile(creates_, 1), quantile(starts_, 0.5),
              quantile(starts_, 0.99), quantile(starts_, 1));
  measured_.add(name, {{"create_p50_ms", quantile(creates_, 0.5)},
                       {"create_p99_ms", quantile(creates_, 0.99)},
                       {"start_p50_ms", quantile(starts_, 0.5)},
                       {"start_p99_ms", quantile(starts_, 0.99)}});
  return {};
}

Status Bench::make_inside(const Unit& unit) {
  for (int i = 0; i < options_.groups; ++i) {
    inside_.push_back(unit.group() + "/inside" + std::to_string(i));
    if (auto made = groups_.make(inside_.back()); !made) return made;
  }
  return {};
}

Result<double> Bench::off(const CpuSet& cpus) const {
  const auto begin = Steady::now();
  for (const std::string& group : inside_) {
    while (groups_.cpus(group).intersects(cpus)) {
      if (Steady::now() > begin + kLongest) {
        return failure(Errc::kUnavailable, group + " has a rank's CPU for minutes");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the agent's pace
    }
  }
  return milliseconds_since(begin);
}

Status Bench::run() {
  if (auto started = start_agent(); !started) return started;
  for (int i = 0; i < options_.standing; ++i) {
    if (const auto unit = start("besteffort"); !unit) return failure(unit.error());
  }
  std::printf("%d lives, %d standing containers. Milliseconds.\n", options_.lives,
              options_.standing);
  std::printf("%-22s %8s %8s %8s  %8s %8s %8s\n", "", "create", "p99", "most", "START", "p99",
              "most");
  if (auto done = phase("without"); !done) return done;
  const auto hostile = start("besteffort");
  if (!hostile) return failure(hostile.error());
  if (auto made = make_inside(*hostile); !made) return made;
  if (auto done = phase("beside " + std::to_string(options_.groups) + " groups"); !done)
    return done;
  const auto rank = start("guaranteed");
  if (!rank) return failure(rank.error());
  const auto took = off(groups_.cpus(rank->group()));
  if (!took) return failure(took.error());
  std::printf("all of them are off a rank's CPU after %.1f s\n", *took / 1000);
  if (auto ended = process_->end(); !ended) return ended;
  return measured_.write(options_.json);
}

}  // namespace
}  // namespace pinion::bench

int main(int argc, char** argv) {
  using namespace pinion;
  bench::Options options;
  std::error_code error;
  options.agent =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "pinion-agent";
  CLI::App app("Measures what a container with thousands of groups inside does to other pods.");
  app.add_option("--agent", options.agent, "The agent's program")->capture_default_str();
  app.add_option("--groups", options.groups, "Groups inside one container")->capture_default_str();
  app.add_option("--standing", options.standing, "Other shared containers")->capture_default_str();
  app.add_option("--lives", options.lives, "Of a rank, and of a pod beside it, in each phase")
      ->capture_default_str();
  app.add_option("--json", options.json, "Where the measurements go");
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto cpuset = cgroup::find_hierarchy("/", "cpuset");
  Status done = cpuset ? Status() : Status(failure(cpuset.error()));
  if (done && cpuset->version != 1) {
    done = failure(Errc::kUnavailable, "cpusets are on cgroup v2, where nothing inside is written");
  }
  if (done) done = bench::Bench(options, cpuset->mount).run();
  if (!done) {
    std::fprintf(stderr, "pinion-inner-groups-bench: %s\n", done.error().text.c_str());
    return 1;
  }
  return 0;
}
