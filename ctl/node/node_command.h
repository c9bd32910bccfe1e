// pinionctl node, pinionctl ps: a node and its containers, once.
#pragma once

#include <CLI/App.hpp>

namespace pinion::ctl {

// Register the subcommands; when it is the one called, its exit code is put into `exit_code`.
void add_node_command(CLI::App& app, int& exit_code);
void add_ps_command(CLI::App& app, int& exit_code);

}  // namespace pinion::ctl
