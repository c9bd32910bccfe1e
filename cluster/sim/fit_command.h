// `pinion-sim fit`.
#pragma once

#include <CLI/App.hpp>

namespace pinion::sim {

void add_fit_command(CLI::App& app, int& exit_code);

}  // namespace pinion::sim
