// `pinionctl vc`.
#pragma once

#include <CLI/App.hpp>

namespace pinion::ctl {

void add_vc_command(CLI::App& app, int& exit_code);

}  // namespace pinion::ctl
