// Files that are named on the command line.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion {

// All of it; "-" is standard input. Errors: of the system, naming the file; kInvalid for more than
// 64 MiB.
Result<std::string> read_text(const std::string& path);

}  // namespace pinion
