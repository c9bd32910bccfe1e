#include "ctl/node/release_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "agent/cgroup/release.h"
#include "agent/noise/kernel_noise.h"
#include "base/state_lock.h"
#include "ctl/common/report.h"

namespace pinion::ctl {
namespace {

struct ReleaseOptions {
  std::string state_dir = "/run/pinion";
};

std::string list(const char* word, const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += word + path + "\n";
  return text;
}

Result<cgroup::Released> release_cgroups() {
  const auto hierarchy = cgroup::find_hierarchy("/", "cpuset");
  if (!hierarchy) return failure(hierarchy.error());
  cgroup::SliceProperties slices(systemd::manager_addresses("/"),
                                 {.limit = std::chrono::seconds(10)});  // nobody waits for us here
  return cgroup::release(*hierarchy, slices);
}

int run(const ReleaseOptions& options) {
  const auto lock = lock_state_dir(options.state_dir);  // held to the end: no agent may start
  if (!lock) return report(lock.error());
  const auto noise = noise::restore({}, options.state_dir + "/" + noise::kSavedName);
  std::string text = list("as before             ", noise.written);
  const auto released = release_cgroups();
  if (released) {
    text += list("partition taken away  ", released->partitions) +
            list("all CPUs again        ", released->widened) +
            list("not released          ", released->failed);
  }
  text += list("not as before         ", noise.failed);
  if (text.empty() && released) text = "nothing to release\n";
  const int printed = print_and_exit_code(text);
  if (!released) return report(released.error());
  return released->failed.empty() && noise.failed.empty() ? printed : kExitFailure;
}

}  // namespace

void add_release_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "release",
      "With the agent stopped: let all containers, and interrupts, run on all CPUs again");
  auto options = std::make_shared<ReleaseOptions>();  // lives as long as the callback below
  command->add_option("--state-dir", options->state_dir, "The agent's state directory")
      ->capture_default_str();
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
