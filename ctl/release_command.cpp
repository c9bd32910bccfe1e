#include "ctl/release_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "agent/cgroup/release.h"
#include "base/state_lock.h"
#include "ctl/output.h"

namespace pinion::ctl {
namespace {

struct Options {
  std::string state_dir = "/run/pinion";
};

std::string list(const char* word, const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += word + path + "\n";
  return text;
}

int run(const Options& options) {
  const auto lock = lock_state_dir(options.state_dir);  // held to the end: no agent may start
  if (!lock) return report(lock.error());
  const auto hierarchy = cgroup::find_cpuset_hierarchy("/");
  if (!hierarchy) return report(hierarchy.error());
  const auto released = cgroup::release(*hierarchy);
  if (!released) return report(released.error());
  const std::string text = list("partition taken away  ", released->partitions) +
                           list("all CPUs again        ", released->widened) +
                           list("not released          ", released->failed);
  const int printed = print_and_exit_code(text.empty() ? "nothing to release\n" : text);
  return released->failed.empty() ? printed : kExitFailure;
}

}  // namespace

void add_release_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "release", "With the agent stopped: let all containers run on all CPUs again");
  auto options = std::make_shared<Options>();  // lives as long as the callback below
  command->add_option("--state-dir", options->state_dir, "The agent's state directory")
      ->capture_default_str();
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
