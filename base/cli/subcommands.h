// A program of subcommands: what its command line says, or why it says nothing.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <cstdio>
#include <string>

#include "base/cli/output.h"

namespace pinion {

// What the program ends with: `exit_code` of the subcommand that has run, or of a command line
// that is wrong, about which standard error has a line.
inline int run_subcommand(CLI::App& app, int argc, char** argv, const int& exit_code) {
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    // Whoever misspells a subcommand is to read which word it is.
    const auto unknown = app.remaining();
    if (app.get_subcommands().empty() && !unknown.empty()) {
      std::string known;
      for (const CLI::App* each : app.get_subcommands({})) {
        known += (known.empty() ? "" : ", ") + each->get_name();
      }
      std::fprintf(stderr, "%s: no command '%s', use one of: %s\n", app.get_name().c_str(),
                   unknown.front().c_str(), known.c_str());
    } else {
      app.exit(error);
    }
    return kExitUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return exit_code;
}

}  // namespace pinion
