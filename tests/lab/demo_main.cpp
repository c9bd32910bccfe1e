// pinion-demo: a private containerd, the agent, a small job and noise around it; what each
// container got and where it really ran; then the same without the agent. Then a real MPI program,
// several times with the agent and without.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "tests/lab/containerd_lab.h"
#include "tests/lab/demo_busy.h"
#include "tests/lab/demo_mpi.h"
#include "tests/lab/demo_say.h"
#include "tests/lab/mpi_job.h"
#include "topology/discover/discover.h"

namespace pinion::lab {
namespace {

struct Options {
  std::string containerd = "1.7";
  int seconds = 5;
  int rounds = 5;
  int ranks = 8;
  bool quick = false;
  std::string svg = "pinion-demo.svg";
  bool keep_logs = false;
};

// A folder that outlives the lab; "" when logs are not kept.
Result<std::string> log_folder(bool keep) {
  if (!keep) return std::string();
  std::error_code error;
  std::string folder = std::filesystem::temp_directory_path(error) / "pinion-demo-logs-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return sys_failure("mkdtemp " + folder);
  return folder;
}

Status demo(const Options& options) {
  if (const std::string why = why_no_mpi(); !options.quick && !why.empty()) {
    return failure(Errc::kNotFound, why);
  }
  const auto machine = topology::discover(topology::Source{});
  if (!machine) return failure(machine.error());
  const auto job = make_job(*machine, options.ranks);
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
  Status done = show_busy_job(**lab, *job, options.seconds, *machine);
  if (done && !options.quick) {
    done = show_mpi_job(**lab, *job, options.rounds, *machine, options.svg);
  }
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
  app.add_option("--seconds", options.seconds, "how long to look at each run of the first part")
      ->check(CLI::Range(1, 3600))
      ->take_last()
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "runs of the MPI program with the agent and without")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--ranks", options.ranks, "most ranks; one core is left for everything else")
      ->check(CLI::Range(1, 1024))
      ->take_last()
      ->capture_default_str();
  app.add_flag("--quick", options.quick, "leave the MPI program out");
  app.add_option("--svg", options.svg, "where to write the plot")
      ->take_last()
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
      "Next: scripts/test.sh runs the quick checks; docs/quickstart.md has Pinion on "
      "Kubernetes.\n");
  return 0;
}
