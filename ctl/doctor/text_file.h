// Small files of a node, some of them written by others.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion::ctl::doctor {

// The whole of a regular file, of at most 4 MiB; anything else is not waited for. Errors: kInvalid
// for what is no such file or larger, others as the system says.
Result<std::string> read_text(const std::string& path);

}  // namespace pinion::ctl::doctor
