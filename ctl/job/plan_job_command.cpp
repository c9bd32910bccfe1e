#include "ctl/job/plan_job_command.h"

#include <unistd.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <functional>
#include <memory>

#include "base/cli/input.h"
#include "cluster/files/fleet_file.h"
#include "cluster/files/job_file.h"
#include "ctl/common/report.h"
#include "ctl/common/terminal.h"
#include "ctl/job/draw_job_plan.h"
#include "ctl/job/extender_client.h"

namespace pinion::ctl {
namespace {

using cluster::jobs::JobPlan;
using nlohmann::json;

constexpr std::size_t kLeastHeight = 10;  // of a picture

struct PlanJobOptions {
  std::string job;
  std::string fleet;
  ExtenderOptions extender;
  std::string scheduler;
  bool picture = false;
  bool json = false;
};

using MakePlan = std::function<Result<JobPlan>(const json& object)>;

Result<std::vector<cluster::FleetFileNode>> read_fleet(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return failure(text.error());
  auto nodes = cluster::parse_fleet_file(*text);
  if (!nodes) return failure(nodes.error().within(path));
  return nodes;
}

Result<std::vector<json>> read_objects(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return failure(text.error());
  auto objects = cluster::parse_objects(*text);
  if (!objects) return failure(objects.error().within(path));
  if (objects->empty()) return failure(Errc::kInvalid, path + ": no object");
  return objects;
}

// By a fleet that is read once. Errors: those of the file.
Result<MakePlan> planner_on_file(const PlanJobOptions& options) {
  const auto nodes = read_fleet(options.fleet);
  if (!nodes) return failure(nodes.error());
  const auto fleet = std::make_shared<cluster::Fleet>();
  if (const Status good = cluster::fill_fleet(*nodes, *fleet); !good) return failure(good.error());
  cluster::jobs::Options webhook;
  webhook.scheduler = options.scheduler;
  if (!nodes->empty()) webhook.defaults.privileges = nodes->front().privileges;
  return MakePlan([fleet, webhook](const json& object) {
    return cluster::jobs::plan_job(object, webhook,
                                   [&](const auto& see) { see({.fleet = *fleet}); });
  });
}

Result<MakePlan> planner_of(const PlanJobOptions& options) {
  if (options.extender.url.empty()) return planner_on_file(options);
  return MakePlan([extender = options.extender](const json& object) {
    return plan_at_extender(extender, object);
  });
}

Result<std::vector<JobPlan>> plan_all(const PlanJobOptions& options) {
  const auto planner = planner_of(options);
  if (!planner) return failure(planner.error());
  const auto objects = read_objects(options.job);
  if (!objects) return failure(objects.error());
  std::vector<JobPlan> plans;
  for (const json& object : *objects) {
    auto plan = (*planner)(object);
    if (!plan) return failure(std::move(plan.error()));
    plans.push_back(std::move(*plan));
  }
  return plans;
}

std::string as_json(const std::vector<JobPlan>& plans) {
  json data = json::array();
  for (const JobPlan& plan : plans) data.push_back(to_json(plan));
  return data.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string as_text(const std::vector<JobPlan>& plans, bool picture) {
  PictureSize size;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (terminal) {
    const TerminalSize there = terminal_size(STDOUT_FILENO);
    size.width = there.width;
    size.height = std::max<std::size_t>(there.height, kLeastHeight);
    size.color = wants_color("auto", STDOUT_FILENO);
  }
  std::string text;
  for (const JobPlan& plan : plans) {
    text += (text.empty() ? "" : "\n") + draw_job_plan(plan);
    const std::string drawn = terminal || picture ? draw_job_picture(plan, size) : "";
    if (!drawn.empty()) text += "\n" + drawn;
  }
  return text;
}

int run(const PlanJobOptions& options) {
  const auto plans = plan_all(options);
  if (!plans) return report(plans.error());
  const int printed =
      print_and_exit_code(options.json ? as_json(*plans) : as_text(*plans, options.picture));
  const bool refused = std::any_of(plans->begin(), plans->end(), [](const JobPlan& plan) {
    return plan.outcome == cluster::jobs::Mutation::Kind::kRefused;
  });
  return refused ? kExitFailure : printed;
}

void add_fleet_options(CLI::App& command, PlanJobOptions& options) {
  auto* from = command.add_option_group("fleet", "Where the workers would go");
  from->add_option("--fleet", options.fleet, "YAML or JSON list of nodes (docs/jobs.md)")
      ->type_name("FILE");
  CLI::Option* live = add_extender_options(command, options.extender);
  from->add_option(live);
  from->require_option(1);
  command
      .add_option("--scheduler", options.scheduler,
                  "The webhook's scheduler-name: put into the pods; an extender has its own")
      ->type_name("NAME")
      ->excludes(live);
}

}  // namespace

void add_plan_job_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "plan-job", "Show what the webhook and the planner would make of a job, dry");
  auto options = std::make_shared<PlanJobOptions>();  // lives as long as the callback below
  command
      ->add_option("-f,--filename", options->job, "The job in YAML or JSON; - reads standard input")
      ->type_name("FILE")
      ->required();
  add_fleet_options(*command, *options);
  command->add_flag("--picture", options->picture,
                    "The machines too, when standard output is no terminal");
  command->add_flag("--json", options->json, "The same as data, with the JSON patch");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
