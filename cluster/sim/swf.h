// The Standard Workload Format, version 2.2, of the Parallel Workloads Archive: a job in each line,
// 18 fields with blanks between, -1 where something is not known, comments after ';'.
// https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "cluster/sim/job.h"

namespace pinion::sim {

inline constexpr std::size_t kMaxSwfLine = 4096;  // bytes
inline constexpr int kMaxProcessors = 10'000'000;
inline constexpr double kMaxSwfSeconds = 1e11;  // of a time or a duration

// The job of one line. nullopt: it is empty or a comment, or it has none to simulate: without a
// submission from 0 on, a run time or processors, or a part of a job that was swapped out (status 2
// to 4), which has a line of its own. `skipped` is then true but for empty lines and comments. A
// job that asked for no time, or for less than it took, is taken to have asked for what it took.
// Processors are those it asked for, else those it got. Errors: kInvalid for other than 18 fields,
// for what is no number or not whole where it must be, and for numbers beyond the limits above.
Result<std::optional<Job>> parse_swf_line(std::string_view line, bool& skipped);

}  // namespace pinion::sim
