// Whole pages, checked in, and their lines.
#pragma once

#include <string>
#include <vector>

namespace pinion::ctl {

// Compares with the file of that name in golden/; UPDATE_GOLDEN=1 in the environment rewrites it.
void expect_golden(const std::string& name, const std::string& got);

[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);
// Without the sequences that colour it.
[[nodiscard]] std::string without_color(const std::string& text);

}  // namespace pinion::ctl
