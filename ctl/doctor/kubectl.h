// kubectl as a child process: it knows every way to log in that people have set up, exec plugins
// included, which cluster/extender/kube leaves out.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::ctl::doctor {

// What the program prints with these arguments, of at most 256 MiB; its standard error goes into
// the error. Errors: kNotFound where there is no such program, kDenied where the API server forbids
// it, kUnavailable for all else.
Result<std::string> run_kubectl(const std::string& program,
                                const std::vector<std::string>& arguments);

}  // namespace pinion::ctl::doctor
