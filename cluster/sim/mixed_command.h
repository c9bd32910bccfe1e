// `pinion-sim mixed`.
#pragma once

#include <CLI/App.hpp>

namespace pinion::sim {

void add_mixed_command(CLI::App& app, int& exit_code);

}  // namespace pinion::sim
