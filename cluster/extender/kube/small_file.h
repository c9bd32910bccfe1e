// Files of a few kilobytes: kubeconfigs, tokens, certificates.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion::kube {

// Errors, naming the file: kNotFound, kDenied, kUnavailable, kInvalid for one of more than 1 MiB.
Result<std::string> read_small_file(const std::string& path);

}  // namespace pinion::kube
