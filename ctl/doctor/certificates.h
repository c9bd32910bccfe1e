// Certificates in PEM.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "ctl/doctor/facts.h"

namespace pinion::ctl::doctor {

// All certificates of the text, in its order; keys and other parts are passed over. Errors:
// kInvalid where it holds none, or one that cannot be read.
Result<std::vector<Certificate>> read_certificates(const std::string& text);

}  // namespace pinion::ctl::doctor
