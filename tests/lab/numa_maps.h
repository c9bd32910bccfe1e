// On which NUMA nodes a process's memory lies: /proc/PID/numa_maps as values.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "topology/cpuset.h"

namespace pinion::lab {

using PagesByNode = std::map<topology::NodeId, long>;

// Pages of all anonymous mappings together. Those of files are left out: they lie where they were
// first read. Errors: kInvalid, with the line.
Result<PagesByNode> parse_numa_maps(const std::string& text);

// Of a process of this machine. Errors: as of reading the file.
Result<PagesByNode> anonymous_pages(int pid);

}  // namespace pinion::lab
