// What an answer's status and its object of kind Status mean.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"

namespace pinion::kube {

[[nodiscard]] bool succeeded(int http_status);  // 200 to 299

// The code from the status, see api.h; the text from the body when it is a Status object:
// "409 AlreadyExists: pods "a" already exists".
Error error_of(int http_status, const std::string& body);

// The same for a Status object that arrived in a watch; its own code counts.
Error error_of(const nlohmann::json& status_object);

}  // namespace pinion::kube
