// Base64 as in kubeconfig files: RFC 4648, section 4, with padding.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::kube {

// White space in it is skipped. Errors: kInvalid.
Result<std::string> decode_base64(std::string_view text);
// In one line.
std::string encode_base64(std::string_view bytes);

}  // namespace pinion::kube
