#include "ctl/common/kubectl.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/process/run_program.h"

namespace pinion::ctl {

Result<std::string> run_kubectl(const std::string& program,
                                const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto end = run_program(std::move(argv));
  if (!end) return failure(std::move(end.error()));
  if (end->status == 0) return std::move(end->out);
  const bool forbidden = end->errors.find("Forbidden") != std::string::npos ||
                         end->errors.find("forbidden") != std::string::npos;
  // The last line says it; before it kubectl's library writes one for each of its own attempts.
  const std::string last = end->errors.substr(end->errors.rfind('\n') + 1);
  return failure(forbidden ? Errc::kDenied : Errc::kUnavailable,
                 program + ": " + (last.empty() ? "failed" : last));
}

void add_kubectl_options(CLI::App& command, KubectlOptions& options) {
  command.add_option("--kubectl", options.program, "The program")->capture_default_str();
  command.add_option("--kubeconfig", options.kubeconfig, "As kubectl's")->type_name("FILE");
  command.add_option("--context", options.context, "As kubectl's")->type_name("NAME");
}

Result<std::string> run_kubectl(const KubectlOptions& options, std::vector<std::string> arguments) {
  if (!options.kubeconfig.empty()) arguments.push_back("--kubeconfig=" + options.kubeconfig);
  if (!options.context.empty()) arguments.push_back("--context=" + options.context);
  return run_kubectl(options.program, arguments);
}

}  // namespace pinion::ctl
