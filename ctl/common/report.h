// How a command of pinionctl ends.
#pragma once

#include <string_view>

#include "base/cli/output.h"
#include "base/error.h"

namespace pinion::ctl {

// "pinionctl: TEXT" to standard error; returns kExitFailure.
int report(const Error& error);

// print(), and the exit code that follows from it.
int print_and_exit_code(std::string_view text);

}  // namespace pinion::ctl
