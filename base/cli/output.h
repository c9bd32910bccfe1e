// Standard output and the exit codes of the programs that people call.
#pragma once

#include <string_view>

#include "base/error.h"

namespace pinion {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// Writes all of it to standard output. A reader that has left ("| head") is no error. Precondition:
// SIGPIPE is ignored.
Status print(std::string_view text);

// What a command ends with: of an error "PROGRAM: TEXT" goes to standard error.
[[nodiscard]] int exit_code_of(const Status& done, const char* program);

// As print(), for a program that goes on printing: false when the reader has left.
Result<bool> print_to_reader(std::string_view text);

}  // namespace pinion
