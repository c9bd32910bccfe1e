// What this process has used so far.
#pragma once

#include <cstdint>

#include "agent/http/expose.h"

namespace pinion::agent {

// `started_unix_ms`: when main() began.
[[nodiscard]] ProcessFigures process_figures(std::int64_t started_unix_ms);

}  // namespace pinion::agent
