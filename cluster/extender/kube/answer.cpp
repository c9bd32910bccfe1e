#include "cluster/extender/kube/answer.h"

#include <limits>

#include "cluster/extender/kube/json_read.h"

namespace pinion::kube {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestMessage = 2048;
constexpr int kFirstServerError = 500;

Errc code_of(int status) {
  switch (status) {
    case 401:
    case 403:
      return Errc::kDenied;
    case 404:
      return Errc::kNotFound;
    case 409:
      return Errc::kConflict;
    case 410:
      return Errc::kGone;
    case 408:
    case 429:
      return Errc::kUnavailable;
    default:
      return status >= kFirstServerError || status < 400 ? Errc::kUnavailable : Errc::kInvalid;
  }
}

Error make(int status, const json& object, const std::string& otherwise) {
  std::string message = json_text(object, "message");
  if (message.empty()) message = otherwise;
  if (message.size() > kLongestMessage) message.resize(kLongestMessage);
  const std::string reason = json_text(object, "reason");
  std::string text = std::to_string(status);
  if (!reason.empty()) text += " " + reason;
  if (!message.empty()) text += ": " + message;
  return {.code = code_of(status), .sys_errno = 0, .text = std::move(text)};
}

}  // namespace

bool succeeded(int http_status) {
  return http_status >= 200 && http_status < 300;
}

Error error_of(int http_status, const std::string& body) {
  const json object = json::parse(body, nullptr, false);
  return make(http_status, object, body);
}

Error error_of(const json& status_object) {
  const std::int64_t code = json_integer(status_object, "code");
  const bool plausible = code > 0 && code < std::numeric_limits<int>::max();
  return make(plausible ? static_cast<int>(code) : kFirstServerError, status_object,
              "an error without a message");
}

}  // namespace pinion::kube
