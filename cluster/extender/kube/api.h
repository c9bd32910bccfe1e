// The API server's REST interface: JSON in, JSON out, errors as values. Any thread may call it.
//
// Errors, from the HTTP status: kNotFound 404; kConflict 409 (somebody else was first, or it
// exists); kGone 410 (a position in the history that is not kept any more); kDenied 401, 403 and a
// server that is not who it should be; kExhausted an answer that is too large; kInvalid other 4xx;
// kUnavailable 408, 429, 5xx, no connection, too slow: the request may have been carried out. The
// server's own message is part of the text. Nothing is tried again here, see http.h.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "cluster/extender/kube/access.h"
#include "cluster/extender/kube/http.h"

namespace pinion::kube {

struct ApiOptions {
  std::chrono::milliseconds connect{3000};  // a connection, with its TLS handshake
  std::chrono::milliseconds whole{10'000};  // a call; a stream until its first byte
  std::chrono::milliseconds list{60'000};   // a list, or a page of one
  std::size_t answer_bytes = std::size_t{4} << 20;
  std::size_t list_bytes = std::size_t{512} << 20;
};

// What one call wants to have otherwise.
struct Call {
  const Cancel* cancel = nullptr;      // ends it early, with kUnavailable
  std::chrono::milliseconds whole{0};  // 0: as in ApiOptions
};

enum class PatchKind {
  kMerge,      // RFC 7386: null removes
  kStrategic,  // Kubernetes' own: lists by key
  kJson,       // RFC 6902: a list of operations
};

class Api {
 public:
  // Nothing is connected yet. Errors: kInvalid for certificates.
  static Result<std::unique_ptr<Api>> create(Access access, const ApiOptions& options = {});
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  ~Api();

  // `path` is percent-encoded, with its query if it has one: see path.h.
  Result<nlohmann::json> get(const std::string& path, const Call& how = {});
  // As get(), with time and room for many objects.
  Result<nlohmann::json> list(const std::string& path, const Call& how = {});
  // The same as it came.
  Result<std::string> list_raw(const std::string& path, const Call& how = {});
  Result<nlohmann::json> create(const std::string& path, const nlohmann::json& object,
                                const Call& how = {});
  Result<nlohmann::json> replace(const std::string& path, const nlohmann::json& object,
                                 const Call& how = {});
  Result<nlohmann::json> patch(const std::string& path, PatchKind kind, const nlohmann::json& patch,
                               const Call& how = {});
  // `options`: of kind DeleteOptions. The object may live on for its time to end.
  Result<nlohmann::json> remove(const std::string& path, const nlohmann::json& options,
                                const Call& how = {});
  // The bytes of an answer without end, see Http::stream().
  Status stream(const std::string& path, std::chrono::milliseconds idle, const Cancel& cancel,
                const BytesHandler& handler);

 private:
  Api(std::unique_ptr<Http> http, const ApiOptions& options);

  Result<std::string> call_raw(const HttpRequest& request, HttpLimits limits, const Call& how);
  Result<nlohmann::json> call(const HttpRequest& request, HttpLimits limits, const Call& how);
  [[nodiscard]] HttpLimits ordinary() const;
  [[nodiscard]] HttpLimits lists() const;

  std::unique_ptr<Http> http_;
  ApiOptions options_;
  Cancel never_;  // for who has nothing to cancel with
};

}  // namespace pinion::kube
