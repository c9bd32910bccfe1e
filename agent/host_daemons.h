// Who of the host may run on cores that are to be exclusive, for the log at the start.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "base/log/note.h"
#include "topology/cpuset.h"

namespace pinion::agent {

// A warning that names the first few and says how to keep them off, or why that is not known;
// nothing where nobody may run there. Reads a file for each thread of the machine. `root` holds its
// proc/; `given` may be exclusive, `reserved` never are. Nothing once `stop` asks for an end.
[[nodiscard]] std::optional<Note> warning_of_host_daemons(const std::string& root,
                                                          const topology::CpuSet& given,
                                                          const topology::CpuSet& reserved,
                                                          const std::stop_token& stop = {});

}  // namespace pinion::agent
