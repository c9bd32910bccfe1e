#include "cluster/extender/kube/api.h"

#include <utility>

#include "cluster/extender/kube/answer.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::kube {
namespace {

using nlohmann::json;

constexpr const char* kJson = "application/json";

const char* content_type(PatchKind kind) {
  switch (kind) {
    case PatchKind::kStrategic:
      return "application/strategic-merge-patch+json";
    case PatchKind::kJson:
      return "application/json-patch+json";
    case PatchKind::kMerge:
      break;
  }
  return "application/merge-patch+json";
}

HttpRequest get_of(const std::string& path) {
  return {.method = "GET", .target = path, .content_type = {}, .body = {}};
}

}  // namespace

Api::Api(std::unique_ptr<Http> http, const ApiOptions& options)
    : http_(std::move(http)), options_(options) {}
Api::~Api() = default;

Result<std::unique_ptr<Api>> Api::create(Access access, const ApiOptions& options) {
  auto http = Http::create(std::move(access));
  if (!http) return failure(std::move(http.error()));
  return std::unique_ptr<Api>(new Api(*std::move(http), options));
}

HttpLimits Api::ordinary() const {
  return {
      .connect = options_.connect, .whole = options_.whole, .body_bytes = options_.answer_bytes};
}

HttpLimits Api::lists() const {
  return {.connect = options_.connect, .whole = options_.list, .body_bytes = options_.list_bytes};
}

Result<std::string> Api::call_raw(const HttpRequest& request, HttpLimits limits, const Call& how) {
  if (how.whole > how.whole.zero()) limits.whole = how.whole;
  auto answer = http_->send(request, limits, how.cancel == nullptr ? never_ : *how.cancel);
  if (!answer) return failure(answer.error());
  if (succeeded(answer->status)) return std::move(answer->body);
  return failure(error_of(answer->status, answer->body).within(request.what()));
}

Result<json> Api::call(const HttpRequest& request, HttpLimits limits, const Call& how) {
  const auto body = call_raw(request, limits, how);
  if (!body) return failure(body.error());
  json object = json::parse(*body, nullptr, false);
  if (!object.is_discarded()) return object;
  return failure(Errc::kUnavailable, request.what() + ": the answer is no JSON");
}

Result<json> Api::get(const std::string& path, const Call& how) {
  return call(get_of(path), ordinary(), how);
}

Result<json> Api::list(const std::string& path, const Call& how) {
  return call(get_of(path), lists(), how);
}

Result<std::string> Api::list_raw(const std::string& path, const Call& how) {
  return call_raw(get_of(path), lists(), how);
}

Result<json> Api::create(const std::string& path, const json& object, const Call& how) {
  return call({.method = "POST", .target = path, .content_type = kJson, .body = json_dump(object)},
              ordinary(), how);
}

Result<json> Api::replace(const std::string& path, const json& object, const Call& how) {
  return call({.method = "PUT", .target = path, .content_type = kJson, .body = json_dump(object)},
              ordinary(), how);
}

Result<json> Api::patch(const std::string& path, PatchKind kind, const json& patch,
                        const Call& how) {
  return call({.method = "PATCH",
               .target = path,
               .content_type = content_type(kind),
               .body = json_dump(patch)},
              ordinary(), how);
}

Result<json> Api::remove(const std::string& path, const json& options, const Call& how) {
  return call(
      {.method = "DELETE", .target = path, .content_type = kJson, .body = json_dump(options)},
      ordinary(), how);
}

Status Api::stream(const std::string& path, std::chrono::milliseconds idle, const Cancel& cancel,
                   const BytesHandler& handler) {
  const HttpRequest request = get_of(path);
  const Http::StreamLimits limits{.connect = options_.connect,
                                  .head = options_.whole,
                                  .idle = idle,
                                  .refusal_bytes = options_.answer_bytes};
  const auto answer = http_->stream(request, limits, cancel, handler);
  if (!answer) return failure(answer.error());
  if (succeeded(answer->status)) return {};
  return failure(error_of(answer->status, answer->body).within(request.what()));
}

}  // namespace pinion::kube
