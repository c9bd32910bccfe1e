// What the main() of every daemon does.
#pragma once

#include <functional>
#include <vector>

#include "base/settings/settings.h"

namespace pinion::settings {

struct Daemon {
  Program program;
  std::vector<Setting> settings;
  std::function<Status()> run;         // until it is told to end
  std::function<Status()> check = {};  // of all settings together; none: each by itself is enough
  // What is set and has no effect, for --check-config to say; none: nothing is looked for.
  std::function<std::vector<std::string>()> without_effect = {};
};

// Reads flags and file, then does what they ask for: --help, --version, --check-config or the work.
// The exit code: 0 done, 1 failed, 2 wrong settings; why is on standard error.
int run_daemon(int argc, const char* const* argv, const Daemon& daemon);

}  // namespace pinion::settings
