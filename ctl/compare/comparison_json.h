// A comparison as JSON; the shape is described in ctl/README.md and only ever grows.
#pragma once

#include <string>

#include "ctl/compare/comparison.h"

namespace pinion::ctl {

std::string comparison_json(const Comparison& comparison);

}  // namespace pinion::ctl
