// What a check has found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pinion::ctl::doctor {

enum class Severity : std::uint8_t {
  kGood,
  kWarning,  // it works, less well than it could
  kError,    // containers are not pinned, or not where they should be
  kUnknown,  // it could not be looked at
};

struct Finding {
  std::string id;  // of the check, as "nri": stays the same from version to version
  Severity severity = Severity::kGood;
  std::string what;    // what is so
  std::string advice;  // what to do about it; empty when good

  bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

inline Finding good(std::string id, std::string what) {
  return {.id = std::move(id), .severity = Severity::kGood, .what = std::move(what), .advice = {}};
}

}  // namespace pinion::ctl::doctor
