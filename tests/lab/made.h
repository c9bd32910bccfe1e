// What scripts fetch or build into a cache outside the checkout, for tests to run.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion::lab {

// Where scripts/SCRIPT puts it for this checkout's versions. Nothing need be there. Error:
// kUnavailable when the script fails or does not end.
Result<std::string> made_by(const std::string& script);

}  // namespace pinion::lab
