#include "ctl/job/jobs_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cluster/extender/kube/json_read.h"
#include "ctl/common/report.h"
#include "ctl/job/draw_elastic.h"
#include "ctl/job/extender_client.h"

namespace pinion::ctl {
namespace {

struct JobsOptions {
  ExtenderOptions extender;
  bool json = false;
};

int run(const JobsOptions& options) {
  const auto document = jobs_at_extender(options.extender);
  if (!document) return report(document.error());
  if (!options.json) return print_and_exit_code(draw_elastic(*document));
  return print_and_exit_code(kube::json_at(*document, "elastic")
                                 .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                             "\n");
}

}  // namespace

void add_jobs_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("jobs", "Show elastic jobs: size, wish, what is under way and why");
  auto options = std::make_shared<JobsOptions>();  // lives as long as the callback below
  add_extender_options(*command, options->extender)->required();
  command->add_flag("--json", options->json, "The same as data (docs/kubernetes.md)");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
