// pinion-demo: a private containerd, the agent, a small job and noise around it; what each
// container got and where it really ran; then the same without the agent.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>

#include "tests/lab/agent_process.h"
#include "tests/lab/containerd_lab.h"
#include "tests/lab/demo_report.h"
#include "topology/discover/discover.h"

namespace pinion::lab {
namespace {

struct Options {
  std::string containerd = "1.7";
  int seconds = 5;
  bool keep_logs = false;
};

using Told = std::map<std::string, topology::CpuSet>;

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// Which CPUs the agent says that it gave to whom.
Result<Told> told_by(const AgentProcess& agent) {
  const auto status = agent.status();
  if (!status) return failure(status.error());
  Told told;
  for (const auto& container : status->containers) {
    if (container.told) told[container.id] = *container.told;
  }
  return told;
}

Result<std::vector<Row>> run_pinned(ContainerdLab& lab, const Job& job, const Options& options,
                                    const topology::Topology& machine) {
  auto agent = AgentProcess::start(lab, {.reserved_cpus = job.reserved.to_string()});
  if (!agent) return failure(agent.error());
  if (Status ready = agent->wait_ready(); !ready) return failure(ready.error());
  Told told;
  auto rows = run_job(lab, job, options.seconds, [&](std::vector<Row>&) -> Status {
    auto answer = told_by(*agent);
    if (!answer) return failure(answer.error());
    told = std::move(*answer);
    return {};
  });
  if (!rows) return failure(rows.error().within("with the agent"));
  say(table(*rows, told, machine));
  if (const auto status = agent->stop(); !status) return failure(status.error().within("agent"));
  return rows;
}

Result<std::vector<Row>> run_unpinned(ContainerdLab& lab, const Job& job, const Options& options,
                                      const topology::Topology& machine) {
  auto rows = run_job(lab, job, options.seconds, [](std::vector<Row>&) -> Status { return {}; });
  if (!rows) return failure(rows.error().within("without the agent"));
  say(table(*rows, {}, machine));
  return rows;
}

Status compare(ContainerdLab& lab, const Job& job, const Options& options,
               const topology::Topology& machine) {
  const std::string seconds = std::to_string(options.seconds) + " s";
  say("With pinion-agent (CPUs " + job.reserved.to_string() + " reserved), " + seconds + ":\n");
  const auto pinned = run_pinned(lab, job, options, machine);
  if (!pinned) return failure(pinned.error());
  say("The same without the agent, " + seconds + ":\n");
  const auto unpinned = run_unpinned(lab, job, options, machine);
  if (!unpinned) return failure(unpinned.error());
  std::string wrong;
  for (const auto& fault : faults_of_pinned(*pinned, machine)) wrong += "\n  " + fault;
  if (!wrong.empty()) return failure(Errc::kInternal, "the ranks were not pinned:" + wrong);
  say(verdict(*pinned, *unpinned));
  return {};
}

// A folder that outlives the lab; "" when logs are not kept.
Result<std::string> log_folder(bool keep) {
  if (!keep) return std::string();
  std::error_code error;
  std::string folder = std::filesystem::temp_directory_path(error) / "pinion-demo-logs-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return sys_failure("mkdtemp " + folder);
  return folder;
}

Status demo(const Options& options) {
  const auto machine = topology::discover(topology::Source{});
  if (!machine) return failure(machine.error());
  const auto job = make_job(*machine);
  if (!job) return failure(job.error());
  const auto logs = log_folder(options.keep_logs);
  if (!logs) return failure(logs.error());
  auto lab = ContainerdLab::start({.containerd = options.containerd, .runtime = {}, .logs = *logs});
  if (!lab) return failure(lab.error());
  const auto noise = job->noise_before.size() + job->noise_after.size();
  const auto version = (*lab)->cri().version(Milliseconds(2000));
  say("\n" + (version ? *version : options.containerd) + " of its own; " +
      std::to_string(machine->cores.size()) + " cores, " + std::to_string(machine->nodes.size()) +
      " NUMA node(s); a job of " + std::to_string(job->ranks.size()) + " rank(s) and " +
      std::to_string(noise) + " noisy containers\n");
  Status done = compare(**lab, *job, options, *machine);
  if (!done) {
    say("--- agent's log\n" + tail_of((*lab)->logs() + "/agent.log", 15));
    say("--- containerd's log\n" + tail_of((*lab)->containerd_log(), 15));
  }
  if (!logs->empty()) say("Logs: " + *logs);
  Status closed = (*lab)->close();
  return done ? closed : done;
}

}  // namespace
}  // namespace pinion::lab

int main(int argc, char** argv) {
  pinion::lab::Options options;
  CLI::App app("Pins a small job on a private containerd, and shows what that changes.",
               "pinion-demo");
  app.add_option("--containerd", options.containerd, "1.7 or 2.1")
      ->check(CLI::IsMember({"1.7", "2.1"}))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "how long to look at each run")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_flag("--keep-logs", options.keep_logs, "leave the logs behind and say where");
  CLI11_PARSE(app, argc, argv);
  pinion::lab::clean_up_on_signals();
  const pinion::Status done = pinion::lab::demo(options);
  if (!done) {
    std::fprintf(stderr, "demo: %s\n", done.error().text.c_str());
    return 1;
  }
  std::printf(
      "Next: build/release/bin/pinionctl topology draws this machine as Pinion sees it; "
      "scripts/test.sh runs all tests.\n");
  return 0;
}
