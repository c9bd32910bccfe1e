#include "ctl/plan/plan_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "base/cli/input.h"
#include "ctl/common/report.h"
#include "ctl/plan/draw_plan.h"
#include "ctl/plan/node_options.h"
#include "ctl/plan/plan_live.h"
#include "ctl/plan/requests_file.h"
#include "ctl/source/message_json.h"
#include "ctl/source/source_options.h"
#include "policy/plan.h"

namespace pinion::ctl {
namespace {

struct PlanOptions {
  NodeOptions node;
  SourceOptions source;
  std::string requests;
  bool live = false;
  bool json = false;
};

int run_live(const PlanOptions& options, const std::vector<topology::Request>& requests) {
  auto client = connect_agent(options.source);
  if (!client) return report(client.error());
  const auto response = client->plan(plan_request_of(requests));
  if (!response) return report(response.error());
  if (!options.json) return print_and_exit_code(draw_live_plan(*response));
  const auto text = message_json(*response);
  return text ? print_and_exit_code(*text) : report(text.error());
}

int run(const PlanOptions& options) {
  const auto text = read_text(options.requests);
  if (!text) return report(text.error());
  const auto requests = parse_requests(*text);
  if (!requests) return report(requests.error().within(options.requests));
  if (options.live) return run_live(options, *requests);
  const auto node = read_node(options.node);
  if (!node) return report(node.error());
  const topology::Plan plan =
      policy::plan(node->topology, node->ledger, *requests, options.node.privileges);
  return print_and_exit_code(options.json ? plan_json(node->topology, *requests, plan)
                                          : draw_plan(node->topology, *requests, plan));
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "plan", "Place a list of containers on a machine, dry, and draw the result");
  auto options = std::make_shared<PlanOptions>();  // lives as long as the callback below
  const std::vector<CLI::Option*> dry = add_node_options(*command, options->node);
  command
      ->add_option(
          "--requests", options->requests,
          "YAML or JSON list of containers, keys as the annotations; - reads standard input")
      ->type_name("FILE")
      ->required();
  CLI::Option* live = command->add_flag("--live", options->live,
                                        "Ask the agent what it would decide now; nothing is done");
  for (CLI::Option* option : dry) live->excludes(option);
  add_agent_options(*command, options->source);
  command->add_flag("--json", options->json, "The same as data");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
