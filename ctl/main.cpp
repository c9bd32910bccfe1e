// pinionctl: looks at nodes and machines and plans on them. Each subcommand is a file of its own.
#include <csignal>

#include "base/cli/subcommands.h"
#include "base/version.h"
#include "ctl/compare/compare_command.h"
#include "ctl/compare/record_command.h"
#include "ctl/doctor/doctor_command.h"
#include "ctl/job/jobs_command.h"
#include "ctl/job/plan_job_command.h"
#include "ctl/job/scale_command.h"
#include "ctl/machine/topology_command.h"
#include "ctl/node/node_command.h"
#include "ctl/node/release_command.h"
#include "ctl/plan/plan_command.h"
#include "ctl/top/top_command.h"
#include "ctl/vc/vc_command.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is seen as EPIPE by print()
  int exit_code = pinion::kExitOk;
  CLI::App app("Looks at nodes and machines and plans on them", "pinionctl");
  app.set_version_flag("--version", pinion::kVersion);
  pinion::ctl::add_topology_command(app, exit_code);
  pinion::ctl::add_plan_command(app, exit_code);
  pinion::ctl::add_plan_job_command(app, exit_code);
  pinion::ctl::add_node_command(app, exit_code);
  pinion::ctl::add_ps_command(app, exit_code);
  pinion::ctl::add_top_command(app, exit_code);
  pinion::ctl::add_record_command(app, exit_code);
  pinion::ctl::add_compare_command(app, exit_code);
  pinion::ctl::add_jobs_command(app, exit_code);
  pinion::ctl::add_scale_command(app, exit_code);
  pinion::ctl::add_vc_command(app, exit_code);
  pinion::ctl::add_release_command(app, exit_code);
  pinion::ctl::add_doctor_command(app, exit_code);
  return pinion::run_subcommand(app, argc, argv, exit_code);
}
