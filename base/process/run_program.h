// Another program, run to its end.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion {

struct RunLimits {
  std::optional<std::chrono::milliseconds> time = {};  // then it is killed; none: for ever
  std::size_t out_bytes = std::size_t{256} << 20U;
};

struct RunEnd {
  int status = 0;  // as a shell gives it: 128 + the signal that ended it
  std::string out;
  std::string errors;  // of its standard error the last 1000 bytes, without the last line's end
};

// argv[0] is looked up in PATH when it has no '/'. With a limit of time it has no input, no signal
// is blocked in it, and it is killed with its children; without one it shares the caller's
// terminal. Errors: kNotFound where there is no such program, kUnavailable when it took too long or
// said more than allowed.
Result<RunEnd> run_program(std::vector<std::string> argv, const RunLimits& limits = {});

}  // namespace pinion
