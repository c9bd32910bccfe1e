// Runs that were seen, for the fit of the run-time model: docs/simulator.md has their form.
#pragma once

#include <string>

#include "base/error.h"
#include "cluster/sim/fit.h"

namespace pinion::sim {

inline constexpr std::size_t kMostSeenRuns = 500;  // the fit looks at each for each

// Errors: kInvalid with "line N: ..." for bad YAML, an unknown key, a value that is none, a kind
// that `kinds` does not name, and a file without runs.
Result<FitData> parse_runs_file(const std::string& text);

}  // namespace pinion::sim
