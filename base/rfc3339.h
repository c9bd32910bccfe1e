// Times as Kubernetes writes most of them.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

namespace pinion {

// Milliseconds since 1970 of RFC 3339 in UTC with whole seconds, "2026-11-24T15:21:31Z"; nullopt
// for anything else.
[[nodiscard]] inline std::optional<std::int64_t> rfc3339_ms(const std::string& time) {
  std::tm parts{};
  const char* end = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::int64_t{1000} * timegm(&parts);
}

}  // namespace pinion
