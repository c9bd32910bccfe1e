// Lengths of time as people write them, in settings and on command lines alike.
#pragma once

#include <chrono>
#include <string_view>

#include "base/error.h"

namespace pinion {

// "250ms", "1.5s", "10m", "2h", and "0". At most 87600h. Error: kInvalid, also for any other number
// without a unit, and for what is shorter than 1 ms.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace pinion
