#include "cluster/extender/kube/exchange.h"

#include <utility>

namespace pinion::kube {
namespace {

constexpr const char* kUserAgent = "pinion-extender";

httplib::Request prepare(const Access& access, const HttpRequest& request,
                         const std::string& token) {
  httplib::Request result;
  result.method = request.method;
  result.path = access.endpoint.path + request.target;
  result.body = request.body;
  result.set_header("Host", access.endpoint.authority());
  result.set_header("Accept", "application/json");
  result.set_header("User-Agent", kUserAgent);
  if (!request.content_type.empty()) result.set_header("Content-Type", request.content_type);
  if (!token.empty()) result.set_header("Authorization", "Bearer " + token);
  return result;
}

// Only httplib's writing and reading of messages; its own connections are never made.
class Messages : private httplib::ClientImpl {
 public:
  explicit Messages(const Endpoint& endpoint) : ClientImpl(endpoint.host, endpoint.port) {
    set_url_encode(false);
  }

  bool run(Wire& wire, httplib::Request& request, httplib::Response& response,
           httplib::Error& error) {
    return process_request(wire, request, response, false, error);
  }
};

bool keeps(const httplib::Response& response) {
  return response.version == "HTTP/1.1" && response.get_header_value("Connection") != "close";
}

Error why(const Wire& wire, httplib::Error error) {
  if (error == httplib::Error::Canceled) {
    return {.code = Errc::kExhausted, .sys_errno = 0, .text = "the answer is too large"};
  }
  if (!wire.trouble().text.empty()) return wire.trouble();
  return {.code = Errc::kUnavailable,
          .sys_errno = 0,
          .text = wire.received() == 0 ? "the server closed the connection without an answer"
                                       : "the answer is cut off or no HTTP"};
}

}  // namespace

Result<Exchanged> exchange(Wire& wire, const Access& access, const HttpRequest& request,
                           const std::string& token, const std::function<void(int)>& on_head,
                           const BytesHandler& on_body) {
  httplib::Request sent = prepare(access, request, token);
  sent.response_handler = [&](const httplib::Response& response) {
    on_head(response.status);
    return true;
  };
  sent.content_receiver = [&](const char* bytes, std::size_t size, std::uint64_t, std::uint64_t) {
    return on_body({bytes, size});
  };
  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  Messages messages(access.endpoint);
  if (!messages.run(wire, sent, response, error)) return failure(why(wire, error));
  Exchanged result;
  result.answer.status = response.status;
  result.keep = keeps(response) && wire.reusable();
  return result;
}

}  // namespace pinion::kube
