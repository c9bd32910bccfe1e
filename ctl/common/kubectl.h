// kubectl as a child process: it knows every way to log in that people have set up, exec plugins
// included, which cluster/extender/kube leaves out.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::ctl {

// What the program prints with these arguments, of at most 256 MiB; the last line of its
// standard error goes into the error. Errors: kNotFound where there is no such program, kDenied
// where the API server forbids it, kUnavailable for all else.
Result<std::string> run_kubectl(const std::string& program,
                                const std::vector<std::string>& arguments);

struct KubectlOptions {
  std::string program = "kubectl";
  std::string kubeconfig;
  std::string context;
};

// --kubectl, --kubeconfig and --context. The options must outlive the command.
void add_kubectl_options(CLI::App& command, KubectlOptions& options);

// run_kubectl() with what the user chose.
Result<std::string> run_kubectl(const KubectlOptions& options, std::vector<std::string> arguments);

}  // namespace pinion::ctl
