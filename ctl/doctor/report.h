// What the checks have found, for people and for scripts.
#pragma once

#include <string>

#include "ctl/doctor/finding.h"

namespace pinion::ctl::doctor {

// The worst first; without `all` those that are good are only counted.
[[nodiscard]] std::string draw_report(const Findings& findings, bool all);

// {"findings": [{"id", "severity": "good"|"warning"|"error"|"unknown", "what", "advice"}]}, in the
// order of the checks.
[[nodiscard]] std::string report_json(const Findings& findings);

// 1: something is wrong (error or warning); 2: nothing is, as far as it could be looked at, which
// was not everything; 0: all is good.
[[nodiscard]] int report_exit_code(const Findings& findings);

}  // namespace pinion::ctl::doctor
