#include "ctl/machine/topology_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "ctl/common/report.h"
#include "ctl/machine/draw_topology.h"
#include "ctl/machine/machine_options.h"
#include "ctl/machine/topology_json.h"

namespace pinion::ctl {
namespace {

struct TopologyOptions {
  MachineOptions machine;
  bool json = false;
};

int run(const TopologyOptions& options) {
  const auto read = read_machine(options.machine);
  if (!read) return report(read.error());
  if (options.json) return print_and_exit_code(topology_json(read->topology, read->reserved));
  return print_and_exit_code(
      draw_topology(read->topology, standing_layers(read->topology, read->reserved)));
}

}  // namespace

void add_topology_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "topology", "Draw packages, NUMA nodes, L3 domains, cores and who is reserved");
  auto options = std::make_shared<TopologyOptions>();  // lives as long as the callback below
  add_machine_options(*command, options->machine);
  command->add_flag("--json", options->json, "The same as data");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
