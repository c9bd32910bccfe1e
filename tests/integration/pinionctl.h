// The built pinionctl beside the node of a test.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/lab/containerd_lab.h"

namespace pinion::integration {

// Runs it to its end: what it printed, on both streams. Errors: kInternal with that where its exit
// code is not 0, kUnavailable when it is not done after half a minute.
Result<std::string> pinionctl(const lab::ContainerdLab& node, std::vector<std::string> arguments);

// The medians of a measure in the output of `compare --json`, and its verdict.
struct Compared {
  double a = 0;
  double b = 0;
  std::string verdict;
};
// Errors: kInvalid where it is no such output, kNotFound where the measure has no values on both
// sides.
Result<Compared> compared(const std::string& output, const std::string& measure);

}  // namespace pinion::integration
