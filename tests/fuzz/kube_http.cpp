// A server's answer takes any bytes: they come to an answer or to an error with a text, and no more
// of them than was asked for. The first byte says what was asked: 0 GET, 1 POST, 2 a stream. Over a
// connection on this machine, as that is what libcurl reads from.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "cluster/extender/kube/http.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::kube_http {
namespace {

using namespace std::chrono_literals;
using pinion::Fd;
using pinion::Result;
using pinion::kube::Http;
using pinion::kube::HttpAnswer;

constexpr std::size_t kMostInput = 60'000;  // fits in the buffers of the connection
constexpr std::size_t kMostBody = 4096;

// Listens on a port of its own, for as long as the process lives, and says the same to everybody.
class Server {
 public:
  Server() : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listening_.get(), any, size) != 0 || listen(listening_.get(), 1) != 0 ||
        getsockname(listening_.get(), any, &size) != 0) {
      std::abort();
    }
    access_.endpoint = {
        .tls = false, .host = "127.0.0.1", .port = ntohs(address.sin_port), .path = ""};
    std::thread([this] { serve(); }).detach();
  }
  [[nodiscard]] const pinion::kube::Access& access() const { return access_; }

  void say(std::string bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ = std::move(bytes);
  }

 private:
  void serve() {
    for (;;) {
      const Fd client(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) std::abort();
      answer(client.get());
      // Until the client has had it; then without a wait of minutes, in which the port would be in
      // use.
      std::array<char, 4096> request{};
      while (recv(client.get(), request.data(), request.size(), 0) > 0) continue;
      const linger none{.l_onoff = 1, .l_linger = 0};
      setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    }
  }
  void answer(int client) {
    const std::lock_guard lock(mutex_);
    (void)send(client, bytes_.data(), bytes_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(client, SHUT_WR);
  }

  Fd listening_;
  pinion::kube::Access access_;
  std::mutex mutex_;
  std::string bytes_;  // under mutex_
};

Result<HttpAnswer> ask(Http& http, int what) {
  const pinion::kube::Cancel never;
  pinion::kube::HttpRequest request{
      .method = "GET", .target = "/api/v1/pods", .content_type = {}, .body = {}};
  if (what == 2) {
    return http.stream(request,
                       {.connect = 60s, .head = 60s, .idle = 60s, .refusal_bytes = kMostBody},
                       never, [](std::string_view bytes) {
                         if (bytes.empty()) std::abort();
                         return bytes.front() != 'x';
                       });
  }
  if (what == 1) {
    request.method = "POST";
    request.content_type = "application/json";
    request.body = "{}";
  }
  return http.send(request, {.connect = 60s, .whole = 60s, .body_bytes = kMostBody}, never);
}

}  // namespace

PINION_FUZZ_TARGET(kube_http) {
  if (size == 0 || size > kMostInput || data[0] > 2) return 0;
  static auto* const server = new Server;  // its thread never ends
  server->say({reinterpret_cast<const char*>(data) + 1, size - 1});
  const auto http = Http::create(server->access());
  if (!http) std::abort();
  const auto answer = ask(**http, data[0]);
  if (!answer && answer.error().text.empty()) std::abort();
  if (answer && (answer->status < 200 || answer->body.size() > kMostBody)) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::kube_http
