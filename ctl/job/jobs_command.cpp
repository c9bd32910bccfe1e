#include "ctl/job/jobs_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cluster/extender/kube/json_read.h"
#include "ctl/common/report.h"
#include "ctl/job/draw_elastic.h"
#include "ctl/job/draw_profiles.h"
#include "ctl/job/extender_client.h"

namespace pinion::ctl {
namespace {

struct JobsOptions {
  ExtenderOptions extender;
  std::string name_space;
  bool json = false;
  bool profiles = false;  // these alone
  bool history = false;   // this alone
  bool speeds = false;    // the same
};

std::string drawn(const nlohmann::json& document, const JobsOptions& options) {
  if (options.profiles) return draw_profiles(document);
  if (options.history) return draw_history(document);
  if (options.speeds) return draw_speeds(document);
  return draw_elastic(document) + "\n" + draw_profiles(document);
}

int run(const JobsOptions& options) {
  const auto document = jobs_at_extender(options.extender, options.name_space);
  if (!document) return report(document.error());
  if (!options.json) return print_and_exit_code(drawn(*document, options));
  const nlohmann::json& rows = kube::json_at(*document, options.profiles ? "profiles" : "elastic");
  return print_and_exit_code(rows.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                             "\n");
}

}  // namespace

void add_jobs_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "jobs",
      "Show elastic jobs (size, wish, what is under way and why, or why it waits), and what was "
      "learnt of jobs' earlier runs: the profile that pinion.dev/profile: auto comes to, and why");
  auto options = std::make_shared<JobsOptions>();  // lives as long as the callback below
  add_extender_options(*command, options->extender)->required();
  command->add_option("-n,--namespace", options->name_space, "Only there [all namespaces]")
      ->type_name("NAME");
  CLI::Option* profiles =
      command->add_flag("--profiles", options->profiles, "Only what was learnt");
  CLI::Option* history =
      command
          ->add_flag("--history", options->history,
                     "Only the last ten steps of each elastic job: when, what and why")
          ->excludes(profiles);
  command
      ->add_flag(
          "--speeds", options->speeds,
          "Only what was seen of each elastic job: how fast it is with how many workers, and "
          "how long its application takes to shrink and to expand")
      ->excludes(profiles)
      ->excludes(history);
  command->add_flag("--json", options->json,
                    "Elastic jobs, or with --profiles those, as data (docs/kubernetes.md)");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
