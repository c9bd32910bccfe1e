// Texts of several checks.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/words.h"
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

// "a, b, c and 4 more".
inline std::string some_of(const std::vector<std::string>& words, std::size_t shown = 5) {
  std::string text = joined(std::span(words).first(std::min(shown, words.size())), ", ");
  if (words.size() > shown) text += " and " + std::to_string(words.size() - shown) + " more";
  return text;
}

}  // namespace pinion::ctl::doctor
