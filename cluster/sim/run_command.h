// `pinion-sim run`.
#pragma once

#include <CLI/App.hpp>

namespace pinion::sim {

void add_run_command(CLI::App& app, int& exit_code);

}  // namespace pinion::sim
