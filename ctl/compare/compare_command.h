// pinionctl compare: two recordings, jobs or intervals beside each other.
#pragma once

#include <CLI/App.hpp>

namespace pinion::ctl {

// Registers the subcommand; when it is the one called, its exit code is put into `exit_code`.
void add_compare_command(CLI::App& app, int& exit_code);

}  // namespace pinion::ctl
