// `pinionctl jobs`: elastic jobs, with their sizes and why, and what was learnt of jobs' profiles.
#pragma once

#include <CLI/App.hpp>

namespace pinion::ctl {

void add_jobs_command(CLI::App& app, int& exit_code);

}  // namespace pinion::ctl
