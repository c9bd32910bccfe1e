// Reads what expose() wrote, as strictly as the formats' descriptions are.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/prometheus/writer.h"

namespace pinion::agent {

// What is wrong with the text, a sentence for each: no line feed at the end, a line that is none, a
// sample before its TYPE or in another family's place, one with the same name and labels twice, a
// family twice, an OpenMetrics UNIT that the name does not end in, no "# EOF".
[[nodiscard]] std::vector<std::string> faults_of(std::string_view text, prometheus::Format format);

// The samples: name and labels as written, to the value as written.
[[nodiscard]] std::map<std::string, std::string> samples_of(std::string_view text);

}  // namespace pinion::agent
