// A list of jobs that a human wrote, in YAML or JSON: docs/simulator.md has all keys.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/sim/job.h"

namespace pinion::sim {

inline constexpr int kMaxFileJobs = 100'000;  // all counts together

// By submission, ties as they stand in the file. Errors: kInvalid with "line N: ..." for bad YAML,
// an unknown key, a value that is none, or two jobs of one name.
Result<std::vector<Job>> parse_jobs_file(const std::string& text);

}  // namespace pinion::sim
