// Points of time, and parts of a recording, as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::ctl {

// Unix seconds ("1767225600", "1767225600.5") or RFC 3339 ("2026-01-01T00:00:00Z",
// "2026-01-01T01:00:00.5+01:00"), as Unix seconds. Error: kInvalid.
Result<double> parse_time(std::string_view text);

// A part of something: "NAME", "NAME@FROM..TO", "NAME@FROM..", "NAME@..TO". An '@' without ".."
// behind it belongs to the name.
struct Part {
  std::string name;
  std::optional<double> from;  // seconds
  std::optional<double> to;
};

enum class PartTimes {
  kOffsets,  // seconds, 0 or more
  kPoints,   // as parse_time()
};

// Errors: kInvalid for an empty name, a bound that is none, or a part that ends before it begins.
Result<Part> parse_part(std::string_view text, PartTimes times);

}  // namespace pinion::ctl
