// What scripts fetch or build into a cache outside the checkout, for tests to run.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::lab {

// Where scripts/SCRIPT puts it for this checkout's versions, called with these options. Nothing
// need be there. Error: kUnavailable when the script fails or does not end.
Result<std::string> made_by(const std::string& script,
                            const std::vector<std::string>& options = {});

}  // namespace pinion::lab
