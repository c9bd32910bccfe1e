#include "ctl/node/node_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <utility>

#include "agent/client/machine.h"
#include "ctl/common/report.h"
#include "ctl/node/container_rows.h"
#include "ctl/node/draw_node.h"
#include "ctl/source/message_json.h"
#include "ctl/source/source_options.h"

namespace pinion::ctl {
namespace {

struct NodeOptions {
  SourceOptions source;
  bool json = false;
  bool finished = false;
};

Result<v1::Snapshot> read_snapshot(const SourceOptions& options) {
  auto source = open_source(options);
  if (!source) return failure(std::move(source.error()));
  auto moment = latest(**source);
  if (!moment && moment.error().code == Errc::kNotFound && !options.from.empty()) {
    return failure(std::move(moment.error()).within(options.from));
  }
  if (!moment) return failure(std::move(moment.error()));
  return std::move(moment->snapshot);
}

int print_json(const google::protobuf::Message& message) {
  const auto text = message_json(message);
  return text ? print_and_exit_code(*text) : report(text.error());
}

int run_node(const NodeOptions& options) {
  const auto snapshot = read_snapshot(options.source);
  if (!snapshot) return report(snapshot.error());
  if (options.json) return print_json(snapshot->node());
  topology::Topology machine;  // of an agent that tells of none: no picture
  if (snapshot->node().machine().cpus_size() > 0) {
    auto told = agent::api::topology_of(snapshot->node().machine());
    if (!told) return report(told.error().within("machine"));
    machine = std::move(*told);
  }
  return print_and_exit_code(draw_node(*snapshot, machine));
}

int run_ps(const NodeOptions& options) {
  auto snapshot = read_snapshot(options.source);
  if (!snapshot) return report(snapshot.error());
  if (!options.json) return print_and_exit_code(containers_table(*snapshot, options.finished));
  v1::ListContainersResponse list;
  list.set_generation(snapshot->node().generation());
  for (v1::Container& container : *snapshot->mutable_containers()) {
    if (options.finished || !container.finished()) *list.add_containers() = std::move(container);
  }
  return print_json(list);
}

}  // namespace

void add_node_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "node", "Show a node: its runtime, sets of CPUs, room, containers and refusals");
  auto options = std::make_shared<NodeOptions>();  // lives as long as the callback below
  add_source_options(*command, options->source);
  command->add_flag("--json", options->json, "NodeState of proto/pinion/v1/node.proto as JSON");
  command->callback([options, &exit_code] { exit_code = run_node(*options); });
}

void add_ps_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("ps", "List the containers of a node by name");
  auto options = std::make_shared<NodeOptions>();
  add_source_options(*command, options->source);
  command->add_flag("--json", options->json,
                    "ListContainersResponse of proto/pinion/v1/node.proto as JSON");
  command->add_flag("--finished", options->finished, "Also those that ended a short while ago");
  command->callback([options, &exit_code] { exit_code = run_ps(*options); });
}

}  // namespace pinion::ctl
