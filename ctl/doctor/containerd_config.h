// What containerd's configuration says, as text. toml++ is used in this file's source alone.
#pragma once

#include <string>

#include "base/error.h"
#include "ctl/doctor/facts.h"

namespace pinion::ctl::doctor {

// Sets what the file states, on top of what is there, as containerd merges its imports. Sections of
// the formats 1 to 3 are known. A letter beyond ASCII is read as '?' for each of its bytes. Errors:
// kInvalid for text that is no TOML, with the line.
Status apply_containerd_config(const std::string& text, ContainerdSettings& settings);

}  // namespace pinion::ctl::doctor
