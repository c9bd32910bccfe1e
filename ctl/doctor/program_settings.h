// The settings of a running pinion-agent or pinion-extender, as far as a check needs them: from the
// configuration file and flags of the process, as its own container sees the file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ctl/doctor/processes.h"

namespace pinion::ctl::doctor {

struct ProgramKey {
  const char* key;   // of the file
  const char* flag;  // without its dashes
};

using ProgramSettings = std::map<std::string, std::string>;  // by key; what is stated

// What a configuration file states of these: its text, where there is one, and the arguments, which
// win. Errors: kInvalid for text that is no YAML map.
Result<ProgramSettings> program_settings(const std::optional<std::string>& file,
                                         const std::vector<std::string>& arguments,
                                         const std::vector<ProgramKey>& keys);

// The value, or the default where it is not stated.
[[nodiscard]] std::string value_of(const ProgramSettings& settings, const std::string& key,
                                   const std::string& otherwise);

}  // namespace pinion::ctl::doctor
