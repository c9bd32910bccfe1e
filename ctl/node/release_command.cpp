#include "ctl/node/release_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>
#include <vector>

#include "agent/release/release.h"
#include "base/usual_paths.h"
#include "base/utf8.h"
#include "ctl/common/report.h"

namespace pinion::ctl {
namespace {

struct ReleaseOptions {
  std::string state_dir = kUsualStateDir;
};

std::string list(const char* word, const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += word + clean_text(path) + "\n";
  return text;
}

int run(const ReleaseOptions& options) {
  const auto released = agent::release_node("/", options.state_dir);
  if (!released) return report(released.error());
  std::string text = list("as before             ", released->as_before) +
                     list("partition taken away  ", released->partitions) +
                     list("all CPUs again        ", released->widened) +
                     list("CPU quota again       ", released->quotas) +
                     list("not released          ", released->not_released) +
                     list("not as before         ", released->not_as_before);
  if (text.empty() && released->cgroups) text = "nothing to release\n";
  const int printed = print_and_exit_code(text);
  if (!released->cgroups) return report(released->cgroups.error());
  const bool all = released->not_released.empty() && released->not_as_before.empty();
  return all ? printed : kExitFailure;
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
