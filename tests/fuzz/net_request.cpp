// The head of a request takes any bytes, as they come from a connection: they come to a request
// within the limits or to an answer that refuses, and what follows the head is still there.
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/net/deadline_stream.h"
#include "base/net/http.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::net_request {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostInput = 60'000;  // fits in the buffers of the connection
constexpr net::StreamLimits kLimits{.head = 60s, .write = 60s, .head_bytes = 16384};

void look_at(const net::HttpRequest& request) {
  require(!request.method.empty() && request.headers.size() <= 100);
  for (const auto& [name, value] : request.headers) {
    require(!name.empty() && request.has(name) && name.size() + value.size() <= 8192);
    require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  }
  // Nobody between may see another end of the body than we do.
  if (request.has("Transfer-Encoding")) require(!request.has("Content-Length"));
  if (request.body_length()) require(request.has_body() == (*request.body_length() > 0));
  require(request.path.size() + request.query.size() <= 8192);
  require(request.parameter("namespace").size() <= request.query.size());
}

void look_at(const net::HttpAnswer& refusal) {
  require(refusal.status >= 400 && refusal.status < 500 && !refusal.body.empty());
  require(!refusal.keep_alive && net::head_of(refusal).ends_with(net::kHeadEnd));
}

}  // namespace

PINION_FUZZ_TARGET(net_request) {
  if (size > kMostInput) return 0;
  const std::string_view sent(reinterpret_cast<const char*>(data), size);
  std::array<int, 2> ends{};
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
  const Fd client(ends[0]);
  const Fd server(ends[1]);
  require(send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(sent.size()));
  shutdown(client.get(), SHUT_WR);
  net::DeadlineStream stream(server.get(), kLimits);
  const auto head = stream.read_head();
  const std::size_t end = sent.find(net::kHeadEnd);
  const std::size_t whole = end == std::string_view::npos ? 0 : end + net::kHeadEnd.size();
  require(head.has_value() == (whole > 0 && whole <= kLimits.head_bytes));
  if (!head) return 0;
  require(*head == sent.substr(0, whole));
  const auto rest = stream.read_body(sent.size() - whole, 60s);
  require(rest && *rest == sent.substr(whole));
  const auto request = net::read_request(*head);
  request ? look_at(*request) : look_at(request.error());
  return 0;
}

}  // namespace pinion::fuzz::net_request
