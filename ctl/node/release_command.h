// pinionctl release: takes everything back that a stopped agent has left in the cgroups.
#pragma once

#include <CLI/App.hpp>

namespace pinion::ctl {

// Registers the subcommand; when it is the one called, its exit code is put into `exit_code`.
void add_release_command(CLI::App& app, int& exit_code);

}  // namespace pinion::ctl
