#include "ctl/doctor/doctor_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <ctime>
#include <memory>
#include <string>

#include "ctl/common/kubectl.h"
#include "ctl/common/report.h"
#include "ctl/doctor/check_cluster.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/read_cluster.h"
#include "ctl/doctor/read_node.h"
#include "ctl/doctor/report.h"

namespace pinion::ctl {
namespace {

struct ReportOptions {
  bool json = false;
  bool all = false;
};

struct NodeOptions {
  ReportOptions report;
  doctor::ReadOptions read;
};

struct ClusterOptions {
  ReportOptions report;
  KubectlOptions kubectl;
};

int show(const doctor::Findings& findings, const ReportOptions& options) {
  const int printed = print_and_exit_code(
      options.json ? doctor::report_json(findings) : doctor::draw_report(findings, options.all));
  return printed == kExitOk ? doctor::report_exit_code(findings) : printed;
}

int run_node(doctor::ReadOptions read, const ReportOptions& report) {
  while (read.root.ends_with('/')) read.root.pop_back();
  doctor::NodeFacts facts = doctor::read_node(read);
  facts.clock = doctor::read_clock();
  facts.now = std::time(nullptr);
  return show(doctor::check_node(facts), report);
}

int run_cluster(const ClusterOptions& options) {
  const auto kubectl = [&options](const std::vector<std::string>& arguments) {
    return run_kubectl(options.kubectl, arguments);
  };
  const auto facts = doctor::read_cluster(kubectl, [] { return std::time(nullptr); });
  return show(doctor::check_cluster(facts), options.report);
}

void add_report_options(CLI::App& command, ReportOptions& options) {
  command.add_flag("--all", options.all, "Also what is good");
  command.add_flag("--json", options.json, "All findings as JSON (docs/doctor.md)");
}

void add_cluster_command(CLI::App& doctor, int& exit_code) {
  CLI::App* command =
      doctor.add_subcommand("cluster", "Check a cluster, by kubectl: agents, extender, webhook");
  auto options = std::make_shared<ClusterOptions>();
  add_report_options(*command, options->report);
  add_kubectl_options(*command, options->kubectl);
  command->callback([options, &exit_code] { exit_code = run_cluster(*options); });
}

}  // namespace

void add_doctor_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Find what is set up wrong on this node, or with 'cluster' in a cluster, and what to do.\n"
      "Exit codes: 0 all is good, 1 something is wrong, 2 nothing is as far as could be looked at");
  command->require_subcommand(0, 1);
  auto options = std::make_shared<NodeOptions>();  // lives as long as the callback below
  add_report_options(*command, options->report);
  add_agent_options(*command, options->read.agent);
  command
      ->add_option("--root", options->read.root,
                   "Where the node's / is; /host in a pod of kubectl debug node/NAME")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  command
      ->add_option("--kubelet-config", options->read.kubelet_config,
                   "The kubelet's configuration, where its flags do not say it")
      ->type_name("FILE");
  command
      ->add_option("--containerd-config", options->read.containerd_config,
                   "containerd's, where it is not /etc/containerd/config.toml")
      ->type_name("FILE");
  add_cluster_command(*command, exit_code);
  command->callback([command, options, &exit_code] {
    if (!command->get_subcommands().empty()) return;
    options->read.agent_named = command->count("--agent") > 0;
    exit_code = run_node(options->read, options->report);
  });
}

}  // namespace pinion::ctl
