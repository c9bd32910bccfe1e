// Times as Kubernetes writes them: RFC 3339 in UTC.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

namespace pinion {

// Milliseconds since 1970 of a time with whole seconds, "2026-11-24T15:21:31Z"; nullopt for
// anything else.
[[nodiscard]] inline std::optional<std::int64_t> rfc3339_ms(const std::string& time) {
  std::tm parts{};
  const char* end = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::int64_t{1000} * timegm(&parts);
}

// With six digits, where seconds are too coarse (MicroTime): "2026-11-22T17:50:01.000123Z".
[[nodiscard]] inline std::string micro_time(std::chrono::system_clock::time_point time) {
  using std::chrono::floor;
  using std::chrono::microseconds;
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<microseconds>(time - day));
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02ld:%02ld:%02ld.%06ldZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                clock.seconds().count(), clock.subseconds().count());
  return text.data();
}

}  // namespace pinion
