// A setting as an option of a program that reads no file.
#pragma once

#include <CLI/App.hpp>

#include "base/settings/settings.h"

namespace pinion::settings {

// Adds the setting's flag to `command`, by its own name and with its own help; a text that it
// refuses is an error in the usage. What it sets must outlive `command`.
CLI::Option* add_flag(CLI::App& command, const Setting& setting);

}  // namespace pinion::settings
