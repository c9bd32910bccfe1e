// The scenarios of the fine-grained scheduling paper by their names, and ours beside them.
#pragma once

#include <string>
#include <vector>

#include "cluster/sim/run_options.h"

namespace pinion::sim {

[[nodiscard]] std::vector<std::string> scenario_names();
// Precondition: one of these names.
void apply_scenario(const std::string& name, RunOptions& options);

}  // namespace pinion::sim
