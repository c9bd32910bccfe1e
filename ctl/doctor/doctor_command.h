// pinionctl doctor: finds what commonly is wrong with a node or a cluster, and says what to do.
#pragma once

#include <CLI/App.hpp>

namespace pinion::ctl {

// Registers the subcommand; when it is the one called, its exit code is put into `exit_code`: that
// of report_exit_code().
void add_doctor_command(CLI::App& app, int& exit_code);

}  // namespace pinion::ctl
