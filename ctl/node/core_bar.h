// One character for each CPU of a machine, coloured by the container that has it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "proto/pinion/v1/node.pb.h"

namespace pinion::ctl {

// Lines of at most `width` columns (0: no limit) and at most `lines` of them, the last one saying
// how many CPUs found no room. NUMA nodes in brackets behind their number, gaps between L3 domains.
// Letters are containers by their place in by_cores(), `r` reserved, `i` isolated and free,
// `.` free for exclusive containers or shared.
std::vector<std::string> core_bar(const v1::Snapshot& snapshot, std::size_t width,
                                  std::size_t lines, bool color);

}  // namespace pinion::ctl
