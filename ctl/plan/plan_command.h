// pinionctl plan: what would become of a list of containers on a machine, without touching either.
#pragma once

#include <CLI/App.hpp>

namespace pinion::ctl {

// Registers the subcommand; when it is the one called, its exit code is put into `exit_code`. A
// refused container is an ordinary answer, not a failure.
void add_plan_command(CLI::App& app, int& exit_code);

}  // namespace pinion::ctl
