// Requests to one API server: a few kept connections, the token, one deadline for each request.
// HTTP/2 where the server speaks it, else 1.1; directly or through a proxy.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cluster/extender/kube/access.h"
#include "cluster/extender/kube/cancel.h"

namespace pinion::kube {

struct HttpRequest {
  std::string method;
  std::string target;        // path and query, percent-encoded, below the endpoint's path
  std::string content_type;  // of the body
  std::string body;

  [[nodiscard]] std::string what() const { return method + " " + target; }
};

struct HttpAnswer {
  int status = 0;
  std::string body;
  bool http2 = false;  // how it came; else by HTTP/1
};

struct HttpLimits {
  std::chrono::milliseconds connect{3000};  // with name, proxy and TLS handshake
  std::chrono::milliseconds whole{10'000};  // of a request, with connecting and waiting for a turn
  std::size_t body_bytes = std::size_t{4} << 20;
};

// False ends the answer.
using BytesHandler = std::function<bool(std::string_view)>;

class Http {
 public:
  // At most this many connections at once; further callers wait for one. Streams have connections
  // of their own beside them.
  static constexpr std::size_t kConnections = 32;

  // Nothing is connected yet. Errors: kInvalid for certificates and for a proxy that is no URL.
  static Result<std::unique_ptr<Http>> create(Access access);
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;
  ~Http();

  // Any answer, whatever its status. A GET is sent a second time when a kept connection turns out
  // to be closed; others are not, because they may have been carried out. After a 401 the token is
  // read again, and another one is tried once. Errors: kUnavailable (no connection, too slow,
  // cancelled), kDenied (certificate), kExhausted (answer too large, no memory), kInvalid (an
  // endpoint that makes no URL), or of the token.
  Result<HttpAnswer> send(const HttpRequest& request, const HttpLimits& limits,
                          const Cancel& cancel);

  struct StreamLimits {
    std::chrono::milliseconds connect{3000};
    std::chrono::milliseconds head{30'000};  // until the status
    std::chrono::milliseconds idle{60'000};  // between two arrivals of bytes
    std::size_t refusal_bytes = std::size_t{1} << 20;
  };
  // A GET whose answer goes to `handler` as it arrives when its status is 200; other answers are
  // returned with their body. It ends with the answer, or without an error when `handler` says so.
  // Errors: as send(); kUnavailable too for an answer that is cut off or does not go on.
  Result<HttpAnswer> stream(const HttpRequest& request, const StreamLimits& limits,
                            const Cancel& cancel, const BytesHandler& handler);

 private:
  struct Parts;
  explicit Http(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace pinion::kube
