// pinion-sim: the cluster's scheduler on a virtual clock. Each subcommand is a file of its own.
#include <csignal>

#include "base/cli/subcommands.h"
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
  pinion::sim::add_run_command(app, exit_code);
  pinion::sim::add_fit_command(app, exit_code);
  pinion::sim::add_services_command(app, exit_code);
  pinion::sim::add_mixed_command(app, exit_code);
  return pinion::run_subcommand(app, argc, argv, exit_code);
}
