#include "ctl/common/times.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace pinion::ctl {
namespace {

// A plain decimal number from the front of the text, which is shortened by it; no sign, no
// exponent, no "inf".
std::optional<double> take_number(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + end, value);
  if (read.ec != std::errc() || read.ptr != text.data() + end) return std::nullopt;
  text.remove_prefix(end);
  return value;
}

// So many digits from the front of the text.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  const auto read = std::from_chars(text.data(), text.data() + count, value);
  if (read.ec != std::errc() || read.ptr != text.data() + count || text.front() == '-') {
    return std::nullopt;
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// Days since 1970 of a day in the Gregorian calendar: years are counted from March, so that the day
// of a leap year comes last in its year.
std::int64_t days_of(int year, int month, int day) {
  const int shifted = month > 2 ? year : year - 1;
  const int months = month > 2 ? month - 3 : month + 9;  // since March
  const std::int64_t leaps = shifted / 4 - shifted / 100 + shifted / 400;
  constexpr std::int64_t days_to1970 = 719468;  // from the first of March of the year 0
  return std::int64_t{365} * shifted + leaps + (153 * months + 2) / 5 + day - 1 - days_to1970;
}

int days_in(int year, int month) {
  constexpr std::array days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : days[static_cast<std::size_t>(month - 1)];
}

struct Clock {
  int hour = 0;
  int minute = 0;
};

std::optional<Clock> take_clock(std::string_view& text) {
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  return Clock{*hour, *minute};
}

// Seconds east of Greenwich: "Z", "+01:00".
std::optional<int> take_offset(std::string_view& text) {
  if (take(text, 'Z')) return 0;
  const bool east = take(text, '+');
  if (!east && !take(text, '-')) return std::nullopt;
  const auto clock = take_clock(text);
  if (!clock) return std::nullopt;
  const int seconds = clock->hour * 3600 + clock->minute * 60;
  return east ? seconds : -seconds;
}

std::optional<double> rfc3339(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || *month < 1 || *month > 12 || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || *day < 1 || *day > days_in(*year, *month) || !take(text, 'T')) return std::nullopt;
  const auto clock = take_clock(text);
  if (!clock || !take(text, ':') || text.empty() || text.front() == '.') return std::nullopt;
  const auto second = take_number(text);
  if (!second || *second > 60) return std::nullopt;
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const std::int64_t whole = days_of(*year, *month, *day) * 86400 +
                             std::int64_t{clock->hour} * 3600 + std::int64_t{clock->minute} * 60 -
                             *offset;
  return static_cast<double>(whole) + *second;
}

Result<std::optional<double>> bound(std::string_view text, PartTimes times) {
  if (text.empty()) return std::optional<double>();
  if (times == PartTimes::kPoints) {
    const auto time = parse_time(text);
    if (!time) return failure(time.error());
    return std::optional<double>(*time);
  }
  const std::string given(text);
  const auto number = take_number(text);
  if (!number || !text.empty()) {
    return failure(Errc::kInvalid, "'" + given + "' is no number of seconds");
  }
  return number;
}

}  // namespace

Result<double> parse_time(std::string_view text) {
  std::string_view rest = text;
  const auto number = take_number(rest);
  if (number && rest.empty()) return *number;
  if (const auto time = rfc3339(text)) return *time;
  return failure(Errc::kInvalid, "'" + std::string(text) +
                                     "' is no time such as 2026-01-31T12:00:00Z or Unix seconds");
}

Result<Part> parse_part(std::string_view text, PartTimes times) {
  Part part{std::string(text), std::nullopt, std::nullopt};
  const std::size_t at = text.rfind('@');
  const std::size_t dots = at == std::string_view::npos ? at : text.find("..", at);
  if (dots != std::string_view::npos) {
    part.name = text.substr(0, at);
    const auto from = bound(text.substr(at + 1, dots - at - 1), times);
    if (!from) return failure(from.error().within(std::string(text)));
    const auto to = bound(text.substr(dots + 2), times);
    if (!to) return failure(to.error().within(std::string(text)));
    part.from = *from;
    part.to = *to;
  }
  if (part.name.empty()) return failure(Errc::kInvalid, "'" + std::string(text) + "' has no name");
  if (part.from && part.to && *part.to <= *part.from) {
    return failure(Errc::kInvalid, "'" + std::string(text) + "' ends before it begins");
  }
  return part;
}

}  // namespace pinion::ctl
