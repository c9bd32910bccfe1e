#include "ctl/doctor/report.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/cli/table.h"
#include "base/words.h"
#include "ctl/common/text.h"

namespace pinion::ctl::doctor {
namespace {

constexpr std::array kSeverityWords{
    Word<Severity>{"good", Severity::kGood}, Word<Severity>{"warning", Severity::kWarning},
    Word<Severity>{"error", Severity::kError}, Word<Severity>{"unknown", Severity::kUnknown}};

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

std::size_t count(const Findings& findings, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [severity](const Finding& each) { return each.severity == severity; }));
}

}  // namespace

std::string draw_report(const Findings& findings, bool all) {
  std::string text;
  for (const Severity severity :
       {Severity::kError, Severity::kWarning, Severity::kUnknown, Severity::kGood}) {
    if (severity == Severity::kGood && !all) continue;
    for (const Finding& each : findings) {
      if (each.severity != severity) continue;
      text += flow(padded(std::string(word_of(severity, kSeverityWords)), 9) + padded(each.id, 24),
                   words(plain(each.what)));
      if (!each.advice.empty()) {
        text += flow(std::string(33, ' ') + "-> ", words(plain(each.advice)));
      }
    }
  }
  return text + counted(count(findings, Severity::kError), "error", "errors") + ", " +
         counted(count(findings, Severity::kWarning), "warning", "warnings") + ", " +
         std::to_string(count(findings, Severity::kUnknown)) + " unknown, " +
         std::to_string(count(findings, Severity::kGood)) + " good\n";
}

std::string report_json(const Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& each : findings) {
    list.push_back({{"id", each.id},
                    {"severity", word_of(each.severity, kSeverityWords)},
                    {"what", each.what},
                    {"advice", each.advice}});
  }
  nlohmann::ordered_json document = {{"findings", std::move(list)}};
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int report_exit_code(const Findings& findings) {
  const bool wrong =
      count(findings, Severity::kError) > 0 || count(findings, Severity::kWarning) > 0;
  if (wrong) return 1;
  return count(findings, Severity::kUnknown) > 0 ? 2 : 0;
}

}  // namespace pinion::ctl::doctor
