#include "base/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace pinion {
namespace {

constexpr double kMostMs = 3650.0 * 24 * 3600 * 1000;
constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
    {{"ms", 1}, {"s", 1000}, {"m", 60e3}, {"h", 3600e3}}};

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  // Neither a sign nor an exponent nor "inf", which from_chars would take.
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit = text.substr(digits);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + digits, number);
  const auto* const known = std::find_if(kUnits.begin(), kUnits.end(),
                                         [&](const auto& each) { return each.first == unit; });
  const bool has_unit = known != kUnits.end();
  const double length = has_unit ? number * known->second : number;
  const bool good =
      read.ec == std::errc() && read.ptr == text.data() + digits &&
      (length == 0 ? has_unit || unit.empty() : has_unit && length >= 1 && length <= kMostMs);
  if (!good) {
    return failure(Errc::kInvalid,
                   quoted_value(text) + " is not a duration such as 500ms, 10s, 5m or 2h");
  }
  return std::chrono::milliseconds(std::llround(length));
}

}  // namespace pinion
