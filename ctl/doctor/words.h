// Texts of several checks.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/some_of.h"
#include "ctl/doctor/finding.h"

namespace pinion::ctl::doctor {

inline Finding warning(std::string id, std::string what, std::string advice) {
  return {.id = std::move(id),
          .severity = Severity::kWarning,
          .what = std::move(what),
          .advice = std::move(advice)};
}

inline Finding error(std::string id, std::string what, std::string advice) {
  return {.id = std::move(id),
          .severity = Severity::kError,
          .what = std::move(what),
          .advice = std::move(advice)};
}

// What was not to be read: as root most of it is.
inline Finding unknown(std::string id, const Error& why) {
  return {.id = std::move(id),
          .severity = Severity::kUnknown,
          .what = why.text,
          .advice = why.code == Errc::kDenied ? "run it as root, on the node" : ""};
}

// A finding for each of them, behind what was found otherwise; good ones give way.
inline Findings with_unread(Findings findings, const std::string& id,
                            const std::vector<Error>& unread) {
  if (!unread.empty())
    std::erase_if(findings, [](const Finding& f) { return f.severity == Severity::kGood; });
  for (const Error& why : unread) findings.push_back(unknown(id, why));
  return findings;
}

}  // namespace pinion::ctl::doctor
