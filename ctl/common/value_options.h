// Options whose values have a unit.
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <string>

namespace pinion::ctl {

// `value` holds the default, which the help shows. A text that is no duration is an error in the
// usage. `value` must live as long as the command.
void add_duration_option(CLI::App& command, const std::string& name,
                         std::chrono::milliseconds& value, const std::string& help);

}  // namespace pinion::ctl
