// Whole pages, checked in.
#pragma once

#include <string>

namespace pinion::ctl {

// Compares with the file of that name in golden/; UPDATE_GOLDEN=1 in the environment rewrites it.
void expect_golden(const std::string& name, const std::string& got);

}  // namespace pinion::ctl
