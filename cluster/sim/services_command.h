// `pinion-sim services`.
#pragma once

#include <CLI/App.hpp>

namespace pinion::sim {

void add_services_command(CLI::App& app, int& exit_code);

}  // namespace pinion::sim
