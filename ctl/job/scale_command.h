// `pinionctl scale`: asks for another size of an elastic job, through kubectl.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace pinion::ctl {

struct ScaleOptions {
  std::string job;
  std::string workers;  // 1 .. 1000, or "auto"
  std::string kind = "job";
  std::string name_space;  // empty: kubectl's own
  bool dry_run = false;
};

// kubectl and its arguments.
[[nodiscard]] std::vector<std::string> scale_arguments(const ScaleOptions& options);

void add_scale_command(CLI::App& app, int& exit_code);

}  // namespace pinion::ctl
