// Where a test finds what is not compiled into it. In one small file, so that no other knows the
// checkout's path and a second checkout finds in ccache what the first compiled.
#pragma once

#include <string>

namespace pinion::test_support {

/// A file or folder of the checkout, by its path there: "docs/metrics.md".
std::string in_checkout(const std::string& path);

/// A program of the same build, by name: "pinionctl".
std::string built_program(const std::string& name);

}  // namespace pinion::test_support
