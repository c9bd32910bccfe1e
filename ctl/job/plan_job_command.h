// pinionctl plan-job: how a job would be cut and where its workers would go, without applying it.
#pragma once

#include <CLI/App.hpp>

namespace pinion::ctl {

// Registers the subcommand; when it is the one called, its exit code is put into `exit_code`. A
// refused job is a failure, as it would be for kubectl; one that would wait is not.
void add_plan_job_command(CLI::App& app, int& exit_code);

}  // namespace pinion::ctl
