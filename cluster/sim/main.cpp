// pinion-sim: the cluster's scheduler on a virtual clock. Each subcommand is a file of its own.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>

#include "base/cli/output.h"
#include "base/version.h"
#include "cluster/sim/fit_command.h"
#include "cluster/sim/mixed_command.h"
#include "cluster/sim/run_command.h"
#include "cluster/sim/services_command.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is seen as EPIPE by print()
  int exit_code = pinion::kExitOk;
  CLI::App app("Shows what scheduling policies would do, on a virtual clock", "pinion-sim");
  app.set_version_flag("--version", pinion::kVersion);
  app.require_subcommand(1);
  pinion::sim::add_run_command(app, exit_code);
  pinion::sim::add_fit_command(app, exit_code);
  pinion::sim::add_services_command(app, exit_code);
  pinion::sim::add_mixed_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    // Whoever misspells a subcommand is to read which word it is.
    const auto unknown = app.remaining();
    if (app.get_subcommands().empty() && !unknown.empty()) {
      app.exit(CLI::ExtrasError(unknown));
    } else {
      app.exit(error);
    }
    return pinion::kExitUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? pinion::kExitOk : pinion::kExitUsage;
  }
  return exit_code;
}
