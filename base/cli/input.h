// Files that are named on the command line.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion {

// All of it; "-" is standard input. Errors: of the system, naming the file.
Result<std::string> read_text(const std::string& path);

}  // namespace pinion
