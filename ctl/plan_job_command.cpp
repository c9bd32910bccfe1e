#include "ctl/plan_job_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "ctl/fleet_file.h"
#include "ctl/input.h"
#include "ctl/job_file.h"
#include "ctl/job_plan.h"
#include "ctl/output.h"
#include "extender/kube/json_read.h"

namespace pinion::ctl {
namespace {

using nlohmann::json;

struct Options {
  std::string job;
  std::string fleet;
  std::string scheduler;
  bool json = false;
};

Status read_fleet(const std::string& path, extender::Fleet& fleet) {
  const auto text = read_text(path);
  if (!text) return failure(text.error());
  const auto nodes = parse_fleet_file(*text);
  if (!nodes) return failure(nodes.error().within(path));
  return fill_fleet(*nodes, fleet);
}

Result<std::vector<json>> read_objects(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return failure(text.error());
  auto objects = parse_objects(*text);
  if (!objects) return failure(objects.error().within(path));
  if (objects->empty()) return failure(Errc::kInvalid, path + ": no object");
  return objects;
}

int run(const Options& options) {
  extender::Fleet fleet;
  if (const Status good = read_fleet(options.fleet, fleet); !good) return report(good.error());
  auto objects = read_objects(options.job);
  if (!objects) return report(objects.error());
  extender::jobs::Options webhook;
  webhook.scheduler = options.scheduler;
  std::string text;
  json data = json::array();
  bool refused = false;
  for (json& object : *objects) {
    const JobPlan plan = plan_job(std::move(object), fleet, webhook);
    refused = refused || plan.mutation.kind == extender::jobs::Mutation::Kind::kRefused;
    text += (text.empty() ? "" : "\n") + draw_job_plan(plan, fleet);
    if (options.json) data.push_back(job_plan_json(plan, fleet));
  }
  constexpr auto replace = json::error_handler_t::replace;
  const int printed =
      print_and_exit_code(options.json ? data.dump(2, ' ', false, replace) + "\n" : text);
  return refused ? kExitFailure : printed;
}

}  // namespace

void add_plan_job_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "plan-job", "Show what the webhook and the planner would make of a job, dry");
  auto options = std::make_shared<Options>();  // lives as long as the callback below
  command
      ->add_option("-f,--filename", options->job, "The job in YAML or JSON; - reads standard input")
      ->type_name("FILE")
      ->required();
  command->add_option("--fleet", options->fleet, "YAML or JSON list of nodes (docs/jobs.md)")
      ->type_name("FILE")
      ->required();
  command->add_option("--scheduler", options->scheduler,
                      "The webhook's scheduler-name: put into the pods");
  command->add_flag("--json", options->json, "The same as data, with the JSON patch");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
