#include "ctl/vc/vc_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "ctl/common/kubectl.h"
#include "ctl/common/report.h"
#include "ctl/vc/draw_virtual_clusters.h"
#include "ctl/vc/virtual_clusters.h"

namespace pinion::ctl {
namespace {

struct VcOptions {
  KubectlOptions kubectl;
  std::string name_space;
  bool jobs = false;
  bool json = false;
};

int run(const VcOptions& options) {
  std::vector<std::string> arguments = {
      "get", "pods", "--selector", kVirtualClusterPods, "--output=json", "--request-timeout=20s"};
  arguments.push_back(options.name_space.empty() ? "--all-namespaces"
                                                 : "--namespace=" + options.name_space);
  const auto text = run_kubectl(options.kubectl, std::move(arguments));
  if (!text && text.error().code == Errc::kDenied && options.name_space.empty()) {
    return report({.code = Errc::kDenied,
                   .text = text.error().text + "; of a single namespace: --namespace NAME"});
  }
  if (!text) return report(text.error());
  const auto clusters = read_virtual_clusters(*text);
  if (!clusters) return report(Error(clusters.error()).within("kubectl get pods"));
  if (options.json) return print_and_exit_code(virtual_clusters_json(*clusters));
  return print_and_exit_code(options.jobs ? draw_virtual_jobs(*clusters)
                                          : draw_virtual_clusters(*clusters));
}

}  // namespace

void add_vc_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "vc", "Show virtual clusters, through kubectl: nodes, jobs, CPUs lent to them and wanted");
  auto options = std::make_shared<VcOptions>();  // lives as long as the callback below
  command->add_option("-n,--namespace", options->name_space, "Only there [all namespaces]")
      ->type_name("NAME");
  command->add_flag("--jobs", options->jobs, "Their jobs, one on each line, and why they wait");
  command->add_flag("--json", options->json, "All of it as JSON (ctl/README.md)");
  add_kubectl_options(*command, options->kubectl);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
